//! The inputs that every part of a verdict is judged from.

use super::{ByBlock, FreeComputation, Objective};
use crate::journal::{Run, Trial};
use crate::plan::Plan;
use crate::statistics::Estimate;
use fsverdict_text::DrawnNumbers;

/// A plan, its run, and the goal by which candidates are compared.
#[derive(Clone, Copy)]
pub(crate) struct VerdictEvidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a Run,
    pub(crate) objective: &'a Objective,
    /// The trials that the numbers come from.
    pub(crate) trials: &'a ByBlock<'a>,
    pub(crate) free: &'a FreeComputation,
}

impl VerdictEvidence<'_> {
    /// How far one candidate is behind another for the goal, as a logarithm, block by block.
    pub(crate) fn log_ratios(&self, candidate: &str, other: &str) -> Vec<f64> {
        self.trials.differences(candidate, other, |trial| self.score(trial))
    }

    /// How many times as much the goal costs one candidate as another, paired within blocks; `None` where the order is
    /// that of free computation.
    pub(crate) fn ratio(&self, candidate: &str, other: &str) -> Option<Estimate> {
        let is_told = !self.free.hides_order(candidate, other);
        is_told.then(|| self.trials.ratio(candidate, other, |trial| self.score(trial)))?
    }

    /// The logarithm of a trial's goal, where smaller is better.
    pub(crate) fn score(&self, trial: &Trial) -> Option<f64> {
        self.objective.log_score(trial)
    }

    /// The same on each device of a class that both were tried on, with the device's drawn numbers; empty where every
    /// block had the same device. Candidates on different models share no device.
    pub(crate) fn behind_on_devices(&self, candidate: &str, other: &str) -> Vec<(&DrawnNumbers, f64)> {
        self.trials
            .trials_in_common(candidate, other)
            .filter(|(ours, theirs)| {
                !ours.learnt.drawn.is_empty() && ours.learnt.drawn == theirs.learnt.drawn
            })
            .filter_map(|(ours, theirs)| Some((&ours.learnt.drawn, self.score(ours)? - self.score(theirs)?)))
            .filter(|(_, behind)| behind.is_finite())
            .collect()
    }

    /// δ as a share: smaller differences count as ties.
    pub(crate) fn tie(&self) -> f64 {
        self.plan.protocol.tie
    }
}
