//! The course of one number over several runs.

use libm::log;

use crate::compare::ComparisonReport;
use fsverdict_judgement::statistics::Estimate;
use fsverdict_judgement::verdict::{ContrastOutcome, MetricChange};

/// From the least to the most.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) struct Trend<'a> {
    /// For each run, where it has the number.
    pub(super) values: Vec<Option<&'a Estimate>>,
    /// From each run to the next, where both have it.
    pub(super) steps: Vec<Option<&'a MetricChange>>,
    pub(super) tie: f64,
}

impl<'a> Trend<'a> {
    /// Of the number that this change is about.
    pub(super) fn of(report: &ComparisonReport<'a>, about: &'a MetricChange) -> Self {
        let same =
            |change: &&MetricChange| change.candidate == about.candidate && change.phase == about.phase;
        let found = report.found;
        let steps: Vec<Option<&MetricChange>> = match found.steps.as_slice() {
            [] => vec![Some(about)],
            steps => steps.iter().map(|step| step.judged.iter().find(same)).collect(),
        };
        let values = (0..=steps.len()).map(|at| {
            let ends = steps.get(at).copied().flatten().map(|change| &change.before);
            ends.or_else(|| Some(&steps.get(at.checked_sub(1)?)?.as_ref()?.after))
        });
        Self { values: values.collect(), steps, tie: found.whole.tie }
    }

    pub(super) fn last_step(&self) -> Option<ContrastOutcome> {
        self.steps.last()?.and_then(MetricChange::outcome)
    }

    /// By which factor it strays from where it began, at most.
    pub(super) fn reach(&self) -> f64 {
        let points = self.values.iter().flatten().map(|estimate| estimate.point);
        let mut points = points.filter(|point| *point > 0.0);
        let Some(first) = points.next() else { return 1.0 };
        points.map(|point| (point / first).max(first / point)).fold(1.0, f64::max)
    }

    /// In a line of text, a character a run; a dot where a run lacks it, or has nothing.
    pub(super) fn spark(&self) -> String {
        let height = |estimate: &Estimate| (estimate.point > 0.0).then(|| log(estimate.point));
        let logs: Vec<Option<f64>> = self.values.iter().map(|value| value.and_then(height)).collect();
        let known = || logs.iter().flatten().copied();
        let (least, most) =
            (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        // A negligible difference must not look like a cliff.
        let span = (most - least).max(log(1.0 + self.tie));
        let level = |value: f64| {
            let place = (value - least) / span * (LEVELS.len() - 1) as f64;
            // Between 0 and 7.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            LEVELS[(libm::round(place) as usize).min(LEVELS.len() - 1)]
        };
        logs.iter().map(|value| value.map_or('·', level)).collect()
    }
}
