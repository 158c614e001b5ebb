//! The library's rule and the baseline, each run to its end on simulated trials.

use fsverdict::statistics::{Outcome, Stopping, friedman, holm, median, signed_rank, split_half_floor};

use crate::world::World;

/// At most this many blocks.
pub(crate) const MOST_BLOCKS: u32 = 30;

/// Smaller relative differences do not matter.
pub(crate) const TIE: f64 = 0.03;

/// The looks of METHOD's baseline rule.
const BASELINE_LOOKS: [usize; 4] = [10, 15, 20, 30];

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

/// METHOD's baseline: looks after 10, 15, 20 and 30 blocks with α/4 each; Friedman's test as a gate, then
/// signed-rank tests against the leader with Holm's correction. "Different" needs the threshold δ too.
pub(crate) fn run_baseline(world: &mut World, candidates: usize, best: usize) -> Ending {
    let mut ending = Ending::begin(candidates);
    let mut blocks: Vec<Vec<f64>> = Vec::new();
    for _ in 0..MOST_BLOCKS {
        blocks.push(world.next_block().to_vec());
        ending.count_block(best);
        if BASELINE_LOOKS.contains(&blocks.len()) {
            baseline_look(&blocks, &mut ending.surviving, 0.05 / BASELINE_LOOKS.len() as f64);
        }
        if ending.surviving.iter().filter(|still| **still).count() == 1 {
            ending.outcome = Outcome::Decided;
            return ending;
        }
    }
    ending.outcome = Outcome::Undecided;
    ending
}

fn baseline_look(blocks: &[Vec<f64>], surviving: &mut [bool], alpha: f64) {
    let inside: Vec<usize> = (0..surviving.len()).filter(|candidate| surviving[*candidate]).collect();
    let table: Vec<Vec<f64>> =
        blocks.iter().map(|block| inside.iter().map(|candidate| block[*candidate]).collect()).collect();
    if friedman(&table).is_none_or(|gate| gate.p > alpha) {
        return;
    }
    let centre = |place: usize| {
        let deviations: Vec<f64> =
            table.iter().map(|row| row[place] - row.iter().sum::<f64>() / row.len() as f64).collect();
        median(&deviations).unwrap_or(f64::NAN)
    };
    let centres: Vec<f64> = (0..inside.len()).map(centre).collect();
    let mut leader = 0;
    for place in 1..centres.len() {
        if centres[place] < centres[leader] {
            leader = place;
        }
    }
    let others: Vec<usize> = (0..inside.len()).filter(|place| *place != leader).collect();
    let p_values: Vec<f64> = others
        .iter()
        .map(|place| signed_rank(&table.iter().map(|row| row[*place] - row[leader]).collect::<Vec<_>>()).p)
        .collect();
    for (place, p) in others.iter().zip(holm(&p_values)) {
        if p <= alpha && centres[*place] - centres[leader] > libm::log1p(TIE) {
            surviving[inside[*place]] = false;
        }
    }
}
