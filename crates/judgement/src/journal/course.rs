//! A time series of a phase's throughput.

use serde::{Deserialize, Serialize};

use super::Unit;

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
