//! How far a weight of the goal may move before another candidate leads.
//!
//! With all other weights held, the leader's lead over a rival is a straight line in one weight, so that the place where
//! it is used up can be written down. By medians: what is certain is another matter.

use serde::Serialize;

use crate::journal::Better;
use crate::plan::Plan;
use crate::verdict::{better_of, weights};

use super::{PhaseEstimate, Rank};

/// The range of one weight in which the leader leads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightRange {
    pub phase: String,
    pub weight: f64,
    /// Below this weight another leads; `None`: down to 0 it does not.
    pub low: Option<Turn>,
    /// Above this weight another leads; `None`: however high, it does not.
    pub high: Option<Turn>,
}

/// Where the lead changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub weight: f64,
    pub winner: String,
}

/// The ranges of every weight of the goal, for the first of the ranking; nothing where there is no rival. Candidates
/// `tied` with it are no rivals.
pub(super) fn sensitivity(
    plan: &Plan,
    ranking: &[Rank],
    tied: &[String],
    estimates: &[PhaseEstimate],
) -> Vec<WeightRange> {
    let Some((leader, rest)) = ranking.split_first() else { return Vec::new() };
    // Where medians and pairs disagree about who leads, there is no saying how far the weights may move.
    if rest.iter().any(|rank| rank.score < leader.score) {
        return Vec::new();
    }
    let weights = weights(plan);
    let rivals: Vec<(&str, Vec<f64>)> = rest
        .iter()
        .filter(|rank| !tied.contains(&rank.candidate))
        .filter_map(|rank| {
            let behind = |phase: &String| {
                Some(
                    log_value(plan, estimates, &rank.candidate, phase)?
                        - log_value(plan, estimates, &leader.candidate, phase)?,
                )
            };
            Some((rank.candidate.as_str(), weights.keys().map(behind).collect::<Option<Vec<f64>>>()?))
        })
        .collect();
    if rivals.is_empty() {
        return Vec::new();
    }
    let ranges = weights.iter().enumerate().map(|(at, (phase, weight))| {
        let mut range = WeightRange { phase: phase.clone(), weight: *weight, low: None, high: None };
        for (rival, behind) in &rivals {
            let lead: f64 = weights.values().zip(behind).map(|(weight, behind)| weight * behind).sum();
            let turn = weight - lead / behind[at];
            let turns = || Some(Turn { weight: turn, winner: (*rival).to_owned() });
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

/// The logarithm of a median, smaller is better.
fn log_value(plan: &Plan, estimates: &[PhaseEstimate], candidate: &str, phase: &str) -> Option<f64> {
    let found = estimates.iter().find(|found| {
        found.candidate == candidate && found.phase == phase && found.metric == plan.goal.metric
    })?;
    let log = libm::log(found.estimate.point);
    let sign = if better_of(&found.metric, found.unit) == Better::Higher { -1.0 } else { 1.0 };
    Some(sign * log).filter(|log| log.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{Turn, sensitivity};
    use crate::journal::Unit;
    use crate::plan::Plan;
    use crate::verdict::{Estimate, PhaseEstimate, rank};

    fn plan(weights: &[(&str, f64)]) -> Plan {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        plan.goal.metric = "durable".to_owned();
        plan.goal.weights = weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
        plan
    }

    fn times(candidate: &str, write: f64, read: f64) -> [PhaseEstimate; 2] {
        [("write", write), ("read", read)].map(|(phase, point)| PhaseEstimate {
            candidate: candidate.to_owned(),
            phase: phase.to_owned(),
            metric: "durable".to_owned(),
            unit: Unit::Seconds,
            estimate: Estimate { point, low: None, high: None, n: 1 },
            min: point,
            max: point,
        })
    }

    #[test]
    fn the_lead_changes_just_there() {
        let estimates =
            [times("a", 1.0, 4.0), times("b", 3.0, 2.0), times("c", 1.5, 3.0), times("d", 9.0, 9.0)].concat();
        let names = ["a", "b", "c", "d"];
        let weights = [("write", 3.0), ("read", 1.0)];
        let ranking = rank(&plan(&weights), &names, &estimates);
        assert_eq!(ranking[0].candidate, "a");
        let ranges = sensitivity(&plan(&weights), &ranking, &[], &estimates);
        let [read, write] = ranges.as_slice() else { panic!("{ranges:?}") };
        // Write the less, or read the more, and somebody else leads; the other way nobody does.
        assert!(read.low.is_none() && write.high.is_none(), "{ranges:?}");
        let leads = |weights: &[(&str, f64)]| rank(&plan(weights), &names, &estimates)[0].candidate.clone();
        let Turn { weight, winner } = write.low.clone().unwrap();
        assert_eq!(leads(&[("write", weight * 1.001), ("read", 1.0)]), "a");
        assert_eq!(leads(&[("write", weight * 0.999), ("read", 1.0)]), winner);
        let Turn { weight, winner } = read.high.clone().unwrap();
        assert_eq!(leads(&[("write", 3.0), ("read", weight * 0.999)]), "a");
        assert_eq!(leads(&[("write", 3.0), ("read", weight * 1.001)]), winner);
    }

    #[test]
    fn who_is_best_in_all_leads_whatever_counts() {
        let estimates = [times("a", 1.0, 1.0), times("b", 2.0, 2.0)].concat();
        let plan = plan(&[("write", 1.0), ("read", 1.0)]);
        let ranking = rank(&plan, &["a", "b"], &estimates);
        let ranges = sensitivity(&plan, &ranking, &[], &estimates);
        assert!(ranges.iter().all(|range| range.low.is_none() && range.high.is_none()), "{ranges:?}");
        assert_eq!(sensitivity(&plan, &ranking, &["b".to_owned()], &estimates), []);
    }
}
