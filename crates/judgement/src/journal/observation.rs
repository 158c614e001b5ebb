//! The measurements of a phase in a trial, and the time series of its throughput.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Better, CountedComputation, Unit, better_of};
use crate::plan::stored_table;

stored_table! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct Observation {
        /// Name of the phase (`mkfs`, `mount`, `umount` included).
        phase: String,
        measurements: Vec<Measurement>,
        histograms!: Vec<Histogram>,
        /// `cold`, `warm`, or `fresh` (first phase after mkfs).
        cache: String,
        /// How many times the phase ran before in the same trial.
        repetition!: u32,
        /// Unwritten data: (milliseconds since the phase began, bytes of Dirty + Writeback).
        unwritten!: Vec<(u64, u64)>,
        /// Progress over time, if it was counted.
        course?: WorkCourse,
        /// The computation that the kernel counted and charged, if it has a price.
        computation?: CountedComputation,
    }
}

impl Observation {
    /// The value of a metric, if it was measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.find_measurement(metric).map(Measurement::resolved_value)
    }

    pub fn find_measurement(&self, metric: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| measurement.metric == metric)
    }

    /// Merges a further observation of the same phase: of the same time (the report of a modelled device comes after
    /// the trial), or of a repetition, where each measurement becomes the mean. `began` keeps the first start time.
    pub(super) fn add(&mut self, other: Observation) {
        self.repetition = self.repetition.max(other.repetition);
        let times = f64::from(other.repetition) + 1.0;
        for measurement in other.measurements {
            match self.measurements.iter_mut().find(|known| known.metric == measurement.metric) {
                Some(known) if known.metric != "began" => {
                    known.value += (measurement.value - known.value) / times;
                }
                Some(_) => {}
                None => self.measurements.push(measurement),
            }
        }
        self.histograms.extend(other.histograms);
        if self.unwritten.is_empty() {
            self.unwritten = other.unwritten;
        }
        self.course = self.course.take().or(other.course);
        self.computation = self.computation.take().or(other.computation);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the metric: a built-in one (see [`METRICS`](super::METRICS)), which is never copied, or an adapter's
    /// own.
    #[serde(deserialize_with = "super::metric::name")]
    pub metric: Cow<'static, str>,
    pub unit: Unit,
    pub value: f64,
    /// Which direction is better, for the plan's own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// The resolution of time, in seconds: a smaller difference between two times is a rounding error.
pub const FINEST_TIME: f64 = 1e-9;

impl Measurement {
    /// The value, and 0 for a time below the resolution of any clock.
    pub(crate) fn resolved_value(&self) -> f64 {
        match self.unit {
            Unit::Seconds if self.value.abs() < FINEST_TIME => 0.0,
            _ => self.value,
        }
    }

    /// Which direction of its metric is better.
    pub fn direction(&self) -> Better {
        better_of(&self.metric, self.unit, self.better)
    }

    /// Creates a measurement of a metric that has a known direction by its name.
    pub fn new(metric: impl Into<Cow<'static, str>>, unit: Unit, value: f64) -> Self {
        Self { metric: metric.into(), unit, value, better: None }
    }
}

/// A latency histogram, as the non-empty buckets of an HDR histogram with two significant digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The timed call: `create`, `open`, `unlink` …
    pub call: String,
    /// (highest value of the bucket in nanoseconds, count).
    pub buckets: Vec<(u64, u64)>,
}

/// The maximum number of rates that a journal keeps: enough for a chart.
const KEPT: usize = 96;

/// The minimum duration in seconds for a meaningful slowest second.
const SECONDS: f64 = 3.0;

/// Consecutive rates that an operation or a program counted itself; they are not the device's I/O rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkCourse {
    /// [`Unit::BytesPerSecond`] or [`Unit::PerSecond`].
    pub unit: Unit,
    /// The seconds over which each rate is averaged.
    pub every: f64,
    pub rates: Vec<f64>,
}

impl WorkCourse {
    /// The lowest throughput of any second: if a second has several rates, the lowest mean of the rates in a window of
    /// one second; otherwise the lowest rate. `None` for less than three seconds.
    pub fn slowest_second(&self) -> Option<f64> {
        let window = (1.0 / self.every).round().max(1.0);
        if !(self.every > 0.0 && window.is_finite()) || self.every * (self.rates.len() as f64) < SECONDS {
            return None;
        }
        let windows = self.rates.windows(window as usize);
        windows.map(|rates| rates.iter().sum::<f64>() / window).min_by(f64::total_cmp)
    }

    /// The same series with at most as many rates as a chart shows, each the mean of equally many.
    #[must_use]
    pub fn thin_out(self) -> Self {
        let together = self.rates.len().div_ceil(KEPT).max(1);
        let rates = self.rates.chunks(together);
        let rates = rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64).collect();
        Self { unit: self.unit, every: self.every * together as f64, rates }
    }
}

#[cfg(test)]
mod tests {
    use super::WorkCourse;
    use crate::journal::Unit;

    fn course(every: f64, rates: Vec<f64>) -> WorkCourse {
        WorkCourse { unit: Unit::PerSecond, every, rates }
    }

    #[test]
    fn the_slowest_second_is_found_wherever_it_begins() {
        let mut rates = vec![10.0; 40];
        rates[15..25].fill(0.0);
        assert_eq!(course(0.1, rates.clone()).slowest_second(), Some(0.0));
        rates[15..20].fill(10.0);
        assert_eq!(course(0.1, rates).slowest_second(), Some(5.0));
        assert_eq!(course(1.0, vec![7.0, 3.0, 9.0]).slowest_second(), Some(3.0));
        assert_eq!(course(2.0, vec![7.0, 3.0]).slowest_second(), Some(3.0));
        assert_eq!(course(1.0, vec![7.0, 3.0]).slowest_second(), None, "too short");
        assert_eq!(course(0.0, vec![7.0; 9]).slowest_second(), None);
        assert_eq!(course(f64::NAN, vec![7.0; 9]).slowest_second(), None);
    }

    #[test]
    fn thinned_it_has_the_same_mean() {
        let whole = course(0.1, (0..960).map(f64::from).collect());
        let thin = whole.clone().thin_out();
        assert_eq!((thin.rates.len(), thin.every), (96, 1.0));
        let mean = |course: &WorkCourse| course.rates.iter().sum::<f64>() / course.rates.len() as f64;
        assert!((mean(&whole) - mean(&thin)).abs() < 1e-9);
        assert_eq!(course(1.0, vec![1.0]).thin_out(), course(1.0, vec![1.0]));
    }
}
