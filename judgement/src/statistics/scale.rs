//! How noisy a paired difference is, learned from more than one pair.

use super::outliers::{DEVIATION_BY_MEDIAN, Kept, centre_and_spread, chosen, reach, within};
use super::sample::{mean, median};

/// The largest weight, in degrees of freedom, of the steps of sums beside a pair's own differences. The larger, the
/// sooner decisions come, and the more they rely on candidates being equally noisy.
const STEPS_WEIGHT: f64 = 8.0;

/// No pair's variance adds more than this many typical ones to the mean: one wild candidate should not make all
/// others look noisy.
const MOST_EXCESS: f64 = 4.0;

/// The noise of one paired difference, learned from more than the pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonScale {
    /// Variance of a single paired difference of logs.
    pub variance: f64,
    /// How much it counts beside a pair's own variance, in degrees of freedom; at 0 it only tells what is far outside.
    pub degrees: f64,
    /// The standard deviation of a single difference, by medians: outliers hardly matter.
    pub typical: f64,
    /// How many independent deviations that stands on.
    pub seen: f64,
}

impl CommonScale {
    /// How far from their middle differences of this scale lie at most; what lies further is an outlier.
    pub(super) fn reach(&self) -> f64 {
        reach(self.seen) * self.typical
    }
}

/// The common scale of the paired differences of so many candidates, outliers set aside. It has no weight of its own:
/// who judges many together gives it one. `None` without a sample of two values.
pub(super) fn common_scale(samples: &[Vec<f64>], candidates: usize) -> Option<CommonScale> {
    let blocks = samples.iter().map(Vec::len).max()?.saturating_sub(1) as f64;
    let spreads: Vec<f64> =
        samples.iter().filter_map(|sample| centre_and_spread(sample)).map(|(_, spread)| spread).collect();
    let typical = median(&spreads)?;
    let seen = candidates.saturating_sub(1) as f64 * blocks;
    let most = if typical > 0.0 { MOST_EXCESS * typical * typical } else { f64::INFINITY };
    let variances: Vec<f64> = samples
        .iter()
        .filter_map(|sample| {
            let counts = within(sample, median(sample)?, reach(seen) * typical);
            Kept::of(chosen(sample, &counts.unwrap_or_else(|| vec![true; sample.len()])))
        })
        .map(|kept| (kept.squares / kept.degrees()).min(most))
        .collect();
    Some(CommonScale { variance: mean(&variances)?, degrees: 0.0, typical, seen })
}

/// The scale of a series by its steps (von Neumann 1941): slow drift, which shifts all of the series, hardly adds
/// to it. `None` below two values.
pub(super) fn scale_of_steps(series: &[f64]) -> Option<CommonScale> {
    let steps: Vec<f64> =
        series.windows(2).map(|two| (two[1] - two[0]).abs() * std::f64::consts::FRAC_1_SQRT_2).collect();
    let count = steps.len() as f64;
    let typical = DEVIATION_BY_MEDIAN * median(&steps)?;
    let far = if typical > 0.0 { reach(count) * typical } else { f64::INFINITY };
    let squares: Vec<f64> = steps.iter().filter(|step| **step <= far).map(|step| step * step).collect();
    // Steps that share a value are not independent.
    let degrees = 2.0 * count * count / (3.0 * count - 1.0);
    Some(CommonScale {
        variance: mean(&squares)?,
        degrees: STEPS_WEIGHT.min(degrees),
        typical,
        seen: 2.0 * count,
    })
}

/// The common scale of a full table of log scores, `values[block][candidate]`. But for outliers, its variance is twice the
/// residual variance of the two-way analysis of variance. `None` unless a full table of at least 2 × 2.
pub fn table_scale(values: &[Vec<f64>]) -> Option<CommonScale> {
    let candidates = values.first()?.len();
    if values.len() < 2 || candidates < 2 || values.iter().any(|block| block.len() != candidates) {
        return None;
    }
    let columns: Vec<Vec<f64>> =
        (0..candidates).map(|candidate| values.iter().map(|block| block[candidate]).collect()).collect();
    common_scale(&differences_of_pairs(&columns).collect::<Vec<_>>(), candidates)
}

/// The paired differences of every two candidates, whose log scores these are; of one that has fewer, as far as they go.
pub(super) fn differences_of_pairs(scores: &[Vec<f64>]) -> impl Iterator<Item = Vec<f64>> {
    let pairs = (0..scores.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    pairs.map(|(one, other)| differences(&scores[one], &scores[other]))
}

/// One candidate's log scores less another's, block by block.
pub(super) fn differences(scores: &[f64], others: &[f64]) -> Vec<f64> {
    scores.iter().zip(others).map(|(one, other)| one - other).collect()
}

#[cfg(test)]
mod tests {
    use super::{common_scale, scale_of_steps, table_scale};

    #[test]
    fn one_wild_sample_hardly_moves_the_common_scale() {
        let mut samples = vec![vec![0.0, 0.02, -0.02]; 6];
        let before = common_scale(&samples, 4).unwrap();
        samples.push(vec![0.0, 5.0, -5.0]);
        let after = common_scale(&samples, 4).unwrap();
        assert_eq!(before.typical, after.typical);
        assert!(after.variance < 4.0 * before.variance, "{} {}", before.variance, after.variance);
    }

    #[test]
    fn drift_hardly_adds_to_the_steps() {
        let wiggle = [0.01, -0.01, 0.012, -0.008, 0.011, -0.012, 0.009, -0.01];
        let flat = scale_of_steps(&wiggle).unwrap();
        let rising: Vec<f64> =
            wiggle.iter().zip(0..).map(|(value, at)| value + 0.004 * f64::from(at)).collect();
        let steep = scale_of_steps(&rising).unwrap();
        assert!(steep.variance < 1.1 * flat.variance, "{} {}", steep.variance, flat.variance);
    }

    #[test]
    fn block_and_candidate_effects_are_no_noise() {
        let table: Vec<Vec<f64>> =
            (0..4).map(|b| vec![f64::from(b), f64::from(b) + 3.0, f64::from(b) - 1.0]).collect();
        let scale = table_scale(&table).unwrap();
        assert!(scale.variance < 1e-28);
        assert_eq!(scale.seen, 6.0);
        assert!(table_scale(&[vec![1.0, 2.0]]).is_none());
    }
}
