//! Compares runs of the same plan, before and after a change or night after night: which metrics improved, regressed or
//! stayed the same.
//!
//! Runs in real time happened at different times, so their blocks cannot be paired: they are compared as independent
//! samples. In simulated time a block of one run has a counterpart in the other if both drew the same device, memory,
//! size, start and names for it; then blocks are compared one by one.

mod cautions;
mod change;
mod comparable;
mod difference;
mod kernels;
mod matched;
mod sizes;
#[cfg(test)]
mod tests;

use cautions::list_cautions;
use change::Judged;
pub use change::MetricChange;
pub use difference::Difference;
pub use kernels::{KernelChange, KernelPair, KernelPhase, MEASURES, TIME, judged_alone};
pub use sizes::{AtSize, CostBySize, MovedRatio, SizeStep, SizeTable};

use serde::Serialize;

use crate::journal::Run;
use crate::plan::Goal;
use crate::statistics::FEWEST;
use crate::verdict::contrast::{ContrastTest, judge_family};
use crate::verdict::{ALPHA, ContrastOutcome, Objective, Slice};
use fsverdict_text::Hinted;

use change::{Pairing, of_goal, of_phase};
pub use matched::LeftOut;
use matched::{MatchedCandidates, costs_shown, headline_phases};

/// The fewest trials of each run that a test needs.
const FEWEST_TO_TEST: usize = FEWEST as usize;

/// The standard deviation, as a share, between two runs of the same plan on a machine in real time. Memory, layout,
/// heat and other load differ from run to run, and no test on two runs can tell that from a change.
pub const BETWEEN_RUNS: f64 = 0.03;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("these runs cannot be compared\n  {}", reasons.join("\n  "))]
pub struct Incomparable {
    pub reasons: Vec<String>,
}

impl Hinted for Incomparable {
    fn hint(&self) -> Option<String> {
        let hint = "`compare` is for the same plan run twice: kernel, options and tool versions may differ, and nothing else";
        Some(hint.to_owned())
    }
}

/// The result of comparing two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The goal that defines "better": the goal of the earlier run, with every weight that counts.
    pub goal: Goal,
    pub alpha: f64,
    /// δ: smaller differences count as ties.
    pub tie: f64,
    /// The standard deviation, as a share, of times between two runs of the same plan.
    pub between_runs: f64,
    /// Whether blocks were compared one by one, because both runs drew the same for each.
    pub paired: bool,
    /// The change of each candidate's goal, then of its phases; all of these are judged together.
    #[serde(rename = "comparisons")]
    pub judged: Vec<MetricChange>,
    /// Changes of CPU time, of device writes and of the steps around the phases, for information.
    #[serde(rename = "information")]
    pub costs: Vec<MetricChange>,
    /// Candidates that worked in the earlier run and fail in the later one.
    pub broken: Vec<LeftOut>,
    pub left_out: Vec<LeftOut>,
    /// Other differences between the two runs.
    pub differences: Vec<Difference>,
    /// Limits of the comparison, one sentence each.
    pub cautions: Vec<String>,
}

impl RunComparison {
    /// Changes that are worse by more than δ.
    pub fn regressions(&self) -> impl Iterator<Item = &MetricChange> {
        self.judged_as(ContrastOutcome::Behind)
    }

    /// Whether any change is worse by more than δ, or a candidate no longer works.
    pub fn has_regression(&self) -> bool {
        !self.broken.is_empty() || self.regressions().next().is_some()
    }

    pub fn judged_as(&self, outcome: ContrastOutcome) -> impl Iterator<Item = &MetricChange> {
        self.judged.iter().filter(move |change| change.outcome() == Some(outcome))
    }
}

/// The comparisons of several runs of the same plan, in the order in which they were named.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The last run against the first.
    pub whole: RunComparison,
    /// Each run against the one before it; empty for two runs, where `whole` already is that step.
    pub steps: Vec<RunComparison>,
}

impl History {
    /// Whether the last run is worse than the first, or than the one before it. A regression in between that was fixed
    /// does not count.
    pub fn has_regression(&self) -> bool {
        self.whole.has_regression() || self.steps.last().is_some_and(RunComparison::has_regression)
    }

    /// Whether every change that is judged is decided, both between the last run and the first and between the last run
    /// and the one before it.
    pub fn is_decided(&self) -> bool {
        let known = |found: &RunComparison| {
            !found.judged.is_empty() && found.judged_as(ContrastOutcome::Undecided).next().is_none()
        };
        known(&self.whole) && self.steps.last().is_none_or(known)
    }

    /// The number of comparisons that are judged together.
    pub fn count_comparisons(&self) -> usize {
        self.all_comparisons().map(|found| found.judged.len()).sum()
    }

    /// The whole comparison, then the steps.
    pub fn all_comparisons(&self) -> impl Iterator<Item = &RunComparison> {
        std::iter::once(&self.whole).chain(&self.steps)
    }
}

/// Compares two or more runs: the last with the first, and each with the one before it. All changes are judged
/// together, so that the more comparisons there are, the stronger a change must be to be reported. `between_runs` is
/// the standard deviation, as a share, of times between two runs of the same plan; where it is unknown,
/// [`BETWEEN_RUNS`] is used in real time and zero in simulated time.
pub fn compare_runs(runs: &[Slice], between_runs: Option<f64>) -> Result<History, Incomparable> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
        return Err(Incomparable { reasons: vec!["there is no run".to_owned()] });
    };
    let steps: &[Slice] = if runs.len() > 2 { runs } else { &[] };
    let pairs = std::iter::once((first, last)).chain(steps.iter().zip(steps.iter().skip(1)));
    let mut reasons = Vec::new();
    let mut found = Vec::new();
    for (before, after) in pairs {
        match compare_pair(before, after, between_runs) {
            Ok(comparison) => found.push((before, after, comparison)),
            Err(wrong) if runs.len() < 3 => reasons.extend(wrong),
            Err(wrong) => {
                let (one, other) = (&before.run.header.id, &after.run.header.id);
                reasons.extend(wrong.into_iter().map(|reason| format!("{one}, then {other}: {reason}")));
            }
        }
    }
    if !reasons.is_empty() {
        return Err(Incomparable { reasons });
    }
    let mut all: Vec<&mut MetricChange> =
        found.iter_mut().flat_map(|(.., comparison)| &mut comparison.judged).collect();
    judge(&mut all, first.plan.protocol.tie);
    let mut judged = found.into_iter().map(|(before, after, mut comparison)| {
        comparison.cautions = list_cautions(before, after, &comparison);
        comparison
    });
    let whole = judged.next();
    let none = || Incomparable { reasons: vec!["nothing was compared".to_owned()] };
    let mut history = History { whole: whole.ok_or_else(none)?, steps: judged.collect() };
    let started = runs.iter().map(|side| side.run.header.started);
    if runs.len() > 2 && !started.is_sorted() {
        let order = "the runs are in the order in which they were named, which is not that of their dates";
        history.whole.cautions.push(order.to_owned());
    }
    Ok(history)
}

/// The differences between two runs, not yet judged, or every reason why the runs cannot be compared.
fn compare_pair(
    before: &Slice,
    after: &Slice,
    between_runs: Option<f64>,
) -> Result<RunComparison, Vec<String>> {
    let simulated = is_simulated(&before.run) && is_simulated(&after.run);
    let between_runs = between_runs.unwrap_or(if simulated { 0.0 } else { BETWEEN_RUNS });
    let mut reasons = comparable::list_obstacles(before, after);
    let mut matched = MatchedCandidates::from_runs(&before.run, &after.run);
    if matched.common.is_empty() && matched.broken.is_empty() && reasons.is_empty() {
        reasons.push("no candidate was measured in both; they are matched by name".to_owned());
        reasons.extend(matched.reasons());
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let objective = Objective::from_plan(&before.plan);
    let headline = headline_phases(&before.plan, &objective.weights);
    let metric = before.plan.goal.metric.as_str();
    let pairing = Pairing { paired: simulated && have_equal_draws(before, after), between_runs };
    let mut judged = Vec::new();
    let mut costs = Vec::new();
    for candidate in &matched.common.clone() {
        // The goal of a single phase is the phase itself and is judged once.
        if objective.weights.len() > 1 {
            let goal = of_goal(before, after, &objective, candidate, pairing);
            if goal.is_none() {
                let why = format!("goal: {metric} was nothing, or not measured, in a phase that counts");
                matched.left_out.push(LeftOut::new(candidate, why));
            }
            judged.extend(goal);
        }
        let phase =
            |phase: &str, metric| of_phase(&before.run, &after.run, candidate, phase, metric, pairing);
        for name in &headline {
            match phase(name, metric) {
                Some(change) => judged.push(change),
                None => matched
                    .left_out
                    .push(LeftOut::new(candidate, format!("{name}: {metric} was not measured in both runs"))),
            }
        }
        let another_kernel = before.run.header.kernel() != after.run.header.kernel();
        for (name, cost) in costs_shown(&before.run, &headline, metric, another_kernel) {
            // A cost that is zero in both runs is not shown.
            let is_there = |change: &MetricChange| change.before.point > 0.0 || change.after.point > 0.0;
            costs.extend(phase(name, cost).filter(is_there));
        }
    }
    if judged.is_empty() && matched.broken.is_empty() {
        return Err(matched.reasons());
    }
    Ok(RunComparison {
        goal: Goal {
            metric: metric.to_owned(),
            by: objective.by,
            weights: objective.weights,
            ..Goal::default()
        },
        alpha: ALPHA,
        between_runs,
        paired: pairing.paired,
        tie: before.plan.protocol.tie,
        judged,
        costs,
        differences: difference::list_differences(before, after, &matched.common),
        broken: matched.broken,
        left_out: matched.left_out,
        cautions: Vec::new(),
    })
}

/// Judges all changes together, with and without an allowance for the usual variation between runs.
fn judge(changes: &mut [&mut MetricChange], tie: f64) {
    let judge_by = |p: fn(&MetricChange) -> Option<f64>| {
        // A change that cannot be tested counts as not significant.
        let test = |change: &&mut MetricChange| ContrastTest {
            ratio: change.cost_ratio(),
            p: p(change).unwrap_or(1.0),
        };
        judge_family(&changes.iter().map(test).collect::<Vec<_>>(), tie)
    };
    let (allowed, of_these) = (judge_by(|change| change.p.p), judge_by(|change| change.p.of_these));
    for (change, (allowed, of_these)) in changes.iter_mut().zip(allowed.into_iter().zip(of_these)) {
        change.judged = Some(Judged {
            p: change.p.p.unwrap_or(1.0),
            p_adjusted: allowed.p_adjusted,
            outcome: allowed.outcome,
            apart: allowed.outcome == ContrastOutcome::Undecided && of_these.outcome.is_difference(),
        });
    }
}

/// Whether both runs drew the same circumstances for each block that both have: the same seed and rules, and for each
/// candidate the same device of the class.
fn have_equal_draws(before: &Slice, after: &Slice) -> bool {
    let rules = |side: &Slice| {
        let protocol = &side.plan.protocol;
        (protocol.seed, protocol.circumstances, protocol.devices)
    };
    let mut shared = 0;
    let agree = before.run.counted_trials().all(|trial| {
        let mut theirs = after.run.counted_trials_of(&trial.id.candidate);
        let theirs = theirs.find(|other| other.id.block == trial.id.block);
        shared += usize::from(theirs.is_some());
        theirs.is_none_or(|other| other.learnt.drawn == trial.learnt.drawn)
    });
    rules(before) == rules(after) && agree && shared > 0
}

/// Whether the run's trials were in simulated time.
fn is_simulated(run: &Run) -> bool {
    run.counted_trials().any(|trial| trial.learnt.device_seconds.is_some())
}
