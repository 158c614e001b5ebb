//! Checks the journal of a block, which may come from an untrusted source: it may contain only trials and measurements of
//! its own site and block, and no records that only the whole run may have. Whether the measurements are true cannot be
//! checked.

use std::collections::BTreeSet;

use jiff::Timestamp;

use fsverdict_judgement::journal::{Event, Journal, MERGED_FACT, Record};
use fsverdict_judgement::plan::Plan;

use super::plausible_numbers::find_impossible_number;
use super::site::{SITE, Site};
use super::site_clock::find_impossible_date;

/// The facts that every block of a run is compared with.
pub(super) struct ExpectedBlocks<'a> {
    pub(super) plan: &'a Plan,
    /// This machine's time of day.
    pub(super) now: Timestamp,
}

/// Why this cannot be the journal of block `block` of `site`; `None` if it can be, or if it is only cut short.
pub(super) fn find_implausibility(
    site: &Site,
    block: u32,
    journal: &Journal,
    expected: &ExpectedBlocks<'_>,
) -> Option<String> {
    let (first, records) = journal.records.split_first()?;
    let mut attempts = Attempts::of_block(block);
    let ExpectedBlocks { plan, now } = expected;
    check_first_record(site, first)
        .or_else(|| journal.records.iter().find_map(|record| find_impossible_date(record.at, *now)))
        .or_else(|| records.iter().find_map(|record| find_impossible_number(&record.event, plan)))
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
