//! Splits a run into one run per protection level. Each has a verdict of its own, because a filesystem with less
//! protection is no alternative to one with more.

use super::environment_runs::restrict_to;
use crate::journal::Run;
use crate::plan::{Plan, Protection, ProtectionGroup, is_twin};

/// The trials of one protection level: a plan and a run as if there were no other levels.
#[derive(Debug, Clone)]
pub struct GroupRun {
    pub protection: Protection,
    /// The difference of the level from the others of the run.
    pub title: String,
    pub plan: Plan,
    pub run: Run,
}

impl GroupRun {
    /// Whether it has candidates to choose from; a twin is none.
    pub fn has_choice(&self) -> bool {
        self.plan.candidates.iter().filter(|candidate| !is_twin(&candidate.name)).count() > 1
    }
}

/// The protection levels of a run, the fullest protection first; empty where there is only one.
pub fn group_runs(plan: &Plan, run: &Run) -> Vec<GroupRun> {
    let group = |ProtectionGroup { protection, title }| {
        let (mut plan, run) =
            restrict_to(plan, run, |candidate| plan.goal.protection_of(&candidate.name) == protection);
        plan.goal.protection.clear();
        GroupRun { protection, title, plan, run }
    };
    plan.protection_groups().into_iter().map(group).collect()
}
