//! Estimates: a point, an interval if there are enough values for one, and the number of values.

use serde::Serialize;

/// The confidence level of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// The confidence level of intervals that are shown when a run has ended by the stopping rule. In the worst case of
/// independent noise, intervals of [`CONFIDENCE`] cover the true value in 83 % of runs, those of 98 % in 89 %, and
/// these in 93 % (examples/operating_characteristics; docs/results/error-rates.md lists worse cases).
pub const CONFIDENCE_AFTER_STOPPING_RULE: f64 = 0.99;

/// The result type of all statistics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The point estimate.
    pub point: f64,
    /// The lower end of the interval; `None` if there are too few values for an interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// The number of values behind the estimate.
    pub n: usize,
}

impl Estimate {
    /// The same estimate on another scale; `change` must be increasing.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Estimate {
        let ends = (self.low.map(&change), self.high.map(&change));
        Estimate { point: change(self.point), low: ends.0, high: ends.1, n: self.n }
    }

    /// The reciprocal of a ratio.
    pub fn invert(self) -> Estimate {
        let (low, high) = (self.high.map(f64::recip), self.low.map(f64::recip));
        Estimate { point: self.point.recip(), low, high, n: self.n }
    }

    /// The ends of the interval, where it has one.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// A point estimate without an interval.
    pub fn without_interval(point: f64, n: usize) -> Estimate {
        Estimate { point, low: None, high: None, n }
    }

    /// Whether the interval lies wholly within `low` to `high`; false without an interval.
    pub fn within(&self, low: f64, high: f64) -> bool {
        matches!((self.low, self.high), (Some(bottom), Some(top)) if bottom >= low && top <= high)
    }
}
