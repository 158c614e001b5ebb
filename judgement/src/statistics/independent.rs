//! Two independent samples: what one run measured against what another did.
//!
//! The blocks of two runs happened at different times, so that nothing pairs them. What is paired within a run is
//! judged in `pooled.rs`, with more power. All of it rests on one estimator, the trimmed mean: what stands for a
//! sample, the difference of two, its interval and its p belong together (Yuen 1974).

use libm::exp;
use serde::Serialize;

use super::distribution::{root, student_quantile, student_tail};
use super::estimate::Estimate;
use super::sample::sorted;

/// The share of a sample that is set aside at each end: one value of five to nine, two of ten.
const TRIMMED: f64 = 0.2;

/// The fewest values of a sample that has an interval, or is tested.
pub const FEWEST_TO_TEST: usize = 3;

/// The trimmed mean of a sample, with the square of its standard error.
#[derive(Debug, Clone, Copy)]
struct Centre {
    mean: f64,
    squared_error: f64,
    degrees: f64,
    n: usize,
}

impl Centre {
    fn of(values: &[f64]) -> Option<Centre> {
        let ordered = sorted(values);
        let n = ordered.len();
        let cut = (TRIMMED * n as f64) as usize;
        let (low, high) = (*ordered.get(cut)?, *ordered.get(n - 1 - cut)?);
        let kept = (n - 2 * cut) as f64;
        let mean = ordered[cut..n - cut].iter().sum::<f64>() / kept;
        // What was set aside counts for the spread as if it lay where the cut is (winsorised).
        let drawn_in = ordered.iter().map(|value| value.clamp(low, high));
        let middle = drawn_in.clone().sum::<f64>() / n as f64;
        let squares: f64 = drawn_in.map(|value| (value - middle) * (value - middle)).sum();
        let degrees = kept - 1.0;
        let squared_error = if degrees > 0.0 { squares / (kept * degrees) } else { 0.0 };
        Some(Centre { mean, squared_error, degrees, n })
    }

    fn estimate(&self, confidence: f64) -> Estimate {
        let half = student_quantile(0.5 + 0.5 * confidence, self.degrees) * root(self.squared_error);
        let ends = (self.n >= FEWEST_TO_TEST).then_some((self.mean - half, self.mean + half));
        Estimate { point: self.mean, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1), n: self.n }
    }
}

/// A sample of logs as one number: exp of its trimmed mean, with its t interval. `None` for no values.
pub fn geometric_centre(logs: &[f64], confidence: f64) -> Option<Estimate> {
    Some(Centre::of(logs)?.estimate(confidence).map(exp))
}

/// How many times ours is what theirs is, of logs: the quotient of both centres with its interval, and the two-sided
/// p that it is 1. Below [`FEWEST_TO_TEST`] values of each there is neither; `None` where one has none at all. `n` is
/// the size of the smaller sample.
pub fn independent_ratio(
    our_logs: &[f64],
    their_logs: &[f64],
    confidence: f64,
) -> Option<(Estimate, Option<f64>)> {
    let (ours, theirs) = (Centre::of(our_logs)?, Centre::of(their_logs)?);
    let squared_error = ours.squared_error + theirs.squared_error;
    let share = |one: &Centre| one.squared_error * one.squared_error / one.degrees;
    let n = ours.n.min(theirs.n);
    let mean = ours.mean - theirs.mean;
    // Without any spread there is no doubt.
    let degrees = if squared_error > 0.0 {
        squared_error * squared_error / (share(&ours) + share(&theirs))
    } else {
        f64::from(u16::MAX)
    };
    let ratio = Centre { mean, squared_error, degrees, n }.estimate(confidence).map(exp);
    let p = match root(squared_error) {
        _ if n < FEWEST_TO_TEST => None,
        error if error > 0.0 => Some(2.0 * student_tail(mean.abs() / error, degrees)),
        _ => Some(if mean == 0.0 { 1.0 } else { 0.0 }),
    };
    Some((ratio, p))
}

/// How two things compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// Significantly, and by more than δ.
    Better,
    Worse,
    /// Shown to be within ±δ.
    Same,
    Undecided,
}

/// What a ratio (ours over theirs, smaller is better) with its 1 − α interval and its p value, adjusted for whatever
/// else was compared, amounts to. "Different" needs both: p ≤ α, and a ratio beyond 1 + tie or below its reciprocal.
/// "Same" needs the whole interval to lie between those.
pub fn settled(ratio: &Estimate, adjusted_p: f64, alpha: f64, tie: f64) -> Comparison {
    let (least, most) = (1.0 / (1.0 + tie), 1.0 + tie);
    if adjusted_p <= alpha && ratio.point > most {
        Comparison::Worse
    } else if adjusted_p <= alpha && ratio.point < least {
        Comparison::Better
    } else if ratio.within(least, most) {
        Comparison::Same
    } else {
        Comparison::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, geometric_centre, independent_ratio, settled};
    use crate::statistics::Estimate;

    #[test]
    fn the_ratio_is_that_of_the_two_numbers_beside_it() {
        // Two modes on either side: the middle of all pairs of trials is another number than the quotient of the centres.
        let logs = |values: &[f64]| values.iter().map(|value| libm::log(*value)).collect::<Vec<_>>();
        let before = logs(&[310.0, 310.0, 310.0, 310.0, 290.0, 289.0, 288.0]);
        let after = logs(&[280.0, 280.0, 280.0, 280.0, 299.0, 300.0, 301.0]);
        let of = |logs: &[f64]| geometric_centre(logs, 0.95).unwrap();
        let (ratio, p) = independent_ratio(&after, &before, 0.95).unwrap();
        assert!((ratio.point - of(&after).point / of(&before).point).abs() < 1e-12);
        assert_eq!(ratio.low.unwrap() > 1.0 || ratio.high.unwrap() < 1.0, p.unwrap() < 0.05);
    }

    #[test]
    fn an_outlier_moves_little_and_few_values_say_nothing() {
        let (calm, mut shaken) = ([0.0, 0.01, -0.01, 0.02, 0.0, -0.02], [0.0, 0.01, -0.01, 0.02, 0.0, -0.02]);
        shaken[3] = 1.1;
        assert!(geometric_centre(&shaken, 0.95).unwrap().point < 1.01);
        assert!(independent_ratio(&calm, &shaken, 0.95).unwrap().1.unwrap() > 0.3);
        let (ratio, p) = independent_ratio(&[0.0, 0.0], &[1.0, 1.0, 1.0], 0.95).unwrap();
        assert_eq!((ratio.low, p, ratio.n), (None, None, 2));
        assert!(independent_ratio(&[], &[1.0], 0.95).is_none());
        // What never varies leaves no doubt.
        assert_eq!(independent_ratio(&[1.0; 4], &[1.0; 4], 0.95).unwrap().1, Some(1.0));
        assert_eq!(independent_ratio(&[1.0; 4], &[1.1; 4], 0.95).unwrap().1, Some(0.0));
    }

    #[test]
    fn different_needs_significance_and_size_and_same_needs_the_interval() {
        let ratio =
            |point: f64, low: f64, high: f64| Estimate { point, low: Some(low), high: Some(high), n: 8 };
        let answer = |ratio: Estimate, p: f64| settled(&ratio, p, 0.05, 0.03);
        assert_eq!(answer(ratio(1.10, 1.05, 1.15), 0.01), Comparison::Worse);
        assert_eq!(answer(ratio(0.90, 0.85, 0.95), 0.01), Comparison::Better);
        assert_eq!(answer(ratio(1.10, 1.05, 1.15), 0.06), Comparison::Undecided, "not after correction");
        assert_eq!(answer(ratio(1.02, 1.01, 1.03), 0.01), Comparison::Same, "it does not matter");
        assert_eq!(answer(ratio(1.02, 1.01, 1.05), 0.01), Comparison::Undecided);
        assert_eq!(answer(Estimate { point: 1.0, low: None, high: None, n: 2 }, 1.0), Comparison::Undecided);
    }
}
