//! Comparing two candidates after a few blocks, with the scale of the noise learned from all of them.
//!
//! After three blocks a pair's own differences say next to nothing about how noisy they are. What else went through the
//! same blocks is evidence too, drawn on as far as it varies as the pair does: candidates may differ in how noisy
//! they are. Where several candidates are judged together, the scale of all pairs counts beside their own (a moderated
//! t after Smyth 2004, the weight of the common value being fixed). Differences far outside are set aside
//! (Hampel 1985), so that a single outlier neither makes nor blocks a decision.

use super::distribution::{root, student_tail};
use super::outliers::{Kept, chosen, reach, within_reach};
use super::scale::CommonScale;

/// The weight, in degrees of freedom, with which the common scale counts against a variance that is smaller.
const LIFT: f64 = 2.0;

/// What paired differences say: how large, how sure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The trimmed mean of the differences.
    pub difference: f64,
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

#[cfg(test)]
mod tests {
    use super::evidence;
    use crate::statistics::CommonScale;

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
    fn values_that_mostly_agree_are_all_kept() {
        let found = evidence(&[0.1, 0.1, 0.1, 0.1, 0.2], &[], None).unwrap();
        assert!((found.difference - 0.12).abs() < 1e-12 && found.error > 0.0);
    }

    #[test]
    fn no_spread_is_certainty() {
        let same = evidence(&[0.0, 0.0, 0.0], &[], None).unwrap();
        assert_eq!(same.p_different(), 1.0);
        assert_eq!(same.p_not_equivalent(0.03), 0.0);
    }
}
