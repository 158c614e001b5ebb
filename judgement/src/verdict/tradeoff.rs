//! What a candidate costs besides time, and who is beaten in everything: the Pareto set over time, CPU, space and device
//! writes.

use libm::log;
use serde::Serialize;

use crate::journal::Trial;
use crate::plan::Plan;
use crate::statistics::{Estimate, median, ratio_estimate};
use crate::verdict::weights;

use super::cost::cost_of_trial;
use super::{Blocks, CONFIDENCE, Rank};

/// What is weighed against time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// CPU time of the tools and of the kernel on their behalf, all phases of the goal together.
    Cpu,
    /// The most space in use after any phase of the goal.
    Space,
    /// Bytes written to the device, all phases of the goal together.
    Written,
}

pub const COSTS: [Cost; 3] = [Cost::Cpu, Cost::Space, Cost::Written];

/// A candidate's costs, medians over the trials that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tradeoff {
    pub candidate: String,
    /// Its score for the goal: how many times worse than a candidate that is best in every phase.
    pub score: f64,
    /// Seconds of CPU time.
    pub cpu: Option<f64>,
    /// Bytes in use.
    pub space: Option<f64>,
    /// Bytes written to the device.
    pub written: Option<f64>,
    /// Whether it is in the Pareto set.
    pub pareto: bool,
    /// Else a candidate that is as good in everything and better in something by more than matters.
    pub beaten_by: Option<String>,
    /// How many times worse than the leader for the goal.
    #[serde(skip)]
    time: f64,
}

impl Tradeoff {
    /// The value of a cost.
    pub fn cost(&self, cost: Cost) -> Option<f64> {
        match cost {
            Cost::Cpu => self.cpu,
            Cost::Space => self.space,
            Cost::Written => self.written,
        }
    }

    /// Better is smaller in all of them; a cost that nobody measured is none.
    fn values(&self) -> [Option<f64>; 4] {
        [Some(self.time), self.cpu, self.space, self.written]
    }
}

/// The tradeoffs of every ranked candidate, in the order of the ranking. `matters` is the share below which a
/// difference is none; of times, CPU time among them, that is the noise `floor` where it is the larger.
pub(super) fn tradeoffs(
    plan: &Plan,
    blocks: &Blocks<'_>,
    ranking: &[Rank],
    matters: f64,
    floor: f64,
) -> Vec<Tradeoff> {
    let weights = weights(plan);
    let phases: Vec<&str> = weights.keys().map(String::as_str).collect();
    let of = |name: &str, cost: Cost| {
        let costs = blocks.of(name).filter_map(|trial| of_trial(&phases, trial, cost));
        median(&costs.collect::<Vec<f64>>())
    };
    let mut all: Vec<Tradeoff> = ranking
        .iter()
        .map(|rank| Tradeoff {
            candidate: rank.candidate.clone(),
            score: rank.score,
            cpu: of(&rank.candidate, Cost::Cpu),
            space: of(&rank.candidate, Cost::Space),
            written: of(&rank.candidate, Cost::Written),
            pareto: true,
            beaten_by: None,
            time: rank.behind.map_or(1.0, |behind| behind.point),
        })
        .collect();
    let timed = matters.max(floor);
    let margins = [timed, timed, matters, matters];
    // The best for the goal is in the set by definition; this also keeps a circle of small differences from emptying it.
    for at in 1..all.len() {
        let beater = all.iter().find(|other| beats(other, &all[at], &margins));
        all[at].beaten_by = beater.map(|other| other.candidate.clone());
        all[at].pareto = all[at].beaten_by.is_none();
    }
    all
}

/// As good in everything, within the margins, and better in something by more than its margin.
fn beats(one: &Tradeoff, other: &Tradeoff, margins: &[f64; 4]) -> bool {
    let pairs = || {
        let values = one.values().into_iter().zip(other.values());
        values.zip(margins).filter_map(|((one, other), margin)| Some((one?, other?, 1.0 + margin)))
    };
    pairs().all(|(one, other, margin)| one <= other * margin)
        && pairs().any(|(one, other, margin)| one * margin < other)
}

/// What a candidate costs in times of what another does, paired within blocks.
pub fn cost_ratio(
    plan: &Plan,
    blocks: &Blocks<'_>,
    candidate: &str,
    other: &str,
    cost: Cost,
) -> Option<Estimate> {
    let weights = weights(plan);
    let phases: Vec<&str> = weights.keys().map(String::as_str).collect();
    let of = |trial: &Trial| of_trial(&phases, trial, cost).filter(|value| *value > 0.0).map(log);
    ratio_estimate(&blocks.differences(candidate, other, of), CONFIDENCE)
}

fn of_trial(phases: &[&str], trial: &Trial, cost: Cost) -> Option<f64> {
    match cost {
        Cost::Cpu => {
            let kernel = cost_of_trial(phases, trial, "cpu_kernel").unwrap_or(0.0);
            Some(cost_of_trial(phases, trial, "cpu")? + kernel)
        }
        Cost::Written => cost_of_trial(phases, trial, "device_written"),
        Cost::Space => cost_of_trial(phases, trial, "space_used"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tradeoff, beats};

    fn one(time: f64, cpu: f64, space: f64, written: Option<f64>) -> Tradeoff {
        let candidate = String::new();
        Tradeoff {
            candidate,
            score: time,
            cpu: Some(cpu),
            space: Some(space),
            written,
            pareto: true,
            beaten_by: None,
            time,
        }
    }

    #[test]
    fn who_is_better_in_something_is_not_beaten() {
        let margins = [0.03; 4];
        let fast = one(1.0, 5.0, 100.0, Some(10.0));
        let slow = one(1.5, 5.1, 101.0, Some(10.0));
        assert!(beats(&fast, &slow, &margins) && !beats(&slow, &fast, &margins));
        let frugal = one(1.5, 3.0, 100.0, Some(10.0));
        assert!(!beats(&fast, &frugal, &margins) && !beats(&frugal, &fast, &margins));
        // Differences that do not matter beat nobody.
        let alike = one(1.02, 5.1, 101.0, Some(10.1));
        assert!(!beats(&fast, &alike, &margins) && !beats(&alike, &fast, &margins));
        // Nor does what is noise.
        let noisy = [0.6, 0.03, 0.03, 0.03];
        assert!(!beats(&fast, &slow, &noisy));
        // What one of them lacks is no reason.
        assert!(beats(&one(1.0, 5.0, 100.0, None), &slow, &margins));
    }
}
