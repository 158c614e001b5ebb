//! Bounds on the content of a journal: the number and length of the names in its records, and the length of their
//! lists.
//!
//! A journal may come from a stranger, or contain data that a guest sent. Reports have a row or a cell for each
//! candidate, phase and metric, so the number of names bounds the size of a report. Every reader of a journal checks
//! each record with [`JournalBounds`], and so does the writer, so that it writes nothing that readers reject.

use std::collections::HashSet;

use super::{Event, Observation, Record, RotTally};
use crate::plan::{LONGEST_NAME, MOST_ENTERED};

/// Candidates that the records name: those of the plan, and as many that were removed from it.
const CANDIDATES: usize = 2 * MOST_ENTERED;
/// Phases and the steps around them.
const PHASES: usize = 2500;
const METRICS: usize = 2500;
/// Kinds of calls with latencies.
const CALLS: usize = 500;
/// Attempts at a block. A plan has at most 10,000 blocks; blocks of several sites are numbered consecutively.
const BLOCKS: u32 = 50_000;
/// Resumptions of a run.
const RESUMES: u32 = 10_000;
/// Entries in a list that is not a list of names.
const ENTRIES: usize = 100_000;

/// Kinds of loss and of corruption.
const KINDS: usize = 1000;
/// Examined states and blocks, and calls of one latency: small enough that sums over a journal do not overflow.
const LOOKED_AT: u32 = 1_000_000;
const MOST_CALLS: u64 = 10_000_000_000;

/// A bound that a record exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    #[error("there are more than {most} {what}")]
    TooMany { what: &'static str, most: usize },
    #[error("a name among its {what} has {bytes} bytes, and may have {LONGEST_NAME}")]
    LongName { what: &'static str, bytes: usize },
    #[error("a histogram has more than {MOST_CALLS} calls of one latency")]
    HistogramCalls,
    #[error("{0} states or blocks were looked at, and {LOOKED_AT} may be")]
    ManyExamined(u32),
    /// The whole record is longer than a line of a journal may be.
    #[error("one of {bytes} bytes")]
    LongLine { bytes: usize },
}

/// The distinct names in the records of a journal so far.
#[derive(Debug, Default)]
pub struct JournalBounds {
    candidates: NameSet<CANDIDATES>,
    phases: NameSet<PHASES>,
    metrics: NameSet<METRICS>,
    calls: NameSet<CALLS>,
    blocks: u32,
    resumes: u32,
}

impl JournalBounds {
    /// Checks a record that follows the previous ones.
    ///
    /// # Errors
    /// The bound that the record exceeds.
    pub fn check(&mut self, record: &Record) -> Result<(), BoundError> {
        if let Some(trial) = &record.trial {
            self.candidates.add("candidates", &trial.candidate)?;
        }
        self.check_event(&record.event)
    }

    /// Checks an event that does not name its trial itself.
    ///
    /// # Errors
    /// The bound that the event exceeds.
    pub fn check_event(&mut self, event: &Event) -> Result<(), BoundError> {
        match event {
            Event::Observation(observation) => self.check_observation(observation),
            Event::CandidateSkipped { candidate, .. } | Event::CandidateDropped { candidate, .. } => {
                self.candidates.add("candidates", candidate)
            }
            Event::BlockStarted { order, .. } => {
                self.blocks += 1;
                check_length("attempts at a block", self.blocks as usize, BLOCKS as usize)?;
                check_length("candidates in one block", order.len(), CANDIDATES)?;
                order.iter().try_for_each(|name| self.candidates.add("candidates", name))
            }
            Event::RunResumed { .. } => {
                self.resumes += 1;
                check_length("resumptions", self.resumes as usize, RESUMES as usize)
            }
            // A caution about a whole trial can be recorded however many names there are.
            Event::Caution(caution) if caution.phase.is_empty() => Ok(()),
            Event::Caution(caution) => self.phases.add("phases", &caution.phase),
            Event::PowerCut(cuts) => {
                check_length("kinds of loss", cuts.broken.len(), KINDS)?;
                check_counts(cuts.outcomes.values().chain(cuts.broken.values()))?;
                self.candidates.add("candidates", &cuts.candidate)
            }
            Event::Rotten(rotten) => {
                check_length("kinds of decay", rotten.decays.len(), KINDS)?;
                rotten.held.values().chain(rotten.decays.values()).try_for_each(check_tally)?;
                self.candidates.add("candidates", &rotten.candidate)
            }
            Event::RunStarted { beginning, .. } => {
                check_length("sites", beginning.sites.as_ref().map_or(0, Vec::len), CANDIDATES)
            }
            Event::StepStarted { .. }
            | Event::ClockJumped { .. }
            | Event::Device(_)
            | Event::BlockFinished { .. }
            | Event::TrialStarted {}
            | Event::Command(_)
            | Event::Facts { .. }
            | Event::Surroundings(_)
            | Event::TrialFinished { .. }
            | Event::Saved { .. }
            | Event::Sequences { .. }
            | Event::Promised { .. }
            | Event::AfterCut(_)
            | Event::AfterRot(_)
            | Event::RunFinished { .. } => Ok(()),
        }
    }

    fn check_observation(&mut self, observation: &Observation) -> Result<(), BoundError> {
        self.phases.add("phases", &observation.phase)?;
        check_length("measurements of one phase", observation.measurements.len(), METRICS)?;
        for measurement in &observation.measurements {
            self.metrics.add("metrics", &measurement.metric)?;
        }
        check_length("histograms of one phase", observation.histograms.len(), CALLS)?;
        for histogram in &observation.histograms {
            self.calls.add("kinds of call", &histogram.call)?;
            check_length("buckets of a histogram", histogram.buckets.len(), ENTRIES)?;
            if histogram.buckets.iter().any(|(_, calls)| *calls > MOST_CALLS) {
                return Err(BoundError::HistogramCalls);
            }
        }
        check_length("moments of one phase", observation.unwritten.len(), ENTRIES)
    }
}

/// A set of at most `MOST` names.
#[derive(Debug, Default)]
struct NameSet<const MOST: usize>(HashSet<Box<str>>);

impl<const MOST: usize> NameSet<MOST> {
    fn add(&mut self, what: &'static str, name: &str) -> Result<(), BoundError> {
        if self.0.contains(name) {
            return Ok(());
        }
        if name.len() > LONGEST_NAME {
            return Err(BoundError::LongName { what, bytes: name.len() });
        }
        check_length(what, self.0.len() + 1, MOST)?;
        self.0.insert(name.into());
        Ok(())
    }
}

fn check_counts<'a>(mut counts: impl Iterator<Item = &'a u32>) -> Result<(), BoundError> {
    match counts.find(|count| **count > LOOKED_AT) {
        None => Ok(()),
        Some(count) => Err(BoundError::ManyExamined(*count)),
    }
}

fn check_tally(tally: &RotTally) -> Result<(), BoundError> {
    let each = tally.outcomes.values().chain(tally.noticed.values()).chain(tally.syncs.values());
    check_counts(each.chain([&tally.looked]))
}

fn check_length(what: &'static str, length: usize, most: usize) -> Result<(), BoundError> {
    if length <= most { Ok(()) } else { Err(BoundError::TooMany { what, most }) }
}

#[cfg(test)]
mod tests {
    use super::{JournalBounds, METRICS};
    use crate::journal::made::measured;
    use crate::journal::{Caution, Event, Histogram, Observation, Record, TrialId, Unit};

    /// Checks a number of generated events; returns the error of the first one that is rejected.
    fn check(count: usize, make: impl Fn(usize) -> Event) -> String {
        let mut bounds = JournalBounds::default();
        let mut events = (0..count).map(make);
        let error = events.find_map(|event| bounds.check_event(&event).err());
        error.map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn every_kind_of_name_is_counted_and_bounded() {
        type Make = fn(usize) -> Event;
        let observed =
            |phase: String| Event::Observation(measured(&phase, &[("durable", Unit::Seconds, 1.0)]));
        let cases: [(&str, usize, Make); 7] = [
            ("phases", 2500, |number| {
                Event::Observation(measured(&format!("p{number}"), &[("durable", Unit::Seconds, 1.0)]))
            }),
            ("phases", 2500, |number| Event::Caution(Caution::in_phase(&format!("p{number}"), ""))),
            ("metrics", METRICS, |number| {
                let mut observation = measured("p", &[("durable", Unit::Seconds, 1.0)]);
                observation.measurements[0].metric = format!("m{number}").into();
                Event::Observation(observation)
            }),
            ("kinds of call", 500, |number| {
                let histograms = vec![Histogram { call: format!("c{number}"), buckets: Vec::new() }];
                Event::Observation(Observation { histograms, ..measured("p", &[]) })
            }),
            ("candidates", 2002, |number| Event::CandidateDropped {
                candidate: format!("c{number}"),
                reason: String::new(),
            }),
            ("attempts at a block", 50_000, |number| Event::BlockStarted {
                block: number as u32,
                attempt: 1,
                order: Vec::new(),
                place: None,
            }),
            ("resumptions", 10_000, |_| Event::RunResumed { more: None }),
        ];
        for (what, most, make) in cases {
            assert_eq!(check(most, make), "", "{what}");
            assert_eq!(check(most + 1, make), format!("there are more than {most} {what}"));
        }
        // Repeated names count once.
        assert_eq!(check(10_000, |number| observed(format!("p{}", number % 7))), "");
        assert!(check(1, |_| observed("x".repeat(1025))).contains("has 1025 bytes"));
        let trial = Some(TrialId { block: 1, candidate: "x".repeat(2000), attempt: 1 });
        let record = Record { at: jiff::Timestamp::UNIX_EPOCH, trial, event: Event::TrialStarted {} };
        assert!(JournalBounds::default().check(&record).is_err());
    }
}
