//! Checks the journal of a block, which may come from an untrusted source: it may contain only trials and measurements of
//! its own site and block, and no records that only the whole run may have. Whether the measurements are true cannot be
//! checked.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::Xxh3;

use fsverdict_judgement::journal::{Event, Journal, MERGED_FACT, Observation, Record, Unit};
use fsverdict_judgement::plan::Plan;

use super::site::{SITE, Site};

/// Seconds by which the clock of a site may be ahead of this machine's.
const MOST_AHEAD: i64 = 24 * 3600;
/// 2024-01-01T00:00:00Z in seconds: no block is older.
const FIRST_RELEASE: i64 = 1_704_067_200;
/// The maximum time of a trial in seconds: ten years, also of simulated time.
const LONGEST: f64 = 10.0 * 366.0 * 86400.0;
/// The maximum of every other quantity: a hundred times the bytes of the largest disks.
const LARGEST: f64 = 1e18;
/// The maximum number of calls of one kind in a trial.
const MOST_CALLS: u64 = 1 << 53;

/// Why this cannot be the journal of block `block` of `site`; `None` if it can be, or if it is only cut short.
pub(super) fn find_implausibility(site: &Site, block: u32, journal: &Journal, plan: &Plan) -> Option<String> {
    let (first, records) = journal.records.split_first()?;
    let mut attempts = Attempts::of_block(block);
    let latest = jiff::Timestamp::now().as_second() + MOST_AHEAD;
    check_first_record(site, first)
        .or_else(|| journal.records.iter().find_map(|record| find_impossible_date(record, latest)))
        .or_else(|| records.iter().find_map(|record| find_impossible_number(&record.event)))
        .or_else(|| records.iter().find_map(|record| find_foreign_record(block, record, plan)))
        .or_else(|| records.iter().find_map(|record| attempts.check_record(record)))
}

/// The error in a first record, if there is one.
fn check_first_record(site: &Site, first: &Record) -> Option<String> {
    let Event::RunStarted { environment, beginning, .. } = &first.event else {
        return Some("it does not begin as the journal of a block does".to_owned());
    };
    match environment.get(SITE) {
        Some(name) if *name == site.to_string() => {}
        Some(name) => {
            return Some(format!("it was done at the site {name}, and lies in the folder of {site}"));
        }
        None => return Some("it does not say at which site it was done".to_owned()),
    }
    if beginning.sites.is_some() {
        return Some("it names several sites, which is for the whole run to say".to_owned());
    }
    let of_the_whole = |key: &&String| key.as_str() == MERGED_FACT || key.starts_with("site.");
    let key = environment.keys().find(of_the_whole)?;
    Some(format!("it holds the fact `{key}`, which is for the whole run to say"))
}

/// Describes why this record cannot come from a site that ran `block` of the plan; `None` if it can.
fn find_foreign_record(block: u32, record: &Record, plan: &Plan) -> Option<String> {
    let known = |name: &String| plan.candidates.iter().any(|candidate| candidate.name == *name);
    let stranger = |name: &String| Some(format!("it names `{name}`, which is not in the plan"));
    let kind = match &record.event {
        Event::CandidateDropped { .. } => "candidate_dropped",
        Event::RunFinished { .. } => "run_finished",
        Event::Priced(_) => "priced",
        Event::PowerCut(_) => "power_cut",
        Event::Rotten(_) => "rotten",
        Event::RunResumed { .. } => "run_resumed",
        Event::RunStarted { .. } => "run_started",
        Event::BlockStarted { place: Some(_), .. } => "place",
        Event::BlockStarted { order, .. } if order.iter().any(|name| !known(name)) => {
            return order.iter().find(|name| !known(name)).and_then(stranger);
        }
        Event::CandidateSkipped { candidate, .. } if !known(candidate) => return stranger(candidate),
        _ => {
            let trial = record.trial.as_ref()?;
            if !known(&trial.candidate) {
                return stranger(&trial.candidate);
            }
            return (trial.block != block).then(|| format!("it holds a trial of block {}", trial.block));
        }
    };
    Some(format!("it holds `{kind}`, which only the journal of a whole run may have"))
}

/// Why a record cannot have been written at the time that it states.
fn find_impossible_date(record: &Record, latest: i64) -> Option<String> {
    let at = record.at.as_second();
    if at < FIRST_RELEASE {
        return Some(format!("it says that it was done at {}, before there was any fsverdict", record.at));
    }
    (at > latest).then(|| format!("it says that it was done at {}, which is still to come", record.at))
}

/// A number in the event that no trial can measure, as a sentence.
fn find_impossible_number(event: &Event) -> Option<String> {
    let impossible = |what: &str, number: f64| Some(format!("it says that {what} is {number}"));
    let time = |seconds: f64| (0.0..=LONGEST).contains(&seconds);
    match event {
        Event::TrialFinished { wall, .. } if !time(*wall) => {
            impossible("the time of a trial in seconds", *wall)
        }
        Event::Command(command) if !time(command.seconds) => {
            impossible("the time of a program in seconds", command.seconds)
        }
        Event::Observation(observation) => {
            let wrong = observation.measurements.iter().find(|one| {
                let least = if one.unit == Unit::Seconds { 0.0 } else { -LARGEST };
                let most = if one.unit == Unit::Seconds { LONGEST } else { LARGEST };
                !(least..=most).contains(&one.value)
            });
            if let Some(one) = wrong {
                return impossible(&format!("{} of {}", one.metric, observation.phase), one.value);
            }
            let buckets = observation.histograms.iter().flat_map(|histogram| &histogram.buckets);
            let count = buckets.map(|(_, count)| *count).find(|count| *count > MOST_CALLS);
            count.and_then(|count| impossible("a number of calls", count as f64))
        }
        Event::Surroundings(seen) => {
            let times = [seen.cpu_time, seen.foreign_cpu, seen.steal, seen.slept];
            let wrong = times.into_iter().flatten().find(|seconds| !time(*seconds));
            wrong.and_then(|seconds| impossible("a time of its surroundings in seconds", seconds))
        }
        _ => None,
    }
}

/// The attempts of a block. A block is repeated until one attempt counts, and then ends: otherwise it would count as
/// several blocks. Each attempt tries each candidate of its order once.
struct Attempts<'a> {
    block: u32,
    begun: u32,
    open: bool,
    counts: bool,
    /// The candidates of the attempt.
    order: &'a [String],
    ended: BTreeSet<&'a str>,
}

impl<'a> Attempts<'a> {
    fn of_block(block: u32) -> Self {
        Attempts { block, begun: 0, open: false, counts: false, order: &[], ended: BTreeSet::new() }
    }

    fn check_record(&mut self, record: &'a Record) -> Option<String> {
        let fits = match &record.event {
            Event::BlockStarted { block, attempt, order, .. } => {
                let next = *block == self.block && Some(*attempt) == self.begun.checked_add(1);
                let fits = next && !self.open && !self.counts;
                (self.begun, self.open, self.order) = (*attempt, true, order);
                self.ended.clear();
                fits
            }
            Event::TrialStarted {} | Event::TrialFinished { .. } => {
                let Some(trial) = &record.trial else {
                    return Some("it holds a trial of no candidate".to_owned());
                };
                if !self.open || trial.attempt != self.begun || !self.order.contains(&trial.candidate) {
                    return Some(format!("it holds a trial of {} outside of its attempts", trial.candidate));
                }
                let ends = matches!(record.event, Event::TrialFinished { .. });
                if self.ended.contains(trial.candidate.as_str()) {
                    return Some(format!("it tries {} again after the end of its trial", trial.candidate));
                }
                if ends {
                    self.ended.insert(&trial.candidate);
                }
                true
            }
            Event::BlockFinished { block, attempt, invalid } => {
                let fits = self.open && (*block, *attempt) == (self.block, self.begun);
                (self.open, self.counts) = (false, invalid.is_none());
                fits
            }
            _ => true,
        };
        (!fits).then(|| format!("it is not the journal of one block, number {}", self.block))
    }
}

/// A digest of the block's measurements alone, without site, block number and times of day, to detect copies; `None` if
/// the block has no measurements.
pub(super) fn digest_measurements(journal: &Journal) -> Option<u64> {
    let (mut digest, mut measured) = (Xxh3::new(), false);
    for Record { trial, event, .. } in &journal.records {
        let Some(trial) = trial else { continue };
        match event {
            Event::Observation(observation) => {
                measured = true;
                add_text(&mut digest, &trial.candidate);
                add_observation(&mut digest, observation);
            }
            Event::Command(command) => digest.update(&command.seconds.to_bits().to_le_bytes()),
            Event::TrialFinished { wall, .. } => digest.update(&wall.to_bits().to_le_bytes()),
            _ => {}
        }
    }
    measured.then(|| digest.digest())
}

fn add_text(digest: &mut Xxh3, text: &str) {
    digest.update(&(text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
}

fn add_observation(digest: &mut Xxh3, observation: &Observation) {
    add_text(digest, &observation.phase);
    for measurement in &observation.measurements {
        add_text(digest, &measurement.metric);
        digest.update(&measurement.value.to_bits().to_le_bytes());
    }
    for (bound, count) in observation.histograms.iter().flat_map(|histogram| &histogram.buckets) {
        digest.update(&bound.to_le_bytes());
        digest.update(&count.to_le_bytes());
    }
}
