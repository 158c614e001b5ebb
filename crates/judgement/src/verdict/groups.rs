//! The verdict of each protection level, and what the run as a whole says then.

use serde::Serialize;

use super::{GroupRun, Judgement, Outcome, ProtectionCost, Rank, Verdict};
use crate::plan::Protection;

/// The verdict among candidates of one protection level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupVerdict {
    /// What distinguishes the level from the others of the run.
    pub title: String,
    pub protection: Protection,
    /// All candidates of the level, whether measured or not.
    pub candidates: Vec<String>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl GroupVerdict {
    pub(super) fn of(group: &GroupRun) -> Self {
        let verdict = Judgement::of(&group.plan, &group.run).verdict;
        let candidates = group.plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
        GroupVerdict { title: group.title.clone(), protection: group.protection.clone(), candidates, verdict }
    }

    /// The candidate that is the only one with a score: there is nothing that it could be ranked against.
    pub fn alone(&self) -> Option<&Rank> {
        match self.verdict.ranking.as_slice() {
            [only] if self.verdict.recommended.is_none() => Some(only),
            _ => None,
        }
    }

    /// Whether candidates of the level were compared, or none was measured.
    fn is_contest(&self) -> bool {
        self.verdict.ranking.len() > 1 || self.verdict.recommended.is_some()
    }
}

impl Verdict {
    /// Replaces the ranking of all candidates against each other by those of the groups, one after the other.
    pub(super) fn split(&mut self, groups: Vec<GroupVerdict>, costs: Vec<ProtectionCost>) {
        if self.refused.is_some() {
            return;
        }
        let contests: Vec<&Verdict> =
            groups.iter().filter(|group| group.is_contest()).map(|group| &group.verdict).collect();
        let all = |outcome: Outcome| contests.iter().all(|verdict| verdict.outcome == outcome);
        self.outcome = match contests.iter().any(|verdict| verdict.outcome == Outcome::Undecided) {
            _ if contests.is_empty() => Outcome::Undecided,
            true => Outcome::Undecided,
            false if all(Outcome::Ranked) => Outcome::Ranked,
            false => Outcome::Recommended,
        };
        let first = contests.iter().find_map(|verdict| verdict.recommended.clone());
        self.recommended = first.filter(|_| self.outcome != Outcome::Undecided);
        fn joined<T: Clone>(groups: &[GroupVerdict], part: impl Fn(&Verdict) -> &Vec<T>) -> Vec<T> {
            groups.iter().flat_map(|group| part(&group.verdict).clone()).collect()
        }
        self.tied = joined(&groups, |verdict| &verdict.tied);
        self.behind = joined(&groups, |verdict| &verdict.behind);
        self.open = joined(&groups, |verdict| &verdict.open);
        self.ranking = joined(&groups, |verdict| &verdict.ranking);
        self.standings = joined(&groups, |verdict| &verdict.standings);
        self.unsettled = joined(&groups, |verdict| &verdict.unsettled);
        self.tradeoffs = joined(&groups, |verdict| &verdict.tradeoffs);
        self.sensitivity = joined(&groups, |verdict| &verdict.sensitivity);
        self.depends = joined(&groups, |verdict| &verdict.depends);
        self.device_spreads = joined(&groups, |verdict| &verdict.device_spreads);
        let mut limits = joined(&groups, |verdict| &verdict.limits);
        let mut known = Vec::new();
        limits.retain(|limit| {
            let is_new = !known.contains(limit);
            known.push(limit.clone());
            is_new
        });
        self.limits = limits;
        self.groups = groups;
        self.protection_costs = costs;
    }
}
