//! How far a block's journal is believed, which may come from anybody: it says what was tried and measured at its own site, in
//! its own block, and nothing that is only for the whole run to say. Whether what it measured is true nobody can tell.

use xxhash_rust::xxh3::Xxh3;

use fsverdict_judgement::journal::{Event, Journal, MERGED_FACT, Observation, Record};
use fsverdict_judgement::plan::Plan;

use super::site::{SITE, Site};

/// Why this cannot be the journal of block `block` of `site`; `None` where it can, or is only cut short.
pub(super) fn disbelieved(site: &Site, block: u32, journal: &Journal, plan: &Plan) -> Option<String> {
    let (first, records) = journal.records.split_first()?;
    let mut attempts = Attempts { block, begun: 0, open: false, counts: false };
    begins(site, first)
        .or_else(|| records.iter().find_map(|record| says_too_much(block, record, plan)))
        .or_else(|| records.iter().find_map(|record| attempts.take(&record.event)))
}

/// What is wrong with a first record.
fn begins(site: &Site, first: &Record) -> Option<String> {
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

fn says_too_much(block: u32, record: &Record, plan: &Plan) -> Option<String> {
    let known = |name: &String| plan.candidates.iter().any(|candidate| candidate.name == *name);
    let stranger = |name: &String| Some(format!("it tries `{name}`, which the plan does not"));
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
    Some(format!("it holds `{kind}`, which is for the whole run to say"))
}

/// A block is tried until an attempt counts: once, or it would stand for several.
struct Attempts {
    block: u32,
    begun: u32,
    open: bool,
    counts: bool,
}

impl Attempts {
    fn take(&mut self, event: &Event) -> Option<String> {
        let fits = match event {
            Event::BlockStarted { block, attempt, .. } => {
                let next = *block == self.block && *attempt == self.begun + 1;
                let fits = next && !self.open && !self.counts;
                (self.begun, self.open) = (*attempt, true);
                fits
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

/// What tells the measurements of one block from those of any other, whatever site, block and time they bear; `None` where
/// there are none.
pub(super) fn content(journal: &Journal) -> Option<u64> {
    let (mut digest, mut measured) = (Xxh3::new(), false);
    for Record { trial, event, .. } in &journal.records {
        let Some(trial) = trial else { continue };
        match event {
            Event::Observation(observation) => {
                measured = true;
                add(&mut digest, &trial.candidate);
                add_observation(&mut digest, observation);
            }
            Event::Command(command) => digest.update(&command.seconds.to_bits().to_le_bytes()),
            Event::TrialFinished { wall, .. } => digest.update(&wall.to_bits().to_le_bytes()),
            _ => {}
        }
    }
    measured.then(|| digest.digest())
}

fn add(digest: &mut Xxh3, text: &str) {
    digest.update(&(text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
}

fn add_observation(digest: &mut Xxh3, observation: &Observation) {
    add(digest, &observation.phase);
    for measurement in &observation.measurements {
        add(digest, &measurement.metric);
        digest.update(&measurement.value.to_bits().to_le_bytes());
    }
    for (bound, count) in observation.histograms.iter().flat_map(|histogram| &histogram.buckets) {
        digest.update(&bound.to_le_bytes());
        digest.update(&count.to_le_bytes());
    }
}
