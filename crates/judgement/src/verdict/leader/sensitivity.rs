//! Sensitivity analysis: how far a weight of the goal can move before another candidate leads.
//!
//! With all other weights fixed, the leader's lead over a rival is a linear function of one weight, so the weight at
//! which it reaches zero has a closed form. The analysis uses the point estimates and ignores their uncertainty.

use serde::Serialize;

use crate::journal::Trial;
use crate::verdict::{Rank, Verdict, VerdictEvidence};

/// The range of one weight in which the leader leads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightRange {
    pub phase: String,
    pub weight: f64,
    /// Below this weight another candidate leads; `None` if it leads down to 0.
    pub low: Option<WeightTurn>,
    /// Above this weight another candidate leads; `None` if it leads at any weight.
    pub high: Option<WeightTurn>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightTurn {
    pub weight: f64,
    pub winner: String,
}

/// A weight that can change by more than this factor hardly matters.
const FAR: f64 = 20.0;

impl Verdict {
    /// The turn that needs the smallest change of a weight; `None` where no reasonable change suffices.
    pub fn nearest_turn(&self) -> Option<(&WeightRange, &WeightTurn)> {
        let turns = self.sensitivity.iter().flat_map(|range| {
            let ends = [&range.low, &range.high];
            ends.into_iter().filter_map(move |turn| Some((range, turn.as_ref()?)))
        });
        let far =
            |(range, turn): &(&WeightRange, &WeightTurn)| libm::fabs(libm::log(turn.weight / range.weight));
        let nearest = turns.min_by(|one, other| far(one).total_cmp(&far(other)));
        nearest.filter(|nearest| far(nearest) < libm::log(FAR))
    }
}

/// The ranges of every weight of the goal, for the first of the ranking; empty where it has no rival. Candidates `tied`
/// with it are not rivals.
pub(crate) fn weight_ranges(
    &VerdictEvidence { objective, trials, .. }: &VerdictEvidence<'_>,
    ranking: &[Rank],
    tied: &[String],
) -> Vec<WeightRange> {
    let Some((leader, rest)) = ranking.split_first() else { return Vec::new() };
    let weights = &objective.weights;
    let rivals: Vec<(&str, Vec<f64>)> = rest
        .iter()
        .map(|rank| rank.candidate.as_str())
        .filter(|name| !tied.iter().any(|other| other == name))
        .filter_map(|name| {
            let behind = |phase: &String| {
                let cost = |trial: &Trial| objective.phase_cost(phase, trial);
                Some(trials.compare(name, &leader.candidate, cost)?.difference)
            };
            Some((name, weights.keys().map(behind).collect::<Option<Vec<f64>>>()?))
        })
        .collect();
    let lead =
        |behind: &[f64]| weights.values().zip(behind).map(|(weight, behind)| weight * behind).sum::<f64>();
    // Where an outlier makes another candidate lead in the sum of the phases, the ranges would be meaningless.
    if rivals.is_empty() || rivals.iter().any(|(_, behind)| lead(behind) < 0.0) {
        return Vec::new();
    }
    let ranges = weights.iter().enumerate().map(|(at, (phase, weight))| {
        let mut range = WeightRange { phase: phase.clone(), weight: *weight, low: None, high: None };
        for (rival, behind) in &rivals {
            let turn = weight - lead(behind) / behind[at];
            let turns = || Some(WeightTurn { weight: turn, winner: (*rival).to_owned() });
            if behind[at] < 0.0 && range.high.as_ref().is_none_or(|known| turn < known.weight) {
                range.high = turns();
            } else if behind[at] > 0.0
                && turn > 0.0
                && range.low.as_ref().is_none_or(|known| turn > known.weight)
            {
                range.low = turns();
            }
        }
        range
    });
    ranges.collect()
}
