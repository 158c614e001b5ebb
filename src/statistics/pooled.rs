//! Comparing two candidates after a few blocks, with the scale of the noise learned from all of them.
//!
//! After three blocks a pair's own differences say next to nothing about how noisy they are. What else went through the
//! same blocks is evidence too, drawn on as far as it varies as the pair does: candidates may differ in how noisy
//! they are. Where several candidates are judged together, the scale of all pairs counts beside their own (a moderated
//! t after Smyth 2004, the weight of the common value being fixed). Differences far outside are set aside
//! (Hampel 1985), so that a single outlier neither makes nor blocks a decision.

use super::distribution::{root, student_tail};
use super::sample::{mean, median};

/// The largest weight, in degrees of freedom, of the steps of sums beside a pair's own differences. The larger, the
/// sooner decisions come, and the more they rely on candidates being equally noisy.
const STEPS_WEIGHT: f64 = 8.0;

/// The weight, in degrees of freedom, with which the common scale counts against a variance that is smaller.
const LIFT: f64 = 2.0;

/// How far from the median, in typical deviations, a difference may lie and still count, however many there are.
const REACH: f64 = 4.0;

/// What is added to it, divided by how many deviations the typical one stands on: from few it is poorly known.
const REACH_OF_FEW: f64 = 24.0;

/// No pair's variance adds more than this many typical ones to the mean: one wild candidate should not make all
/// others look noisy.
const MOST_EXCESS: f64 = 4.0;

/// The standard deviation of a normal sample over its median absolute deviation.
const DEVIATION_BY_MEDIAN: f64 = 1.482_602_218_505_602;

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

/// What is left of a sample when values far outside are set aside.
#[derive(Debug, Clone, Copy)]
struct Kept {
    mean: f64,
    /// Sum of squares about their mean.
    squares: f64,
    count: f64,
}

impl Kept {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Kept> {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares = values.map(|value| (value - mean) * (value - mean)).sum();
        (count >= 2.0).then_some(Kept { mean, squares, count })
    }

    fn degrees(&self) -> f64 {
        self.count - 1.0
    }
}

/// Which values of a sample count: those no further from the median than `reach` times the sample's own spread by
/// medians, or `typical` if that is larger. `None` as for [`within`].
fn within_reach(values: &[f64], typical: f64, reach: f64) -> Option<Vec<bool>> {
    let (centre, spread) = centre_and_spread(values)?;
    within(values, centre, reach * spread.max(typical))
}

/// Which values lie no further than `far` from `centre`; all, where `far` is 0: values that mostly agree to the last
/// digit. `None` if a third or more lie further out: then nobody can tell which are the outliers.
fn within(values: &[f64], centre: f64, far: f64) -> Option<Vec<bool>> {
    let near: Vec<bool> = values.iter().map(|value| far <= 0.0 || (value - centre).abs() <= far).collect();
    let outside = near.iter().filter(|near| !**near).count();
    (outside <= most_outside(values.len())).then_some(near)
}

fn chosen(values: &[f64], counts: &[bool]) -> impl Iterator<Item = f64> + Clone {
    values.iter().zip(counts).filter(|(_, counts)| **counts).map(|(value, _)| *value)
}

/// The most values of `n` that may be set aside: none of three (where two outliers would vote out the good one), one
/// of four to six.
fn most_outside(n: usize) -> usize {
    if n < 4 { 0 } else { (n - 1) / 3 }
}

/// How far out a value may lie, in typical deviations that stand on so many.
fn reach(seen: f64) -> f64 {
    REACH + REACH_OF_FEW / seen
}

/// The median, and the standard deviation as the median absolute deviation tells it (corrected for small samples
/// after Croux & Rousseeuw 1992).
pub(super) fn centre_and_spread(values: &[f64]) -> Option<(f64, f64)> {
    let centre = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let n = values.len();
    let correction = match n {
        ..=2 => 1.196,
        3 => 1.495,
        4 => 1.363,
        5 => 1.206,
        6 => 1.200,
        7 => 1.140,
        8 => 1.129,
        9 => 1.107,
        _ => n as f64 / (n as f64 - 0.8),
    };
    Some((centre, correction * DEVIATION_BY_MEDIAN * median(&away)?))
}

/// Judges paired differences, one per block. `beside` are other values of the first of these blocks that vary as much
/// (empty if there are none), `common` is the scale of all pairs. A block whose difference is far outside is set aside with
/// all it holds. `None` below two differences.
pub fn evidence(differences: &[f64], beside: &[f64], common: Option<CommonScale>) -> Option<Evidence> {
    let n = differences.len();
    let (typical, reach) = match common {
        Some(common) => (common.typical, reach(common.seen)),
        None => (0.0, reach(n as f64 - 1.0)),
    };
    let all = || vec![true; differences.len()];
    let counts = within_reach(differences, typical, reach).unwrap_or_else(all);
    let own = Kept::of(chosen(differences, &counts))?;
    let (mut squares, mut degrees) = (own.squares, own.degrees());
    let beside: Vec<f64> = chosen(beside, &counts).collect();
    // Where they make no sense, they are not asked: the differences speak for themselves.
    let calm = within_reach(&beside, typical, reach);
    if let Some(beside) = calm.and_then(|calm| Kept::of(chosen(&beside, &calm))) {
        squares += beside.squares;
        degrees += beside.degrees();
    }
    let mut lift = 0.0;
    if let Some(common) = common {
        squares += common.degrees * common.variance;
        degrees += common.degrees;
        // What looks calmer than the others is so by chance, in part. It is not made surer for it.
        let lifted = (squares + LIFT * common.variance) / (degrees + LIFT);
        lift = (lifted - squares / degrees).max(0.0);
    }
    Some(Evidence { difference: own.mean, error: root((squares / degrees + lift) / own.count), degrees })
}

/// The common scale of the paired differences of so many candidates, outliers set aside. It has no weight of its own:
/// who judges many together gives it one. `None` without a sample of two values.
pub fn common_scale(samples: &[Vec<f64>], candidates: usize) -> Option<CommonScale> {
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
pub fn scale_of_steps(series: &[f64]) -> Option<CommonScale> {
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
    let pairs: Vec<Vec<f64>> = (0..candidates)
        .flat_map(|one| (0..one).map(move |other| (one, other)))
        .map(|(one, other)| values.iter().map(|block| block[one] - block[other]).collect())
        .collect();
    common_scale(&pairs, candidates)
}

#[cfg(test)]
mod tests {
    use super::{CommonScale, common_scale, evidence, scale_of_steps, table_scale};

    #[test]
    fn an_outlier_cannot_make_a_difference_significant() {
        let calm = CommonScale { variance: 1e-4, degrees: 5.0, typical: 0.01, seen: 6.0 };
        let found = evidence(&[0.001, -0.002, 1.1], &[], Some(calm)).unwrap();
        assert!(found.p_different() > 0.05, "p = {}", found.p_different());
    }

    #[test]
    fn two_outliers_of_three_do_not_outvote_the_good_one() {
        let calm = CommonScale { variance: 1e-4, degrees: 2.0, typical: 0.01, seen: 30.0 };
        let found = evidence(&[1.1, 0.001, 1.101], &[], Some(calm)).unwrap();
        assert!(found.p_different() > 0.01, "p = {}", found.p_different());
    }

    #[test]
    fn an_outlier_cannot_hide_a_difference() {
        let found = evidence(&[0.10, 0.11, 0.09, 0.10, 0.12, 0.11, 0.10, -1.0], &[], None).unwrap();
        assert!(found.p_different() < 0.001, "p = {}", found.p_different());
    }

    #[test]
    fn a_block_that_is_set_aside_counts_for_nothing() {
        let differences = [1.2, 0.1, 0.09, -1.0, -0.98, 0.11, 0.1, 0.12, 0.08, 0.1, 0.11, 0.09];
        // What made those blocks odd shows in the sums, too; here, where there are few of them, in too many to tell.
        let beside = [-1.1, 0.01, -0.02, 1.1, 1.09, 0.0, 0.01];
        let found = evidence(&differences, &beside, None).unwrap();
        assert!(found.p_different() < 1e-6 && found.degrees == 8.0 + 3.0, "{found:?}");
    }

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
    fn a_scale_counts_as_much_as_its_degrees_of_freedom() {
        let error = |degrees| {
            let scale = CommonScale { variance: 1e-6, degrees, typical: 0.1, seen: 9.0 };
            evidence(&[0.10, 0.30, 0.20, 0.25], &[], Some(scale)).unwrap().error
        };
        let own = evidence(&[0.10, 0.30, 0.20, 0.25], &[], None).unwrap().error;
        assert!((error(0.0) - own).abs() < 1e-12 && error(8.0) < 0.6 * own, "{} {own}", error(8.0));
    }

    #[test]
    fn who_looks_calmer_than_the_others_is_not_taken_at_its_word() {
        let noisy = CommonScale { variance: 1e-2, degrees: 0.0, typical: 0.1, seen: 9.0 };
        let calm = [0.200, 0.201, 0.199];
        let (alone, beside) =
            (evidence(&calm, &[], None).unwrap(), evidence(&calm, &[], Some(noisy)).unwrap());
        assert!(beside.error > 50.0 * alone.error, "{beside:?} {alone:?}");
        assert_eq!(beside.degrees, alone.degrees);
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
    fn values_that_mostly_agree_are_all_kept() {
        let found = evidence(&[0.1, 0.1, 0.1, 0.1, 0.2], &[], None).unwrap();
        assert!((found.difference - 0.12).abs() < 1e-12 && found.error > 0.0);
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

    #[test]
    fn no_spread_is_certainty() {
        let same = evidence(&[0.0, 0.0, 0.0], &[], None).unwrap();
        assert_eq!(same.p_different(), 1.0);
        assert_eq!(same.p_not_equivalent(0.03), 0.0);
    }
}
