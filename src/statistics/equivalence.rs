//! Better, worse, practically the same, or not known: what an interval says about a practical threshold δ; and
//! how small a difference could have been seen at all.

use libm::{exp, log1p};

use super::distribution::{normal_quantile, root, student_quantile, student_tail};
use super::estimate::{Estimate, ratio_estimate};
use super::rank::signed_rank;
use super::sample::mean;

/// How two things compare. Smaller is better, as for times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Significantly smaller, and by more than δ.
    Better,
    /// Significantly larger, and by more than δ.
    Worse,
    /// Shown to be within ±δ.
    Same,
    /// Neither was shown.
    Unknown,
}

/// The result of comparing paired log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedComparison {
    /// The ratio with its 1 − α interval.
    pub ratio: Estimate,
    /// Two-sided p of the signed-rank test that the ratio is 1.
    pub p: f64,
    /// What it amounts to.
    pub comparison: Comparison,
}

/// Compares two things by their paired log ratios (ours over theirs; of equal blocks) at level `alpha` with
/// the practical threshold `tie` (a fraction). "Different" needs both: significance, and a ratio beyond 1 + tie
/// or below its reciprocal. "Same" needs the 1 − 2α interval of the ratio to lie between those (two one-sided
/// signed-rank tests). To correct for several comparisons, give the corrected α. `None` without data.
pub fn compare_paired(log_ratios: &[f64], alpha: f64, tie: f64) -> Option<PairedComparison> {
    let ratio = ratio_estimate(log_ratios, 1.0 - alpha)?;
    let p = signed_rank(log_ratios).p;
    let (least, most) = (1.0 / (1.0 + tie), 1.0 + tie);
    let comparison = if p <= alpha && ratio.point > most {
        Comparison::Worse
    } else if p <= alpha && ratio.point < least {
        Comparison::Better
    } else if ratio_estimate(log_ratios, 1.0 - 2.0 * alpha)?.within(least, most) {
        Comparison::Same
    } else {
        Comparison::Unknown
    };
    Some(PairedComparison { ratio, p, comparison })
}

/// Two one-sided paired t tests (Schuirmann 1987): the p value against "the mean log ratio lies beyond
/// ±ln(1 + tie)". Small means equivalent. `None` below two values.
pub fn equivalence_p(log_ratios: &[f64], tie: f64) -> Option<f64> {
    let centre = mean(log_ratios)?;
    let n = log_ratios.len() as f64;
    if n < 2.0 {
        return None;
    }
    let squares: f64 = log_ratios.iter().map(|value| (value - centre) * (value - centre)).sum();
    let error = root(squares / (n - 1.0) / n);
    let room = log1p(tie) - centre.abs();
    if error > 0.0 {
        Some(student_tail(room / error, n - 1.0))
    } else {
        Some(if room > 0.0 { 0.0 } else { 1.0 })
    }
}

/// The smallest relative difference (0.05: 5 %) that `blocks` blocks find with probability `power` in a
/// two-sided paired comparison at `alpha`, when a single paired log ratio varies with standard deviation
/// `deviation`: exp((t₁₋α/₂ + t_power) · s / √n) − 1. `None` below two blocks.
pub fn minimum_detectable_difference(deviation: f64, blocks: usize, alpha: f64, power: f64) -> Option<f64> {
    if blocks < 2 {
        return None;
    }
    let degrees = (blocks - 1) as f64;
    let reach = student_quantile(1.0 - 0.5 * alpha, degrees) + student_quantile(power, degrees);
    Some(exp(reach * deviation / root(blocks as f64)) - 1.0)
}

/// About how many blocks it takes to find a relative `difference` with probability `power` at `alpha`: the
/// smallest number whose [`minimum_detectable_difference`] is no larger. `None` beyond `most`.
pub fn blocks_needed(deviation: f64, difference: f64, alpha: f64, power: f64, most: usize) -> Option<usize> {
    // Never fewer than the normal distribution asks for: a start that spares most of the search.
    let reach = normal_quantile(1.0 - 0.5 * alpha) + normal_quantile(power);
    let share = reach * deviation / log1p(difference);
    let start = ((share * share) as usize).clamp(2, most.max(2));
    (start..=most).find(|n| {
        minimum_detectable_difference(deviation, *n, alpha, power).is_some_and(|least| least <= difference)
    })
}

#[cfg(test)]
mod tests {
    use super::{Comparison, blocks_needed, compare_paired, equivalence_p, minimum_detectable_difference};

    #[test]
    fn the_four_answers() {
        let around = |centre: f64, width: f64| -> Vec<f64> {
            (0..12).map(|i| centre + width * (f64::from(i) - 5.5) / 5.5).collect()
        };
        let answer = |values: &[f64]| compare_paired(values, 0.05, 0.03).unwrap().comparison;
        assert_eq!(answer(&around(0.10, 0.02)), Comparison::Worse);
        assert_eq!(answer(&around(-0.10, 0.02)), Comparison::Better);
        assert_eq!(answer(&around(0.00, 0.02)), Comparison::Same);
        assert_eq!(answer(&around(0.02, 0.002)), Comparison::Same, "significant, but it does not matter");
        assert_eq!(answer(&around(0.02, 0.20)), Comparison::Unknown);
        assert_eq!(answer(&[0.5, 0.5, 0.5]), Comparison::Unknown, "three blocks show nothing by ranks");
        assert!(compare_paired(&[], 0.05, 0.03).is_none());
    }

    #[test]
    fn more_blocks_see_smaller_differences() {
        let at = |n| minimum_detectable_difference(0.05, n, 0.05, 0.8).unwrap();
        assert!(at(3) > at(5) && at(5) > at(30));
        let needed = blocks_needed(0.05, 0.05, 0.05, 0.8, 1000).unwrap();
        assert!(at(needed) <= 0.05 && at(needed - 1) > 0.05);
        assert_eq!(blocks_needed(0.05, 0.001, 0.05, 0.8, 100), None);
    }

    #[test]
    fn equivalence_without_spread() {
        assert_eq!(equivalence_p(&[0.01, 0.01], 0.03), Some(0.0));
        assert_eq!(equivalence_p(&[0.05, 0.05], 0.03), Some(1.0));
        assert_eq!(equivalence_p(&[0.05], 0.03), None);
    }
}
