//! Estimates the cost of a protection: compares pairs of candidates, one with it and one without, within blocks.

use serde::Serialize;

use crate::plan::{Candidate, Plan, ProtectionFeature, ranked_candidates};
use crate::statistics::Estimate;
use crate::verdict::options::is_single_change;
use crate::verdict::{ByBlock, ContrastOutcome, FreeComputation, Objective};

/// The cost of a protection for one pair of candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProtectionCost {
    /// The feature that only one of them has.
    pub feature: ProtectionFeature,
    /// The candidate with more protection.
    pub protected: String,
    /// The candidate with less of it.
    pub other: String,
    /// Whether filesystem and options are the same otherwise, so that the difference is the protection's.
    pub same_otherwise: bool,
    /// How many times as much the protected one takes for the goal, paired within blocks.
    pub ratio: Estimate,
}

impl ProtectionCost {
    /// The known cost; `tie` is the share below which a difference does not matter.
    pub fn outcome(&self, tie: f64) -> ContrastOutcome {
        ContrastOutcome::from_interval(&self.ratio, tie)
    }
}

/// The cost for every pair that differs in one feature and in nothing else. Where each level has one candidate, and no
/// pair is the same otherwise, the cost is that of the whole candidates. A cost that leaves out computation is none.
pub(crate) fn protection_costs(
    plan: &Plan,
    objective: &Objective,
    blocks: &ByBlock<'_>,
    free: &FreeComputation,
) -> Vec<ProtectionCost> {
    let candidates: Vec<&Candidate> = ranked_candidates(plan).collect();
    let levels = plan.protection_groups().len();
    let pairs = differing_pairs(plan, &candidates, objective, blocks, is_single_change);
    let mut costs = match pairs.is_empty() && levels == candidates.len() {
        true => differing_pairs(plan, &candidates, objective, blocks, |_, _| true),
        false => pairs,
    };
    costs.retain(|cost| !free.hides_difference(&cost.protected, &cost.other));
    costs
}

fn differing_pairs(
    plan: &Plan,
    candidates: &[&Candidate],
    objective: &Objective,
    blocks: &ByBlock<'_>,
    fits: impl Fn(&Candidate, &Candidate) -> bool,
) -> Vec<ProtectionCost> {
    let pair = |one: &Candidate, other: &Candidate| {
        let (level, beside) = (plan.goal.protection_of(&one.name), plan.goal.protection_of(&other.name));
        let feature = level.only_difference(&beside)?;
        // The one with a stronger feature, or without a weaker one.
        if level.has(feature) == feature.is_weaker() || one.under != other.under || !fits(one, other) {
            return None;
        }
        Some(ProtectionCost {
            feature,
            protected: one.name.clone(),
            other: other.name.clone(),
            same_otherwise: is_single_change(one, other),
            ratio: blocks.ratio(&one.name, &other.name, |trial| objective.log_score(trial))?,
        })
    };
    let both = candidates.iter().flat_map(|one| candidates.iter().map(move |other| (*one, *other)));
    let mut costs: Vec<ProtectionCost> = both.filter_map(|(one, other)| pair(one, other)).collect();
    costs.sort_by_key(|cost| cost.feature);
    costs
}
