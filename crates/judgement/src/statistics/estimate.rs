//! Estimates: a point, an interval where one can be given, and how many values it stands on.

use serde::Serialize;

/// What an interval promises.
pub const CONFIDENCE: f64 = 0.95;

/// Of what is shown when a run has ended by looking: in the worst row of independent noise intervals of [`CONFIDENCE`] hold the truth
/// in 83 % of runs, those of 98 % in 89 %, these in 93 % (examples/operating_characteristics; docs/results/error-rates.md has what is worse).
pub const AT_THE_STOP: f64 = 0.99;

/// The only numeric currency from statistics onward.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The best guess.
    pub point: f64,
    /// Lower end of the interval; `None` where so few values allow none.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// How many values it stands on.
    pub n: usize,
}

impl Estimate {
    /// The same estimate on another scale; `change` must be increasing.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Estimate {
        let ends = (self.low.map(&change), self.high.map(&change));
        Estimate { point: change(self.point), low: ends.0, high: ends.1, n: self.n }
    }

    /// A point that is known by itself alone.
    pub fn without_interval(point: f64, n: usize) -> Estimate {
        Estimate { point, low: None, high: None, n }
    }

    /// Whether the interval lies wholly within `low` to `high`; false without an interval.
    pub fn within(&self, low: f64, high: f64) -> bool {
        matches!((self.low, self.high), (Some(bottom), Some(top)) if bottom >= low && top <= high)
    }
}
