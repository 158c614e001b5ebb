//! Comparing two candidates after a few blocks, with the scale of the noise learned from all of them.
//!
//! After three blocks a pair's own differences say next to nothing about how noisy they are. Every other pair
//! went through the same blocks, so their spread is evidence too. The pair's own variance is drawn towards the
//! common one, not replaced by it, because candidates may differ in how noisy they are (a moderated t after
//! Smyth 2004, the weight of the common value being fixed). Trimming and winsorising after Tukey & McLaughlin
//! 1963 and Yuen 1974 keep single outliers from making, or from blocking, a decision.

use super::distribution::{chi_squared_median_ratio, root, student_tail};
use super::sample::{mean, median, sorted};

/// The largest weight, in degrees of freedom, of the common scale beside a pair's own. The larger, the sooner
/// decisions come, and the more they rely on candidates being equally noisy; this much is still safe where their
/// standard deviations differ by a factor of four (docs/methodology.md).
const COMMON_WEIGHT: f64 = 8.0;

/// The variance of one paired difference, learned from all pairs of candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonScale {
    /// Variance of a single paired difference of logs.
    pub variance: f64,
    /// How much it counts beside a pair's own variance, in degrees of freedom.
    pub degrees: f64,
}

/// What paired differences say: how large, how sure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The trimmed mean of the differences.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub degrees: f64,
}

impl Evidence {
    /// Probability, were there no difference, of one at least this large in either direction.
    pub fn p_different(&self) -> f64 {
        2.0 * self.tail(self.difference.abs())
    }

    /// The larger of the two one-sided p values against "the difference lies beyond ±`bound`"
    /// (Schuirmann 1987: TOST). Small means: equivalent within ±`bound`.
    pub fn p_not_equivalent(&self, bound: f64) -> f64 {
        self.tail(bound - self.difference.abs())
    }

    /// P(T > distance / error). Without any spread, certainty: 0 beyond zero, else one half.
    fn tail(&self, distance: f64) -> f64 {
        if self.error > 0.0 {
            student_tail(distance / self.error, self.degrees)
        } else if distance > 0.0 {
            0.0
        } else {
            0.5
        }
    }
}

/// How many of `n` values are set aside at each end: about an eighth, none below six.
pub fn trimmed_ends(n: usize) -> usize {
    if n < 6 { 0 } else { (n / 8).max(1) }
}

/// What is left of a sample when its ends are set aside.
#[derive(Debug, Clone, Copy)]
struct Trimmed {
    mean: f64,
    /// Sum of squares about their mean after the ends were pulled in to the nearest value kept.
    squares: f64,
    kept: f64,
    n: f64,
}

impl Trimmed {
    fn of(values: &[f64]) -> Option<Trimmed> {
        if values.len() < 2 {
            return None;
        }
        let ordered = sorted(values);
        let cut = trimmed_ends(ordered.len());
        let kept = &ordered[cut..ordered.len() - cut];
        let (first, last) = (*kept.first()?, *kept.last()?);
        let pulled: Vec<f64> = ordered.iter().map(|value| value.clamp(first, last)).collect();
        let centre = mean(&pulled)?;
        Some(Trimmed {
            mean: mean(kept)?,
            squares: pulled.iter().map(|value| (value - centre) * (value - centre)).sum(),
            kept: kept.len() as f64,
            n: values.len() as f64,
        })
    }

    fn degrees(&self) -> f64 {
        self.kept - 1.0
    }

    /// Squared standard error of the trimmed mean (Yuen).
    fn squared_error(&self) -> f64 {
        self.squares / (self.kept * self.degrees())
    }
}

/// Judges paired differences, with the common scale where there is one. `None` below two differences.
pub fn evidence(differences: &[f64], common: Option<CommonScale>) -> Option<Evidence> {
    let own = Trimmed::of(differences)?;
    let (mut squared, mut degrees) = (own.squared_error(), own.degrees());
    if let Some(common) = common {
        squared = (common.degrees * common.variance / own.n + degrees * squared) / (common.degrees + degrees);
        degrees += common.degrees;
    }
    Some(Evidence { difference: own.mean, error: root(squared), degrees })
}

/// The common scale of several samples of paired differences: the median of their variances, which neither one
/// noisy candidate nor one outlier can move far. `weight` says how many degrees of freedom it deserves; it never
/// gets more than eight. `None` without a sample of two values.
pub fn common_scale(samples: &[Vec<f64>], weight: f64) -> Option<CommonScale> {
    let mut variances = Vec::new();
    for part in samples.iter().filter_map(|sample| Trimmed::of(sample)) {
        variances.push(part.squared_error() * part.n / chi_squared_median_ratio(part.degrees()));
    }
    let variance = median(&variances)?;
    Some(CommonScale { variance, degrees: COMMON_WEIGHT.min(weight) })
}

/// Residual variance of a table of logs after the effects of block and candidate are removed (two-way analysis
/// of variance), with its degrees of freedom. `values[b][c]`; `None` unless a full table of at least 2 × 2.
pub fn residual_variance(values: &[Vec<f64>]) -> Option<(f64, f64)> {
    let candidates = values.first()?.len();
    if values.len() < 2 || candidates < 2 || values.iter().any(|block| block.len() != candidates) {
        return None;
    }
    let (n, k) = (values.len() as f64, candidates as f64);
    let rows: Vec<f64> = values.iter().map(|block| block.iter().sum::<f64>() / k).collect();
    let columns: Vec<f64> =
        (0..candidates).map(|c| values.iter().map(|block| block[c]).sum::<f64>() / n).collect();
    let grand = rows.iter().sum::<f64>() / n;
    let mut squares = 0.0;
    for (block, row) in values.iter().zip(&rows) {
        for (value, column) in block.iter().zip(&columns) {
            let residual = value - row - column + grand;
            squares += residual * residual;
        }
    }
    let degrees = (n - 1.0) * (k - 1.0);
    Some((squares / degrees, degrees))
}

#[cfg(test)]
mod tests {
    use super::{CommonScale, common_scale, evidence, residual_variance};

    #[test]
    fn an_outlier_cannot_make_a_difference_significant() {
        let calm = CommonScale { variance: 1e-4, degrees: 5.0 };
        let found = evidence(&[0.001, -0.002, 1.1], Some(calm)).unwrap();
        assert!(found.p_different() > 0.05, "p = {}", found.p_different());
    }

    #[test]
    fn an_outlier_cannot_hide_a_difference_from_six_blocks_on() {
        let found = evidence(&[0.10, 0.11, 0.09, 0.10, 0.12, 0.11, 0.10, -1.0], None).unwrap();
        assert!(found.p_different() < 0.001, "p = {}", found.p_different());
    }

    #[test]
    fn the_common_scale_is_not_moved_by_one_noisy_sample() {
        let mut samples = vec![vec![0.0, 0.02, -0.02]; 6];
        let before = common_scale(&samples, 4.0).unwrap();
        samples.push(vec![0.0, 5.0, -5.0]);
        assert_eq!(common_scale(&samples, 4.0).unwrap(), before);
    }

    #[test]
    fn block_and_candidate_effects_leave_no_residual() {
        let table: Vec<Vec<f64>> =
            (0..4).map(|b| vec![f64::from(b), f64::from(b) + 3.0, f64::from(b) - 1.0]).collect();
        let (variance, degrees) = residual_variance(&table).unwrap();
        assert!(variance < 1e-28);
        assert_eq!(degrees, 6.0);
        assert!(residual_variance(&[vec![1.0, 2.0]]).is_none());
    }

    #[test]
    fn no_spread_is_certainty() {
        let same = evidence(&[0.0, 0.0, 0.0], None).unwrap();
        assert_eq!(same.p_different(), 1.0);
        assert_eq!(same.p_not_equivalent(0.03), 0.0);
    }
}
