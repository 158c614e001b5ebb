//! How one number changed from one run to the other.

use std::collections::BTreeMap;

use libm::log;
use serde::Serialize;

use super::{Comparison, FEWEST_TO_TEST, Side};
use crate::journal::{Better, Run, Unit};
use crate::statistics::{Estimate, Evidence};
use crate::verdict::better_of;
use crate::verdict::goal::log_score;

/// How one number of one candidate changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    pub candidate: String,
    /// `None`: the goal as a whole, the weighted geometric mean over its phases.
    pub phase: Option<String>,
    pub metric: String,
    pub unit: Unit,
    #[serde(skip)]
    pub better: Better,
    /// The geometric mean before, and after: the ratio is the quotient of the two.
    pub before: Estimate,
    pub after: Estimate,
    /// After over before.
    pub ratio: Estimate,
    /// `None` where it only informs.
    #[serde(flatten)]
    pub judged: Option<Judged>,
    /// Two-sided p of this comparison alone; `None` where there are too few trials for a test.
    #[serde(skip)]
    pub(super) p: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    /// Two-sided p of this comparison alone.
    pub p: f64,
    /// The same after Holm's correction over everything judged.
    pub p_adjusted: f64,
    pub outcome: Comparison,
}

impl Change {
    pub fn outcome(&self) -> Option<Comparison> {
        self.judged.map(|judged| judged.outcome)
    }

    /// What changed, for people.
    pub fn subject(&self) -> &str {
        self.phase.as_deref().unwrap_or("goal")
    }

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
    change(candidate, Some(phase), metric, unit, [&logs(before)?, &logs(after)?])
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
    // A score is a cost; shown as the metric itself, a rate must be turned over again.
    let sign = if better_of(metric, unit) == Better::Higher { -1.0 } else { 1.0 };
    let logs = |run: &Run| -> Vec<f64> {
        let trials = run.trials.iter().filter(|trial| trial.counts() && trial.id.candidate == candidate);
        trials.filter_map(|trial| log_score(metric, weights, trial)).map(|score| sign * score).collect()
    };
    change(candidate, None, metric, unit, [&logs(before.run), &logs(after.run)])
}

fn change(
    candidate: &str,
    phase: Option<&str>,
    metric: &str,
    unit: Unit,
    [before, after]: [&[f64]; 2],
) -> Option<Change> {
    let evidence = Evidence::between(after, before)?;
    Some(Change {
        candidate: candidate.to_owned(),
        phase: phase.map(str::to_owned),
        metric: metric.to_owned(),
        unit,
        better: better_of(metric, unit),
        before: Evidence::of(before)?.ratio(),
        after: Evidence::of(after)?.ratio(),
        ratio: evidence.ratio(),
        judged: None,
        p: (evidence.count >= FEWEST_TO_TEST).then(|| evidence.p_different()),
    })
}
