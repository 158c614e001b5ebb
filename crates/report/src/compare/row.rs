//! A change as the cells of a table, with no more digits than its numbers carry; and the course of one number over
//! several runs.

use crate::compare::ComparisonReport;
use crate::model::is_too_wide;
use crate::wording::{NumberScale, decimals, fixed, percent, signed_percent, times};
use fsverdict_judgement::statistics::Estimate;
use fsverdict_judgement::verdict::{ContrastOutcome, MetricChange};
use libm::log;

pub(super) struct CompareRow {
    /// The number before, with its unit and half its interval.
    pub(super) before: String,
    pub(super) after: String,
    /// After against before.
    pub(super) change: String,
    /// Its interval; a dash where there are too few blocks.
    pub(super) interval: String,
}

pub(super) fn build_row(found: &MetricChange) -> CompareRow {
    let scale = NumberScale::suited(found.unit, [found.before.point, found.after.point].into_iter());
    let cell = |estimate: &Estimate| {
        let spread = match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => Some(0.5 * (high - low) / estimate.point),
            _ => None,
        };
        let value = estimate.point / scale.divisor;
        let number = fixed(value, decimals(value, spread));
        let unit = if scale.label.is_empty() { String::new() } else { format!(" {}", scale.label) };
        match spread {
            Some(_) if estimate.ends().is_some_and(|(low, high)| is_too_wide(low, high)) => {
                format!("{number}{unit} ±?")
            }
            Some(spread) if spread > 0.0 => format!("{number}{unit} ±{}", percent(spread)),
            _ => format!("{number}{unit}"),
        }
    };
    let ratio = &found.ratio;
    CompareRow {
        before: cell(&found.before),
        after: cell(&found.after),
        change: change(ratio.point, ratio),
        interval: match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => format!("{} to {}", change(low, ratio), change(high, ratio)),
            _ => "–".to_owned(),
        },
    }
}

/// A ratio as a change: `+12%`, `−3.1%` where the whole interval is that narrow, `×12.3` where per cent get unwieldy.
pub(super) fn change(ratio: f64, of: &Estimate) -> String {
    if ratio.is_infinite() {
        return "appeared".to_owned();
    }
    if ratio == 0.0 {
        return "disappeared".to_owned();
    }
    if ratio >= 10.0 {
        return format!("×{}", times(ratio));
    }
    let narrow = matches!((of.low, of.high), (Some(low), Some(high)) if high - low < 0.03);
    signed_percent(ratio - 1.0, usize::from(narrow))
}

pub(super) fn share(fraction: f64) -> String {
    let rounded = (fraction * 1e4).round() / 1e2;
    format!("{rounded}%")
}

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

#[cfg(test)]
mod tests {
    use super::{change, share};
    use fsverdict_judgement::statistics::Estimate;

    #[test]
    fn a_change_carries_as_many_digits_as_its_interval() {
        let wide = Estimate { point: 1.2, low: Some(1.1), high: Some(1.3), n: 8 };
        let narrow = Estimate { point: 1.2, low: Some(1.195), high: Some(1.205), n: 8 };
        let none = Estimate { point: 1.2, low: None, high: None, n: 2 };
        assert_eq!(change(1.2, &wide), "+20%");
        assert_eq!(change(0.7512, &narrow), "−24.9%");
        assert_eq!(change(0.9999, &none), "±0%");
        assert_eq!(change(1.00001, &narrow), "±0%");
        assert_eq!(change(12.34, &wide), "×12.3");
        assert_eq!(change(f64::INFINITY, &none), "appeared");
        assert_eq!(change(0.0, &none), "disappeared");
        assert_eq!((share(0.03), share(0.005)), ("3%".to_owned(), "0.5%".to_owned()));
    }
}
