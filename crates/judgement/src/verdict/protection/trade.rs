//! Protection against protection: the cost of one, by pairs of candidates with it and without it, within blocks; and the choice
//! between protection levels, of which one keeps all that another keeps, and more.

use serde::Serialize;

use super::GroupVerdict;
use crate::plan::{Candidate, Protection, ProtectionFeature, Safeguards, ranked_candidates};
use crate::statistics::Estimate;
use crate::verdict::options::is_single_change;
use crate::verdict::{ContrastOutcome, VerdictEvidence};

/// A candidate of each of two protection levels, and the gain and cost of the better protected one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelTrade {
    pub protected: String,
    pub other: String,
    /// The features that only the protected one keeps.
    pub keeps: Vec<ProtectionFeature>,
    /// How many times as much the protected one takes for the goal, paired within blocks; `None` where it is not told.
    pub ratio: Option<Estimate>,
    /// The one to take: never the less protected one of two that tie. Data are not put at risk for time.
    pub taken: String,
}

impl LevelTrade {
    /// The choice between the recommended level and each of the others. The recommended level is the least protected of
    /// those that put no data at risk, or a better protected one that costs nothing beside the others. Levels without a
    /// result take no part; empty where no level can be compared with all others. `ratio` compares two candidates by the
    /// goal.
    pub(crate) fn from_levels(
        levels: &[GroupVerdict],
        tie: f64,
        ratio: impl Fn(&str, &str) -> Option<Estimate>,
    ) -> Vec<Self> {
        let levels: Vec<&GroupVerdict> =
            levels.iter().filter(|level| level.first_choice().is_some()).collect();
        let trades_of = |level: &GroupVerdict| -> Option<Vec<Self>> {
            let others = levels.iter().filter(|other| other.title != level.title);
            others.map(|other| Self::from_pair([level, other], tie, &ratio)).collect()
        };
        let is_first_choice = |trades: &Vec<Self>| {
            let taken = trades.first().map(|trade| &trade.taken);
            trades.iter().all(|trade| Some(&trade.taken) == taken)
        };
        let is_recommended = |level: &&GroupVerdict, trades: &Vec<Self>| {
            is_first_choice(trades) && trades.iter().all(|trade| level.candidates.contains(&trade.taken))
        };
        let choices = levels.iter().filter_map(|level| Some((*level, trades_of(level)?)));
        let mut recommended = choices.filter(|(level, trades)| is_recommended(level, trades));
        recommended.next().map(|(_, trades)| trades).unwrap_or_default()
    }

    /// The choice between two levels; `None` where neither keeps all of the other, or one has no candidate with a result.
    fn from_pair(
        levels: [&GroupVerdict; 2],
        tie: f64,
        ratio: impl Fn(&str, &str) -> Option<Estimate>,
    ) -> Option<Self> {
        let (protected, other, keeps) = order_levels(levels)?;
        let other = other.first_choice()?;
        let beside_other = |name: &str| Some((name.to_owned(), ratio(name, other)?));
        let is = |outcome, ratio: &Estimate| ContrastOutcome::from_interval(ratio, tie) == outcome;
        let first = protected.first_choice()?;
        let own = beside_other(first);
        // One that ties with the other is taken before one that takes longer.
        let is_longer = own.as_ref().is_some_and(|(_, ratio)| is(ContrastOutcome::Behind, ratio));
        let ranked = protected.verdict.ranking.iter().filter_map(|rank| beside_other(&rank.candidate));
        let tied = || ranked.clone().find(|(_, ratio)| is(ContrastOutcome::Tied, ratio));
        let own = is_longer.then(tied).flatten().or(own);
        let (protected, ratio) = own.map_or((first.to_owned(), None), |(name, ratio)| (name, Some(ratio)));
        let risks_data = keeps.iter().any(|feature| feature.is_weaker());
        // A protection that is a matter of need, such as encryption, is not taken unless it is shown to cost nothing.
        let costs_nothing =
            |ratio: &Estimate| is(ContrastOutcome::Tied, ratio) || is(ContrastOutcome::Better, ratio);
        let takes_protected = risks_data || ratio.as_ref().is_some_and(costs_nothing);
        let taken = if takes_protected { protected.clone() } else { other.to_owned() };
        Some(LevelTrade { protected, other: other.to_owned(), keeps, ratio, taken })
    }

    /// Whether the better protected candidate is to be taken.
    pub fn takes_protected(&self) -> bool {
        self.taken == self.protected
    }
}

/// The level that keeps more, the other one, and the features that only the first keeps.
fn order_levels(
    [one, other]: [&GroupVerdict; 2],
) -> Option<(&GroupVerdict, &GroupVerdict, Vec<ProtectionFeature>)> {
    let of = |has: &Protection| Safeguards { has: has.clone(), ..Safeguards::default() };
    let keeps = |level: &GroupVerdict, beside: &GroupVerdict| {
        of(&level.protection).advantages_over(&of(&beside.protection))
    };
    match (keeps(one, other), keeps(other, one)) {
        (more, less) if less.is_empty() => Some((one, other, more)),
        (less, more) if less.is_empty() => Some((other, one, more)),
        _ => None,
    }
}

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
pub(crate) fn protection_costs(evidence: &VerdictEvidence<'_>) -> Vec<ProtectionCost> {
    let candidates: Vec<&Candidate> = ranked_candidates(evidence.plan).collect();
    let levels = evidence.plan.protection_groups().len();
    let pairs = differing_pairs(evidence, &candidates, is_single_change);
    let mut costs = match pairs.is_empty() && levels == candidates.len() {
        true => differing_pairs(evidence, &candidates, |_, _| true),
        false => pairs,
    };
    costs.retain(|cost| !evidence.free.hides_difference(&cost.protected, &cost.other));
    costs
}

fn differing_pairs(
    evidence: &VerdictEvidence<'_>,
    candidates: &[&Candidate],
    fits: impl Fn(&Candidate, &Candidate) -> bool,
) -> Vec<ProtectionCost> {
    let goal = &evidence.plan.goal;
    let pair = |one: &Candidate, other: &Candidate| {
        let (level, beside) = (goal.protection_of(&one.name), goal.protection_of(&other.name));
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
            ratio: evidence.trials.ratio(&one.name, &other.name, |trial| evidence.score(trial))?,
        })
    };
    let both = candidates.iter().flat_map(|one| candidates.iter().map(move |other| (*one, *other)));
    let mut costs: Vec<ProtectionCost> = both.filter_map(|(one, other)| pair(one, other)).collect();
    costs.sort_by_key(|cost| cost.feature);
    costs
}
