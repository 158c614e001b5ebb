//! The goal of a trial as one number: the weighted mean of the logs of the goal's metric over the phases that every
//! candidate has.
//!
//! Logs, because ratios multiply: twice as slow in one phase and twice as fast in an equally heavy one cancel.

use std::collections::BTreeMap;

use libm::log;
use serde::Serialize;

use super::better_of;
use crate::journal::{Better, Run, Status, Trial, TrialStanding};
use crate::plan::Plan;

#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    pub metric: String,
    /// Weights by phase: those of the goal that every candidate has.
    pub weights: BTreeMap<String, f64>,
    /// Phases of the goal that somebody lacks, and which thus count for nobody.
    pub left_out: Vec<LeftOutPhase>,
}

/// A phase of the goal that is no part of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutPhase {
    pub phase: String,
    /// Who has nothing in it.
    pub lacking: Vec<String>,
}

impl Objective {
    /// A phase counts that gave everybody a number in every trial: of nothing, which may come in any block, there are no ratios, and
    /// who has none must not leave the race by that.
    pub fn of(plan: &Plan, run: &Run) -> Self {
        let mut objective =
            Self { metric: plan.goal.metric.clone(), weights: weights(plan), left_out: Vec::new() };
        objective.take(&run.trials);
        objective
    }

    /// Takes in further trials of a run, of blocks that have ended.
    pub(super) fn take(&mut self, trials: &[Trial]) {
        let done = trials
            .iter()
            .filter(|trial| trial.status == Status::Ok && trial.standing != TrialStanding::Discarded);
        for trial in done {
            let lacks = |phase: &str| log_cost(&self.metric, phase, trial).is_none();
            let lacked: Vec<String> = self.weights.keys().filter(|phase| lacks(phase)).cloned().collect();
            for one in self.left_out.iter_mut().filter(|one| lacks(&one.phase)) {
                if !one.lacking.contains(&trial.id.candidate) {
                    one.lacking.push(trial.id.candidate.clone());
                }
            }
            for phase in lacked {
                self.weights.remove(&phase);
                self.left_out.push(LeftOutPhase { phase, lacking: vec![trial.id.candidate.clone()] });
            }
        }
        self.left_out.sort_by(|one, other| one.phase.cmp(&other.phase));
    }

    pub fn phases(&self) -> Vec<&str> {
        self.weights.keys().map(String::as_str).collect()
    }

    /// The goal of one trial, smaller is better. `None` when a phase that counts was not measured or measured as nothing.
    pub fn log_score(&self, trial: &Trial) -> Option<f64> {
        log_score(&self.metric, &self.weights, trial)
    }

    /// The same as if each phase had taken so much more of the metric, or less where that is negative. `None` where nothing would
    /// be left.
    pub(super) fn log_score_changed(&self, trial: &Trial, more: impl Fn(&str) -> f64) -> Option<f64> {
        let cost = |phase: &str| Some(log(trial.value(phase, &self.metric)? + more(phase)));
        let sum: Option<f64> = self.weights.iter().map(|(phase, weight)| Some(weight * cost(phase)?)).sum();
        let total: f64 = self.weights.values().sum();
        sum.map(|sum| sum / total).filter(|score| total > 0.0 && score.is_finite())
    }
}

/// The weights of the goal that count, by phase. No weights in a plan mean: every phase the same.
pub fn weights(plan: &Plan) -> BTreeMap<String, f64> {
    let every = || plan.phases.iter().map(|phase| (phase.name.clone(), 1.0)).collect();
    let given: BTreeMap<String, f64> =
        if plan.goal.weights.is_empty() { every() } else { plan.goal.weights.clone() };
    given.into_iter().filter(|(_, weight)| *weight > 0.0).collect()
}

/// The log of a metric in a phase, smaller is better; `None` where it was not measured or measured as nothing.
pub(super) fn log_cost(metric: &str, phase: &str, trial: &Trial) -> Option<f64> {
    let observation = trial.observations.iter().find(|observation| observation.phase == phase)?;
    let found = observation.measurements.iter().find(|found| found.metric == metric)?;
    let sign = if better_of(&found.metric, found.unit, found.better) == Better::Higher { -1.0 } else { 1.0 };
    Some(sign * log(found.resolved())).filter(|log| log.is_finite())
}

/// As [`Objective::log_score`], by these weights.
pub(super) fn log_score(metric: &str, weights: &BTreeMap<String, f64>, trial: &Trial) -> Option<f64> {
    let sum: Option<f64> =
        weights.iter().map(|(phase, weight)| Some(weight * log_cost(metric, phase, trial)?)).sum();
    let total: f64 = weights.values().sum();
    // A plan of an earlier version may hold weights that make an infinity of either.
    sum.map(|sum| sum / total).filter(|score| total > 0.0 && score.is_finite())
}
