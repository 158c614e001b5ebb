//! How one number changed from one run to the other.

use std::collections::BTreeMap;

use libm::{exp, log};

use super::{ALPHA, Side};
use crate::journal::{Better, Run, Unit};
use crate::statistics::{Comparison, Estimate, independent_ratio, median_estimate, rank_sum};
use crate::study::{better_of, log_score};

/// What changed: the goal as a whole, or one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The weighted geometric mean over the phases of the goal.
    Goal,
    /// A phase.
    Phase(String),
}

/// How one number of one candidate changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The candidate.
    pub candidate: String,
    /// Of what.
    pub subject: Subject,
    /// Name of the metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// The median before.
    pub before: Estimate,
    /// The median after.
    pub after: Estimate,
    /// After over before (Hodges-Lehmann).
    pub ratio: Estimate,
    /// Two-sided p of the rank-sum test, of this comparison alone.
    pub p: f64,
    /// The same after Holm's correction over everything judged; `None` where it only informs.
    pub adjusted_p: Option<f64>,
    /// What it amounts to; `None` where it only informs.
    pub outcome: Option<Comparison>,
}

impl Change {
    /// The ratio turned so that larger is worse.
    pub(super) fn cost_ratio(&self) -> Estimate {
        match self.better {
            Better::Lower | Better::Neither => self.ratio,
            Better::Higher => Estimate {
                point: 1.0 / self.ratio.point,
                low: self.ratio.high.map(f64::recip),
                high: self.ratio.low.map(f64::recip),
                n: self.ratio.n,
            },
        }
    }
}

/// How a metric of a phase changed. `None` where it was not measured in both runs, or as nothing in some trial: of
/// zero there are no ratios.
pub(super) fn of_phase(
    before: &Run,
    after: &Run,
    candidate: &str,
    phase: &str,
    metric: &str,
) -> Option<Change> {
    let unit = before
        .trials
        .iter()
        .filter(|trial| trial.counts() && trial.id.candidate == candidate)
        .flat_map(|trial| &trial.observations)
        .filter(|observation| observation.phase == phase)
        .flat_map(|observation| &observation.measurements)
        .find(|found| found.metric == metric)?
        .unit;
    let logs = |run: &Run| -> Option<Vec<f64>> {
        let sample = run.sample(candidate, phase, metric);
        sample.into_iter().map(|(_, value)| (value > 0.0).then(|| log(value))).collect()
    };
    change(candidate, Subject::Phase(phase.to_owned()), metric, unit, [&logs(before)?, &logs(after)?])
}

/// How the goal as a whole changed. `None` where a phase that counts was not measured in both runs.
pub(super) fn of_goal(
    before: Side<'_>,
    after: Side<'_>,
    weights: &BTreeMap<String, f64>,
    candidate: &str,
) -> Option<Change> {
    let plan = before.plan;
    let metric = plan.goal.metric.as_str();
    let mut units =
        before.run.trials.iter().filter(|trial| trial.counts()).flat_map(|trial| &trial.observations);
    let unit = units.find_map(|observation| {
        observation.measurements.iter().find(|found| found.metric == metric).map(|found| found.unit)
    })?;
    // A score is a cost; told as the metric itself, a rate must be turned over again.
    let sign = if better_of(metric, unit) == Better::Higher { -1.0 } else { 1.0 };
    let logs = |run: &Run| -> Vec<f64> {
        let trials = run.trials.iter().filter(|trial| trial.counts() && trial.id.candidate == candidate);
        trials.filter_map(|trial| log_score(plan, weights, trial)).map(|score| sign * score).collect()
    };
    change(candidate, Subject::Goal, metric, unit, [&logs(before.run), &logs(after.run)])
}

fn change(candidate: &str, subject: Subject, metric: &str, unit: Unit, logs: [&[f64]; 2]) -> Option<Change> {
    let [before, after] = logs;
    let confidence = 1.0 - ALPHA;
    // The median of logs is the log of the median but for even n, where it is the geometric middle: fit for ratios.
    let told = |logs: &[f64]| median_estimate(logs, confidence).map(|found| found.map(exp));
    Some(Change {
        candidate: candidate.to_owned(),
        subject,
        metric: metric.to_owned(),
        unit,
        better: better_of(metric, unit),
        before: told(before)?,
        after: told(after)?,
        ratio: independent_ratio(after, before, confidence)?,
        p: rank_sum(after, before).p,
        adjusted_p: None,
        outcome: None,
    })
}
