//! The library's rule, run to its end on simulated trials.

use fsverdict::statistics::{Outcome, Stopping, split_half_floor};

use crate::world::World;

/// At most this many blocks.
pub(crate) const MOST_BLOCKS: u32 = 30;

/// Smaller relative differences do not matter.
pub(crate) const TIE: f64 = 0.03;

/// How a simulated run ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Who was still in; all of them tied if that is the outcome.
    pub(crate) surviving: Vec<bool>,
    /// Trials of all candidates together.
    pub(crate) trials: u64,
    /// Those of them that ran before all candidates that are truly worse were out.
    pub(crate) trials_to_separate: u64,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl Ending {
    pub(crate) fn begin(candidates: usize) -> Ending {
        Ending {
            surviving: vec![true; candidates],
            trials: 0,
            trials_to_separate: 0,
            outcome: Outcome::Continue,
        }
    }

    /// One more block of all that are in. The first `best` candidates are the truly best.
    pub(crate) fn count_block(&mut self, best: usize) {
        let trials = self.surviving.iter().filter(|still| **still).count() as u64;
        self.trials += trials;
        if self.surviving[best..].contains(&true) {
            self.trials_to_separate += trials;
        }
    }
}

/// The rule of the library, from a state prepared once, as a run applies it: whom it rules out by less than the noise
/// floor is tried on until the floor has sunk below that.
pub(crate) fn run_library(prepared: &Stopping, world: &mut World, candidates: usize, best: usize) -> Ending {
    let mut state = prepared.clone();
    let mut ending = Ending::begin(candidates);
    let mut blocks: Vec<Vec<f64>> = Vec::new();
    let mut ruled_out: Vec<(usize, f64)> = Vec::new();
    while ending.outcome == Outcome::Continue {
        blocks.push(world.next_block().to_vec());
        let scores: Vec<Option<f64>> = blocks[blocks.len() - 1]
            .iter()
            .zip(&ending.surviving)
            .map(|(time, still)| still.then_some(*time))
            .collect();
        ending.count_block(best);
        let look = state.block(&scores);
        let out = look.comparisons.iter().filter(|comparison| comparison.out);
        ruled_out.extend(out.map(|comparison| (comparison.candidate, comparison.evidence.difference)));
        let tried = |row: &Vec<f64>| {
            let scores = row.iter().zip(&ending.surviving).filter(|(_, still)| **still);
            scores.map(|(score, _)| *score).collect::<Vec<f64>>()
        };
        let is_in = |surviving: &[bool]| ruled_out.iter().any(|(candidate, _)| surviving[*candidate]);
        let floor = is_in(&ending.surviving)
            .then(|| split_half_floor(&blocks.iter().map(tried).collect::<Vec<_>>()))
            .flatten();
        let noise = floor.map_or(0.0, |floor| libm::log1p(floor.floor));
        for (candidate, difference) in &ruled_out {
            ending.surviving[*candidate] &= *difference <= noise;
        }
        let below = is_in(&ending.surviving);
        ending.outcome = match look.outcome {
            Outcome::Decided | Outcome::Tied if below && blocks.len() < MOST_BLOCKS as usize => {
                Outcome::Continue
            }
            Outcome::Decided | Outcome::Tied if below => Outcome::Undecided,
            outcome => outcome,
        };
    }
    ending
}
