//! Reaches the verdict of each protection level, and derives that of the whole run.

mod evaluation;
mod losses;
mod required;
mod safety;
mod trade;

pub(crate) use evaluation::unevaluated;
pub use evaluation::{MissingEvaluation, Unevaluated};
pub use losses::{CandidateLosses, LossChoice, TriedFault};
pub use required::{RequirementRelation, RequirementStanding, has_open_requirement};
pub(crate) use required::{is_ruled_out, requirement_standings};
pub use safety::{LossShare, SafetyPoint, price_of_safety};
pub(crate) use trade::protection_costs;
pub use trade::{LevelTrade, ProtectionCost};

use serde::Serialize;

use super::{Limit, Outcome, Rank, Slice, Verdict};
use crate::plan::{Protection, ProtectionGroup};

/// The verdict among candidates of one protection level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupVerdict {
    /// The difference of the level from the others of the run.
    pub title: String,
    pub protection: Protection,
    /// All candidates of the level, whether measured or not.
    pub candidates: Vec<String>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl GroupVerdict {
    pub(crate) fn from_slice(slice: &Slice<ProtectionGroup>) -> Self {
        let candidates = slice.plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
        let ProtectionGroup { protection, title } = slice.key.clone();
        GroupVerdict { title, protection, candidates, verdict: slice.judge().verdict }
    }

    /// The recommended candidate, or the one that leads; `None` where none has a score.
    pub fn first_choice(&self) -> Option<&str> {
        let leader = self.verdict.ranking.first().map(|rank| rank.candidate.as_str());
        self.verdict.recommended.as_deref().or(leader)
    }

    /// The candidate that is the only one with a score: there is nothing that it could be ranked against.
    pub fn sole_candidate(&self) -> Option<&Rank> {
        match self.verdict.ranking.as_slice() {
            [only] if self.verdict.recommended.is_none() => Some(only),
            _ => None,
        }
    }
}

impl Verdict {
    /// The recommended candidates: one for each protection level that has a recommendation, or the one that is taken where
    /// there is a [trade](LevelTrade).
    pub fn recommended_names(&self) -> Vec<&str> {
        if !self.trades.is_empty() || self.by_losses.as_ref().is_some_and(|choice| choice.decides) {
            return self.recommended.as_deref().into_iter().collect();
        }
        let levels = self.by_protection_level().into_iter();
        levels.filter_map(|(_, level)| level.recommended.as_deref()).collect()
    }

    /// The choice between a protection level and the one without that protection, in a run that asks what it costs: each
    /// candidate has a partner that differs from it in one protection alone. `None` for any other run.
    pub fn asked_cost(&self) -> Option<&LevelTrade> {
        let pairs = || self.protection_costs.iter().filter(|cost| cost.same_otherwise);
        let is_paired = |rank: &Rank| {
            pairs().any(|cost| cost.protected == rank.candidate || cost.other == rank.candidate)
        };
        let is_of_pair = |trade: &&LevelTrade| {
            matches!(trade.keeps.as_slice(), [feature] if !feature.is_weaker()
                && pairs().any(|cost| cost.feature == *feature))
        };
        self.trades.iter().find(is_of_pair).filter(|_| self.ranking.iter().all(is_paired))
    }

    /// The place of a candidate in the ranking of its protection level; 0 for a leader.
    pub fn place_in_ranking(&self, candidate: &str) -> Option<usize> {
        let place = |level: &Verdict| level.ranking.iter().position(|rank| rank.candidate == candidate);
        self.by_protection_level().into_iter().find_map(|(_, level)| place(level))
    }

    /// Whether candidates of several protection levels stand side by side that are not compared with each other.
    pub fn has_separate_levels(&self) -> bool {
        !self.groups.is_empty() && self.trades.is_empty()
    }

    /// The protection level that a candidate is of, where there are several.
    fn level_of(&self, candidate: &str) -> Option<&GroupVerdict> {
        self.groups.iter().find(|level| level.candidates.iter().any(|name| name == candidate))
    }

    /// The leader of the recommended protection level, for a candidate of another level: it is compared with that leader,
    /// too. `None` where levels are not compared.
    pub(crate) fn leader_beside(&self, candidate: &str) -> Option<&str> {
        let recommended = self.level_of(&self.trades.first()?.taken)?;
        let is_other = !recommended.candidates.iter().any(|name| name == candidate);
        recommended.verdict.ranking.first().filter(|_| is_other).map(|rank| rank.candidate.as_str())
    }

    /// Whether a candidate is shown to be worse than the leader of its protection level: it cannot be recommended as long as
    /// that leader can.
    pub fn is_behind(&self, candidate: &str) -> bool {
        self.behind.iter().any(|name| name == candidate)
    }

    /// The verdicts in which candidates are ranked against each other: those of the protection levels, each with its title,
    /// or this one without a title. A leader, and sentences about candidates beside it, are of one such verdict.
    pub fn by_protection_level(&self) -> Vec<(&str, &Verdict)> {
        match self.groups.as_slice() {
            [] => vec![("", self)],
            groups => groups.iter().map(|group| (group.title.as_str(), &group.verdict)).collect(),
        }
    }

    /// Whether candidates of the level were compared, or none was measured.
    fn is_contest(&self) -> bool {
        self.ranking.len() > 1 || self.recommended.is_some()
    }

    /// The ranking, or that of the first protection level with several candidates.
    pub(crate) fn first_ranking(&self) -> &[Rank] {
        let contest = self.by_protection_level().into_iter().find(|(_, level)| level.is_contest());
        contest.map_or(&self.ranking, |(_, level)| &level.ranking)
    }

    /// Replaces the ranking of all candidates against each other by those of the groups, one after the other.
    pub(crate) fn split_by_group(
        &mut self,
        groups: Vec<GroupVerdict>,
        costs: Vec<ProtectionCost>,
        trades: Vec<LevelTrade>,
    ) {
        if self.refused.is_some() {
            return;
        }
        let contests: Vec<&Verdict> =
            groups.iter().map(|group| &group.verdict).filter(|level| level.is_contest()).collect();
        let all = |outcome: Outcome| contests.iter().all(|verdict| verdict.outcome == outcome);
        self.outcome = match contests.iter().any(|verdict| verdict.outcome == Outcome::Undecided) {
            _ if contests.is_empty() => Outcome::Undecided,
            true => Outcome::Undecided,
            false if all(Outcome::Ranked) => Outcome::Ranked,
            false => Outcome::Recommended,
        };
        let first = contests.iter().find_map(|verdict| verdict.recommended.clone());
        self.recommended = first.filter(|_| self.outcome != Outcome::Undecided);
        fn concatenate_parts<T: Clone>(
            groups: &[GroupVerdict],
            part: impl Fn(&Verdict) -> &Vec<T>,
        ) -> Vec<T> {
            groups.iter().flat_map(|group| part(&group.verdict).clone()).collect()
        }
        self.tied = concatenate_parts(&groups, |verdict| &verdict.tied);
        self.behind = concatenate_parts(&groups, |verdict| &verdict.behind);
        self.open = concatenate_parts(&groups, |verdict| &verdict.open);
        self.unevaluated = concatenate_parts(&groups, |verdict| &verdict.unevaluated);
        self.ranking = concatenate_parts(&groups, |verdict| &verdict.ranking);
        self.standings = concatenate_parts(&groups, |verdict| &verdict.standings);
        self.unsettled = concatenate_parts(&groups, |verdict| &verdict.unsettled);
        self.tradeoffs = concatenate_parts(&groups, |verdict| &verdict.tradeoffs);
        self.sensitivity = concatenate_parts(&groups, |verdict| &verdict.sensitivity);
        self.depends = concatenate_parts(&groups, |verdict| &verdict.depends);
        self.device_spreads = concatenate_parts(&groups, |verdict| &verdict.device_spreads);
        self.predictions = concatenate_parts(&groups, |verdict| &verdict.predictions);
        self.device_strata = concatenate_parts(&groups, |verdict| &verdict.device_strata);
        self.background = concatenate_parts(&groups, |verdict| &verdict.background);
        // Both are about a leader, and the run has several.
        self.charged = None;
        self.noise = None;
        // The work is that of the whole run, and its share in a level differs by nothing that matters.
        let is_of_work = |limit: &Limit| matches!(limit, Limit::TooLittle(_));
        let of_levels = concatenate_parts(&groups, |verdict| &verdict.limits);
        let of_levels = of_levels.into_iter().filter(|limit| !is_of_work(limit));
        let mut limits: Vec<Limit> =
            self.limits.iter().filter(|limit| is_of_work(limit)).cloned().chain(of_levels).collect();
        let mut known = Vec::new();
        limits.retain(|limit| {
            let is_new = !known.contains(limit);
            known.push(limit.clone());
            is_new
        });
        limits.sort_by_key(Limit::is_of_setup);
        self.limits = limits;
        self.groups = groups;
        self.protection_costs = costs;
        self.trades = trades;
        self.conclude_from_trades();
    }

    /// Recommends the candidate that the trades take, if its level has a recommendation or nothing else, and there are
    /// enough blocks for an interval.
    fn conclude_from_trades(&mut self) {
        let Some(trade) = self.trades.first() else { return };
        let level = self.level_of(&trade.taken);
        let is_told = self.trades.iter().all(|trade| trade.ratio.is_none_or(|ratio| ratio.low.is_some()));
        self.outcome = match level {
            Some(level) if level.verdict.is_contest() => level.verdict.outcome,
            Some(_) if is_told => Outcome::Recommended,
            _ => Outcome::Undecided,
        };
        self.recommended = (self.outcome != Outcome::Undecided).then(|| trade.taken.clone());
    }
}

#[cfg(test)]
mod tests;
