//! The origin of a lead: the phase of a total that makes nearly all of the difference between two candidates.

use crate::verdict::Judgement;

/// The share of a difference from which one phase makes nearly all of it.
const NEARLY_ALL: f64 = 0.9;
/// The most that the other phases together may differ in either direction, as a share of the difference.
const LITTLE: f64 = 0.15;

/// The part of one phase of a total in the lead of a candidate, in the unit of the goal.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadOrigin {
    pub phase: String,
    /// By how much less the first takes for this phase.
    pub of_phase: f64,
    /// By how much less it takes for all phases.
    pub of_all: f64,
    /// The amounts of the first and the other one for all other phases together.
    pub rest: [f64; 2],
}

/// A phase with the amounts that the first and the other candidate take of it for the goal.
type PhaseAmounts<'a> = (&'a str, [f64; 2]);

impl Judgement<'_> {
    /// The phase that makes nearly all of the difference between the first of the ranking and `other`; `None` where several
    /// do, where the goal is no sum, or has one phase alone.
    pub fn origin_of_lead(&self, other: &str) -> Option<LeadOrigin> {
        let first = &self.verdict.ranking.first()?.candidate;
        if !self.objective.is_total() || self.objective.weights.len() < 2 {
            return None;
        }
        let amount = |candidate: &str, phase: &str| {
            let mut found = self.estimates.iter().filter(|found| found.metric == self.objective.metric);
            found
                .find(|found| found.candidate == candidate && found.phase == phase)
                .map(|found| found.estimate.point)
        };
        let phases = self.objective.weights.iter().map(|(phase, weight)| {
            Some((phase.as_str(), [weight * amount(first, phase)?, weight * amount(other, phase)?]))
        });
        find_origin(&phases.collect::<Option<Vec<_>>>()?)
    }
}

fn find_origin(phases: &[PhaseAmounts<'_>]) -> Option<LeadOrigin> {
    let lead = |(_, [first, other]): &PhaseAmounts<'_>| other - first;
    let sum = |which: usize| phases.iter().map(|(_, amounts)| amounts[which]).sum::<f64>();
    let of_all = sum(1) - sum(0);
    let most = phases.iter().max_by(|one, next| lead(one).total_cmp(&lead(next)))?;
    let others: f64 = phases.iter().filter(|phase| phase.0 != most.0).map(|phase| lead(phase).abs()).sum();
    let is_origin = of_all > 0.0 && lead(most) >= NEARLY_ALL * of_all && others <= LITTLE * of_all;
    is_origin.then(|| LeadOrigin {
        phase: most.0.to_owned(),
        of_phase: lead(most),
        of_all,
        rest: [sum(0) - most.1[0], sum(1) - most.1[1]],
    })
}

#[cfg(test)]
mod tests {
    use super::find_origin;

    #[test]
    fn a_lead_has_an_origin_if_one_phase_makes_nearly_all_of_it() {
        // As seen of a laptop: upgrades alone differ.
        let laptop = [
            ("boot", [0.9, 0.95]),
            ("program", [1.6, 1.6]),
            ("upgrade", [3.0, 6.2]),
            ("search", [0.4, 0.42]),
        ];
        let origin = find_origin(&laptop).unwrap();
        assert_eq!(origin.phase, "upgrade");
        assert!((origin.of_phase - 3.2).abs() < 1e-9 && (origin.of_all - 3.27).abs() < 1e-9, "{origin:?}");
        assert!((origin.rest[0] - 2.9).abs() < 1e-9 && (origin.rest[1] - 2.97).abs() < 1e-9, "{origin:?}");
        assert!(find_origin(&[("a", [1.0, 2.0]), ("b", [1.0, 1.5])]).is_none());
        // What one phase wins is lost in another.
        assert!(find_origin(&[("a", [1.0, 3.0]), ("b", [2.0, 1.0])]).is_none());
        assert!(find_origin(&[("a", [2.0, 1.0]), ("b", [2.0, 1.0])]).is_none());
    }
}
