//! Finds blocks that are copies of others, whatever site or number they claim. Two measurements of one work are never the
//! same to the last digit on a real device, so a block is a copy if it shares too many of its times with another.

use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3;

use fsverdict_judgement::journal::{Event, Journal, Record, Unit};

/// The share of its times that a block may have in common with an earlier one.
const MOST_COMMON: f64 = 0.5;
/// In simulated time, work that draws nothing at random takes the same time at every site, and only what this machine's
/// clock measured differs.
const MOST_COMMON_SIMULATED: f64 = 1.0;

/// The times of the blocks that were read so far.
#[derive(Debug)]
pub(super) struct KnownTimes {
    simulated: bool,
    /// For each time, the first block that measured it.
    first: HashMap<u64, usize>,
}

impl KnownTimes {
    pub(super) fn new(simulated: bool) -> Self {
        KnownTimes { simulated, first: HashMap::new() }
    }

    /// Adds the block with this index. Returns the index of the earlier block that it is a copy of, if there is one; its
    /// times are not added then.
    pub(super) fn add_block(&mut self, index: usize, journal: &Journal) -> Option<usize> {
        let times = digest_times(journal, self.simulated);
        let mut common: HashMap<usize, usize> = HashMap::new();
        for first in times.iter().filter_map(|time| self.first.get(time)) {
            *common.entry(*first).or_default() += 1;
        }
        // Of several blocks that have as much in common with it, the earliest is named.
        let most = common.into_iter().max_by_key(|(block, count)| (*count, std::cmp::Reverse(*block)));
        let is_copy = |count: usize| {
            let share = count as f64 / times.len() as f64;
            if self.simulated { share >= MOST_COMMON_SIMULATED } else { share >= MOST_COMMON }
        };
        if let Some((block, _)) = most.filter(|(_, count)| is_copy(*count)) {
            return Some(block);
        }
        times.into_iter().for_each(|time| {
            self.first.entry(time).or_insert(index);
        });
        None
    }
}

/// A digest of each time that a block measured, with candidate, phase and metric and without site, number of the block,
/// order and times of day; with the times of programs and whole trials if `outer` is set.
fn digest_times(journal: &Journal, outer: bool) -> Vec<u64> {
    let mut times = Vec::new();
    for Record { trial, event, .. } in &journal.records {
        let Some(trial) = trial else { continue };
        match event {
            Event::Observation(observation) => {
                let measured = observation.measurements.iter();
                let measured = measured.filter(|one| one.unit == Unit::Seconds && one.metric != "began");
                times.extend(measured.filter(|one| one.value > 0.0).map(|one| {
                    digest_time([&trial.candidate, &observation.phase, one.metric.as_ref()], one.value)
                }));
            }
            Event::Command(command) if outer => {
                times.push(digest_time([&trial.candidate, &command.step, "command"], command.seconds));
            }
            Event::TrialFinished { wall, .. } if outer => {
                times.push(digest_time([&trial.candidate, "", "wall"], *wall));
            }
            _ => {}
        }
    }
    times.sort_unstable();
    times.dedup();
    times
}

fn digest_time(names: [&str; 3], seconds: f64) -> u64 {
    let mut digest = Xxh3::new();
    for name in names {
        digest.update(&(name.len() as u64).to_le_bytes());
        digest.update(name.as_bytes());
    }
    digest.update(&seconds.to_bits().to_le_bytes());
    digest.digest()
}
