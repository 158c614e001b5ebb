//! The goal as one number per candidate: the weighted geometric mean of its ratios to the best of each phase.
//!
//! Geometric, because ratios multiply: twice as slow in one phase and twice as fast in an equally heavy one cancel.

use serde::Serialize;

use super::PhaseEstimate;
use crate::journal::Better;
use crate::plan::Plan;
use crate::statistics::Estimate;
use crate::verdict::{better_of, weights};

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    pub candidate: String,
    /// How many times worse than a candidate that is best in every phase; never below 1.
    pub score: f64,
    /// How many times worse than the leader, paired within blocks; `None` for the leader itself, or where nothing pairs
    /// the two.
    pub behind: Option<Estimate>,
}

/// Ranks the candidates for the plan's goal, best first. A candidate that lacks a phase of the goal has no score.
pub(super) fn rank(plan: &Plan, measured: &[&str], estimates: &[PhaseEstimate]) -> Vec<Rank> {
    let goal: Vec<&PhaseEstimate> = estimates
        .iter()
        .filter(|found| found.metric == plan.goal.metric && measured.contains(&found.candidate.as_str()))
        .collect();
    let weights = weights(plan);
    let total: f64 = weights.values().sum();
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
        .filter_map(|name| Some(Rank { candidate: (*name).to_owned(), score: score(name)?, behind: None }))
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

#[cfg(test)]
mod tests {
    use super::rank;
    use crate::journal::{Better, Unit};
    use crate::plan::Plan;
    use crate::statistics::Estimate;
    use crate::verdict::PhaseEstimate;
    use crate::verdict::better_of;

    fn plan(metric: &str, weights: &[(&str, f64)]) -> Plan {
        let weights: std::collections::BTreeMap<&str, f64> = weights.iter().copied().collect();
        let phase = |name: &str| serde_json::json!({ "name": name, "work": { "operation": "tree.write" } });
        serde_json::from_value(serde_json::json!({
            "title": "t", "lab": "auto", "device": { "source": { "image": 1 } },
            "protocol": {
                "blocks": { "min": 1, "max": 3 }, "seed": 1, "tie": 0.03, "timeout": { "secs": 1, "nanos": 0 }
            },
            "goal": { "metric": metric, "weights": weights },
            "candidates": [],
            "phases": [phase("write"), phase("read")]
        }))
        .unwrap()
    }

    fn estimate(candidate: &str, phase: &str, metric: &str, unit: Unit, point: f64) -> PhaseEstimate {
        PhaseEstimate {
            candidate: candidate.to_owned(),
            phase: phase.to_owned(),
            metric: metric.to_owned(),
            unit,
            estimate: Estimate { point, low: None, high: None, n: 1 },
            min: point,
            max: point,
        }
    }

    fn times(candidate: &str, write: f64, read: f64) -> [PhaseEstimate; 2] {
        [
            estimate(candidate, "write", "durable", Unit::Seconds, write),
            estimate(candidate, "read", "durable", Unit::Seconds, read),
        ]
    }

    /// Names with scores in ten-thousandths.
    fn scores(plan: &Plan, names: &[&str], estimates: &[PhaseEstimate]) -> Vec<(String, i64)> {
        rank(plan, names, estimates)
            .into_iter()
            .map(|rank| (rank.candidate, (rank.score * 1e4).round() as i64))
            .collect()
    }

    #[test]
    fn the_score_is_a_weighted_geometric_mean_of_ratios() {
        let estimates = [times("a", 1.0, 8.0), times("b", 4.0, 2.0)].concat();
        // a: 1 and 4 times the best; b: 4 and 1 times.
        let even = scores(&plan("durable", &[]), &["a", "b"], &estimates);
        assert_eq!(even, [("a".to_owned(), 20_000), ("b".to_owned(), 20_000)]);
        let read = scores(&plan("durable", &[("write", 1.0), ("read", 3.0)]), &["a", "b"], &estimates);
        assert_eq!(read, [("b".to_owned(), 14_142), ("a".to_owned(), 28_284)]);
        let only = scores(&plan("durable", &[("write", 1.0), ("read", 0.0)]), &["a", "b"], &estimates);
        assert_eq!(only[0], ("a".to_owned(), 10_000));
    }

    #[test]
    fn who_lacks_a_phase_has_no_score_and_sets_no_standard_when_not_measured() {
        let mut estimates = [times("a", 1.0, 1.0), times("b", 2.0, 2.0)].concat();
        estimates.remove(3);
        assert_eq!(scores(&plan("durable", &[]), &["a", "b"], &estimates), [("a".to_owned(), 10_000)]);
        let failed = [times("failed", 0.001, 0.001), times("b", 2.0, 2.0)].concat();
        assert_eq!(scores(&plan("durable", &[]), &["b"], &failed), [("b".to_owned(), 10_000)]);
    }

    #[test]
    fn rates_are_better_when_higher() {
        let plan = plan("bonnie_block_write", &[("write", 1.0)]);
        let rate = |name: &str, value: f64| {
            estimate(name, "write", "bonnie_block_write", Unit::BytesPerSecond, value)
        };
        let ranked = scores(&plan, &["slow", "fast"], &[rate("slow", 50.0), rate("fast", 100.0)]);
        assert_eq!(ranked, [("fast".to_owned(), 10_000), ("slow".to_owned(), 20_000)]);
        assert_eq!(better_of("throughput", Unit::BytesPerSecond), Better::Higher);
        assert_eq!(better_of("files", Unit::Count), Better::Neither);
    }

    #[test]
    fn a_time_of_zero_ranks_nobody() {
        let estimates = [times("a", 0.0, 1.0), times("b", 2.0, 2.0)].concat();
        assert_eq!(rank(&plan("durable", &[]), &["a", "b"], &estimates), []);
    }
}
