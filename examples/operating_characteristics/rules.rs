//! The two adaptive rules that are compared, each run to its end on simulated trials.

use fsverdict::statistics::{Outcome, Stopping, friedman, holm, median, signed_rank};

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
    /// Who was still in.
    pub(crate) surviving: Vec<bool>,
    /// Trials of all candidates together.
    pub(crate) trials: usize,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Candidates that a tie was claimed for at the end, the leader included; empty without a tie.
    pub(crate) tied: Vec<usize>,
}

/// The rule of the library, from a state prepared once.
pub(crate) fn run_library(prepared: &Stopping, world: &mut World, candidates: usize) -> Ending {
    let mut state = prepared.clone();
    let mut surviving = vec![true; candidates];
    let mut trials = 0;
    loop {
        let times = world.next_block();
        let scores: Vec<Option<f64>> =
            times.iter().zip(&surviving).map(|(time, still)| still.then_some(*time)).collect();
        trials += surviving.iter().filter(|still| **still).count();
        let look = state.block(&scores);
        for out in &look.eliminate {
            surviving[*out] = false;
        }
        if look.outcome != Outcome::Continue {
            let tied = if look.outcome == Outcome::Tied { state.surviving() } else { Vec::new() };
            return Ending { surviving, trials, outcome: look.outcome, tied };
        }
    }
}

/// METHOD's baseline: looks after 10, 15, 20 and 30 blocks with α/4 each; Friedman's test as a gate, then
/// signed-rank tests against the leader with Holm's correction. "Different" needs the threshold δ too.
pub(crate) fn run_baseline(world: &mut World, candidates: usize) -> Ending {
    let mut surviving = vec![true; candidates];
    let mut trials = 0;
    let mut blocks: Vec<Vec<f64>> = Vec::new();
    for _ in 0..MOST_BLOCKS {
        blocks.push(world.next_block());
        trials += surviving.iter().filter(|still| **still).count();
        if BASELINE_LOOKS.contains(&blocks.len()) {
            baseline_look(&blocks, &mut surviving, 0.05 / BASELINE_LOOKS.len() as f64);
        }
        if surviving.iter().filter(|still| **still).count() == 1 {
            return Ending { surviving, trials, outcome: Outcome::Decided, tied: Vec::new() };
        }
    }
    Ending { surviving, trials, outcome: Outcome::Undecided, tied: Vec::new() }
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
