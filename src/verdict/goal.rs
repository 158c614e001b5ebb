//! The goal as one number per candidate: the weighted geometric mean of its ratios to the best of each phase.
//!
//! Geometric, because ratios multiply: twice as slow in one phase and twice as fast in an equally heavy one cancel.

use std::collections::BTreeMap;

use super::PhaseEstimate;
use crate::journal::{Better, Unit, metric};
use crate::plan::Plan;

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Name of the candidate.
    pub candidate: String,
    /// How many times worse than a candidate that is best in every phase; never below 1.
    pub score: f64,
}

/// The weights of the goal: those of the plan, or 1 for each of its phases where it names none.
pub fn weights(plan: &Plan) -> BTreeMap<String, f64> {
    if plan.goal.weights.is_empty() {
        return plan.phases.iter().map(|phase| (phase.name.clone(), 1.0)).collect();
    }
    plan.goal.weights.clone()
}

/// Which way a metric is better; of an adapter's own metric the unit tells: rates are better when higher.
pub fn better_of(name: &str, unit: Unit) -> Better {
    match (metric(name), unit) {
        (Some(known), _) => known.better,
        (None, Unit::BytesPerSecond | Unit::PerSecond) => Better::Higher,
        (None, Unit::Seconds | Unit::Bytes) => Better::Lower,
        (None, Unit::Ratio | Unit::Count) => Better::Neither,
    }
}

/// Ranks the candidates for the plan's goal, best first. A candidate that lacks a phase of the goal has no score.
pub fn rank(plan: &Plan, measured: &[&str], estimates: &[PhaseEstimate]) -> Vec<Rank> {
    let goal: Vec<&PhaseEstimate> = estimates
        .iter()
        .filter(|found| found.metric == plan.goal.metric && measured.contains(&found.candidate.as_str()))
        .collect();
    let weights: Vec<(String, f64)> = weights(plan).into_iter().filter(|(_, weight)| *weight > 0.0).collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if weights.is_empty() {
        return Vec::new();
    }
    let score = |name: &str| -> Option<f64> {
        let mut logs = 0.0;
        for (phase, weight) in &weights {
            let own = goal.iter().find(|found| found.candidate == name && found.phase == *phase)?;
            logs += weight * log_ratio(own, goal.iter().filter(|found| found.phase == *phase))?;
        }
        Some(libm::exp(logs / total))
    };
    let mut ranking: Vec<Rank> = measured
        .iter()
        .filter_map(|name| Some(Rank { candidate: (*name).to_owned(), score: score(name)? }))
        .collect();
    ranking.sort_by(|one, other| one.score.total_cmp(&other.score));
    ranking
}

/// The logarithm of how many times worse `own` is than the best of `all`; none where a ratio has no meaning.
fn log_ratio<'a>(own: &PhaseEstimate, all: impl Iterator<Item = &'a &'a PhaseEstimate>) -> Option<f64> {
    let points = all.map(|found| found.estimate.point);
    let mine = own.estimate.point;
    let ratio = match better_of(&own.metric, own.unit) {
        Better::Higher => points.fold(f64::NEG_INFINITY, f64::max) / mine,
        Better::Lower | Better::Neither => mine / points.fold(f64::INFINITY, f64::min),
    };
    (ratio.is_finite() && ratio > 0.0).then(|| libm::log(ratio))
}
