//! What every part of a verdict is judged from.

use super::{ByBlock, Objective};
use crate::journal::{Run, Trial};
use crate::plan::Plan;

/// A plan, what came of it, and what candidates are compared by.
#[derive(Clone, Copy)]
pub(super) struct VerdictEvidence<'a> {
    pub(super) plan: &'a Plan,
    pub(super) run: &'a Run,
    pub(super) objective: &'a Objective,
    /// The trials that the numbers are made from.
    pub(super) trials: &'a ByBlock<'a>,
}

impl VerdictEvidence<'_> {
    /// How far, as a log, a candidate's trials are behind another's for the goal, block by block.
    pub(super) fn behind(&self, candidate: &str, other: &str) -> Vec<f64> {
        self.trials.differences(candidate, other, |trial| self.score(trial))
    }

    /// The goal of a trial, smaller is better.
    pub(super) fn score(&self, trial: &Trial) -> Option<f64> {
        self.objective.log_score(trial)
    }

    /// Smaller differences do not matter, as a share.
    pub(super) fn tie(&self) -> f64 {
        self.plan.protocol.tie
    }
}
