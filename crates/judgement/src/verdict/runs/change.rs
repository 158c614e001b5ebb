//! The change of one metric of one candidate from one run to another, and its test.

use libm::{log, log1p, sqrt};
use serde::{Serialize, Serializer};

use super::FEWEST_TO_TEST;
use crate::journal::{Better, Measurement, Run, Unit};
use crate::statistics::{Estimate, Evidence, median, median_test};
use crate::verdict::{ContrastOutcome, Objective, Slice};

/// Degrees of freedom from which Student's t is practically the normal distribution.
const MANY_DEGREES: f64 = 1e6;

/// The change of one metric of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricChange {
    pub candidate: String,
    /// The phase; `None` for the goal as a whole.
    pub phase: Option<String>,
    pub metric: String,
    pub unit: Unit,
    #[serde(skip)]
    pub better: Better,
    /// The geometric means of the earlier and the later run; `ratio` is their quotient.
    pub before: Estimate,
    pub after: Estimate,
    /// The later value divided by the earlier one.
    pub ratio: Estimate,
    /// The judgement; `None` for a change that is shown for information only.
    #[serde(flatten)]
    pub judged: Option<Judged>,
    #[serde(skip)]
    pub(crate) p: Chance,
}

/// Two-sided p-values of one comparison alone; `None` where there are too few trials for a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    /// Allows for the usual variation between two runs of the same plan.
    pub(crate) p: Option<f64>,
    /// Does not allow for it.
    pub(crate) of_these: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    /// Two-sided p-value of this comparison alone.
    pub p: f64,
    /// The p-value after Holm's correction over all changes that are judged.
    pub p_adjusted: f64,
    #[serde(serialize_with = "serialize_outcome")]
    pub outcome: ContrastOutcome,
    /// The two runs certainly differ by more than δ, but not by more than two runs of the same plan may.
    pub apart: bool,
}

/// Writes the outcome with the words of the JSON report for runs.
fn serialize_outcome<S: Serializer>(outcome: &ContrastOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.as_change())
}

impl MetricChange {
    pub fn outcome(&self) -> Option<ContrastOutcome> {
        self.judged.map(|judged| judged.outcome)
    }

    /// The subject of the change, for reports: the phase or the goal.
    pub fn subject(&self) -> &str {
        self.phase.as_deref().unwrap_or("goal")
    }

    /// The ratio oriented so that larger is worse.
    pub(crate) fn cost_ratio(&self) -> Estimate {
        match self.better {
            Better::Lower | Better::Neither => self.ratio,
            Better::Higher => self.ratio.invert(),
        }
    }
}

/// How the trials of two runs are set against each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairing {
    /// Block by block, because both runs drew the same for each.
    pub(crate) paired: bool,
    /// The standard deviation, as a share, of times between two runs of the same plan.
    pub(crate) between_runs: f64,
}

/// The logarithms of one metric in the blocks of a run, in order.
type BlockLogs = Vec<(u32, f64)>;

/// The change of a metric in a phase. `None` where it was not measured in both runs.
pub(crate) fn of_phase(
    before: &Run,
    after: &Run,
    candidate: &str,
    phase: &str,
    metric: &str,
    pairing: Pairing,
) -> Option<MetricChange> {
    let observations = before.counted_trials_of(candidate).flat_map(|trial| &trial.observations);
    let measurements = observations.filter(|observation| observation.phase == phase);
    let mut measurements = measurements.flat_map(|observation| &observation.measurements);
    let kind = measurements.find(|found| found.metric == metric)?;
    let [one, other] = [before, after].map(|run| run.counted_values(candidate, phase, metric));
    if one.iter().chain(&other).any(|(_, value)| *value <= 0.0) {
        return with_nothing(candidate, phase, kind, [&values_of(&one), &values_of(&other)]);
    }
    let logs = |sample: BlockLogs| -> BlockLogs {
        sample.into_iter().map(|(block, value)| (block, log(value))).collect()
    };
    judge_change(candidate, Some(phase), kind, [&logs(one), &logs(other)], pairing)
}

/// The change of a metric that is zero in some trial. Zero has no ratios and the scale of the noise is unknown, so the
/// medians are compared and a median test decides.
fn with_nothing(
    candidate: &str,
    phase: &str,
    kind: &Measurement,
    [before, after]: [&[f64]; 2],
) -> Option<MetricChange> {
    let n = before.len().min(after.len());
    let (one, other) = (median(before)?, median(after)?);
    let enough = n >= FEWEST_TO_TEST;
    let ratio = match before.iter().chain(after).all(|value| *value == 0.0) {
        true if enough => Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), n },
        true => Estimate::without_interval(1.0, n),
        // Equal medians, both of which may be zero, have the ratio 1.
        false if one == other => Estimate::without_interval(1.0, n),
        false => Estimate::without_interval(other / one, n),
    };
    let p = enough.then(|| median_test(before, after));
    Some(MetricChange {
        candidate: candidate.to_owned(),
        phase: Some(phase.to_owned()),
        metric: kind.metric.to_string(),
        unit: kind.unit,
        better: kind.direction(),
        before: Estimate::without_interval(one, before.len()),
        after: Estimate::without_interval(other, after.len()),
        ratio,
        judged: None,
        p: Chance { p, of_these: p },
    })
}

/// The change of the goal as a whole. `None` where a phase that counts was not measured in each trial of both runs, or
/// is zero.
pub(crate) fn of_goal(
    before: &Slice,
    after: &Slice,
    objective: &Objective,
    candidate: &str,
    pairing: Pairing,
) -> Option<MetricChange> {
    let mut observations = before.run.counted_trials().flat_map(|trial| &trial.observations);
    let kind = observations.find_map(|observation| observation.find_measurement(&objective.metric))?;
    // A score is a cost, so a rate is inverted again to show it as the metric itself.
    let sign = kind.direction().cost_sign();
    let logs = |run: &Run| -> Option<BlockLogs> {
        let trials = run.counted_trials_of(candidate);
        trials.map(|trial| Some((trial.id.block, sign * objective.log_score(trial)?))).collect()
    };
    judge_change(candidate, None, kind, [&logs(&before.run)?, &logs(&after.run)?], pairing)
}

fn judge_change(
    candidate: &str,
    phase: Option<&str>,
    kind: &Measurement,
    [before, after]: [&BlockLogs; 2],
    pairing: Pairing,
) -> Option<MetricChange> {
    let (before, after, evidence) = if pairing.paired {
        let (before, after) = in_both_runs(before, after);
        let differences: Vec<f64> = after.iter().zip(&before).map(|(one, other)| one - other).collect();
        let evidence = Evidence::from_sample(&differences)?;
        (before, after, evidence)
    } else {
        let (before, after) = (values_of(before), values_of(after));
        let evidence = Evidence::from_unpaired_samples(&after, &before)?;
        (before, after, evidence)
    };
    let allowed =
        if kind.unit.is_timed() { widen_by_run_variation(&evidence, pairing.between_runs) } else { evidence };
    let tested = |evidence: &Evidence| (evidence.count >= FEWEST_TO_TEST).then(|| evidence.p_different());
    Some(MetricChange {
        candidate: candidate.to_owned(),
        phase: phase.map(str::to_owned),
        metric: kind.metric.to_string(),
        unit: kind.unit,
        better: kind.direction(),
        before: Evidence::from_sample(&before)?.ratio(),
        after: Evidence::from_sample(&after)?.ratio(),
        ratio: evidence.ratio(),
        judged: None,
        p: Chance { p: tested(&allowed), of_these: tested(&evidence) },
    })
}

fn values_of(sample: &BlockLogs) -> Vec<f64> {
    sample.iter().map(|(_, value)| *value).collect()
}

/// The values of the blocks that both runs have, in the same order.
fn in_both_runs(before: &BlockLogs, after: &BlockLogs) -> (Vec<f64>, Vec<f64>) {
    let pair = |(block, earlier): &(u32, f64)| {
        let (_, later) = after.iter().find(|(later, _)| later == block)?;
        Some((*earlier, *later))
    };
    before.iter().filter_map(pair).unzip()
}

/// Adds the variation between two runs (a standard deviation, as a share) to the standard error, and sets the degrees
/// of freedom to match; only the sample's own variance is uncertain.
fn widen_by_run_variation(evidence: &Evidence, between_runs: f64) -> Evidence {
    let (own, runs) = (evidence.error * evidence.error, 2.0 * log1p(between_runs) * log1p(between_runs));
    let doubt = own * own / evidence.degrees;
    let degrees = (own + runs) * (own + runs) / doubt;
    Evidence {
        error: sqrt(own + runs),
        degrees: if degrees.is_finite() { degrees.min(MANY_DEGREES) } else { MANY_DEGREES },
        ..*evidence
    }
}
