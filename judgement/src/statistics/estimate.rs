//! Estimates: a point, an interval where one can be given, and how many values it stands on.

use libm::exp;
use serde::Serialize;

use super::distribution::coin_cut;
use super::sample::{median, sorted};
use super::walsh::walsh_interval;

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
        Estimate {
            point: change(self.point),
            low: self.low.map(&change),
            high: self.high.map(&change),
            n: self.n,
        }
    }

    /// Whether the interval lies wholly within `low` to `high`; false without an interval.
    pub fn within(&self, low: f64, high: f64) -> bool {
        matches!((self.low, self.high), (Some(bottom), Some(top)) if bottom >= low && top <= high)
    }
}

/// The median with its order-statistic interval: free of any assumption about the distribution, covering at
/// least `confidence` (Conover 1999, section 3.2). No interval below n = 6 at 95 %. `None` for no values.
pub fn median_estimate(values: &[f64], confidence: f64) -> Option<Estimate> {
    let point = median(values)?;
    let ordered = sorted(values);
    let (n, tail) = (ordered.len(), 0.5 * (1.0 - confidence));
    // The widest cut such that the median lies beyond it with probability at most `tail` on each side.
    let cut = coin_cut(n, tail);
    let (low, high) = match cut {
        Some(cut) => (ordered.get(cut).copied(), ordered.get(n - 1 - cut).copied()),
        None => (None, None),
    };
    Some(Estimate { point, low, high, n })
}

/// The ratio behind paired log ratios: exp of their Hodges-Lehmann estimate (the median of all Walsh averages)
/// with the interval that belongs to the signed-rank test (Hodges & Lehmann 1963; Tukey 1949). `None` for no
/// values; no interval below n = 6 at 95 %.
pub fn ratio_estimate(log_ratios: &[f64], confidence: f64) -> Option<Estimate> {
    shift_estimate(log_ratios, confidence).map(|shift| shift.map(exp))
}

/// As [`ratio_estimate`], without leaving logs: the centre of paired differences.
pub fn shift_estimate(differences: &[f64], confidence: f64) -> Option<Estimate> {
    walsh_interval(differences, 0.5 * (1.0 - confidence)).map(|(point, interval)| Estimate {
        point,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        n: differences.len(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{median_estimate, ratio_estimate, shift_estimate};

    #[test]
    fn no_interval_below_six() {
        let five = median_estimate(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((five.point, five.low, five.high), (3.0, None, None));
        let six = median_estimate(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!((six.low, six.high), (Some(1.0), Some(6.0)));
        assert_eq!(ratio_estimate(&[0.1; 5], 0.95).unwrap().low, None);
        assert!(ratio_estimate(&[0.1; 6], 0.95).unwrap().low.is_some());
    }

    proptest! {
        #[test]
        fn the_order_of_the_values_does_not_matter(mut values in proptest::collection::vec(-10.0..10.0, 1..40)) {
            let before = (median_estimate(&values, 0.95), shift_estimate(&values, 0.95));
            values.reverse();
            let half = values.len() / 2;
            values.rotate_left(half);
            prop_assert_eq!(before, (median_estimate(&values, 0.95), shift_estimate(&values, 0.95)));
        }

        #[test]
        fn shifting_the_data_shifts_the_estimate(values in proptest::collection::vec(-10.0..10.0, 6..40), by in -5.0..5.0f64) {
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            let (one, two) = (shift_estimate(&values, 0.95).unwrap(), shift_estimate(&moved, 0.95).unwrap());
            prop_assert!((one.point + by - two.point).abs() < 1e-9);
            prop_assert!((one.low.unwrap() + by - two.low.unwrap()).abs() < 1e-9);
            prop_assert!((one.high.unwrap() + by - two.high.unwrap()).abs() < 1e-9);
        }

        #[test]
        fn turning_the_ratio_over_turns_its_interval_over(values in proptest::collection::vec(-1.0..1.0, 6..40)) {
            let flipped: Vec<f64> = values.iter().map(|value| -value).collect();
            let (one, two) = (ratio_estimate(&values, 0.95).unwrap(), ratio_estimate(&flipped, 0.95).unwrap());
            prop_assert!((one.point * two.point - 1.0).abs() < 1e-9);
            prop_assert!((one.low.unwrap() * two.high.unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
