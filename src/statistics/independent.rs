//! Two independent samples: what one run measured against what another did.
//!
//! The blocks of two runs happened at different times, so that nothing pairs them. What is paired within a run is
//! judged in `pooled.rs`, with more power.

use libm::exp;

use super::distribution::{normal_quantile, normal_tail, root};
use super::estimate::Estimate;
use super::rank::{EXACT_LIMIT, TestResult, midranks, tie_term};
use super::sample::median;

/// The rank-sum test of two independent samples, two-sided (Wilcoxon 1945; Mann & Whitney 1947).
///
/// `statistic` is U of `ours`: in how many of all pairs ours is the larger, ties counting one half. While both
/// samples have at most [`EXACT_LIMIT`] values p is exact, given the ties there are: every way to deal the shared
/// ranks to the two samples is counted. Beyond, normal with correction for ties and continuity. An empty sample
/// shows nothing: p is 1. `n` is the size of the smaller sample.
pub fn rank_sum(ours: &[f64], theirs: &[f64]) -> TestResult {
    let (few, many) = (ours.len(), theirs.len());
    let n = few.min(many);
    let pooled: Vec<f64> = ours.iter().chain(theirs).copied().collect();
    let ranks = midranks(&pooled);
    let sum: f64 = ranks[..few].iter().sum();
    let statistic = sum - 0.5 * (few * (few + 1)) as f64;
    let p = if n == 0 {
        1.0
    } else if few.max(many) <= EXACT_LIMIT {
        let share = rank_sum_distribution(&ranks, few);
        // Ranks are doubled there, so that shared ones are whole numbers.
        let observed = (2.0 * sum).round() as usize;
        let below: f64 = share[..=observed].iter().sum();
        let above: f64 = share[observed..].iter().sum();
        (2.0 * below.min(above)).min(1.0)
    } else {
        let (ours, theirs, all) = (few as f64, many as f64, pooled.len() as f64);
        let ties = tie_term(&pooled) / (all * (all - 1.0));
        let deviation = root(ours * theirs / 12.0 * (all + 1.0 - ties));
        let distance = ((statistic - 0.5 * ours * theirs).abs() - 0.5).max(0.0);
        if deviation > 0.0 { (2.0 * normal_tail(distance / deviation)).min(1.0) } else { 1.0 }
    };
    TestResult { statistic, p, n }
}

/// The distribution of the sum of `taken` of these ranks, each choice equally likely: `share[s]` is
/// P(sum = s / 2), built rank by rank.
fn rank_sum_distribution(ranks: &[f64], taken: usize) -> Vec<f64> {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = doubled.iter().sum();
    // ways[k][s]: in how many ways k of the ranks seen so far add up to s.
    let mut ways = vec![vec![0.0; total + 1]; taken + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (seen, step) in doubled.into_iter().enumerate() {
        reached += step;
        for count in (1..=taken.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            for (to, from) in more[0][step..=reached].iter_mut().zip(&fewer[count - 1]) {
                *to += from;
            }
        }
    }
    let mut share = ways.swap_remove(taken);
    let all: f64 = share.iter().sum();
    for ways in &mut share {
        *ways /= all;
    }
    share
}

/// By how much `ours` is larger than `theirs`: the median of all differences between one of ours and one of theirs,
/// with the interval of the shifts that the rank-sum test does not reject (Hodges & Lehmann 1963; Moses, in Walker
/// & Lev 1953). `None` where a sample is empty; no interval where so few values allow none (below 4 and 4 at 95 %).
/// `n` is the size of the smaller sample.
pub fn independent_shift(ours: &[f64], theirs: &[f64], confidence: f64) -> Option<Estimate> {
    let mut differences: Vec<f64> =
        ours.iter().flat_map(|own| theirs.iter().map(move |their| *own - *their)).collect();
    differences.sort_by(f64::total_cmp);
    let point = median(&differences)?;
    let cut = differences_cut(ours.len(), theirs.len(), 0.5 * (1.0 - confidence));
    let interval = cut.checked_sub(1).and_then(|end| {
        differences.get(end).copied().zip(differences.get(differences.len() - 1 - end).copied())
    });
    Some(Estimate {
        point,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        n: ours.len().min(theirs.len()),
    })
}

/// As [`independent_shift`], of logs, told as a ratio: how many times ours is what theirs is.
pub fn independent_ratio(our_logs: &[f64], their_logs: &[f64], confidence: f64) -> Option<Estimate> {
    independent_shift(our_logs, their_logs, confidence).map(|shift| shift.map(exp))
}

/// How many of the ordered differences may be passed over at each end while at most `tail` is lost there.
fn differences_cut(ours: usize, theirs: usize, tail: f64) -> usize {
    if ours.max(theirs) <= EXACT_LIMIT {
        let ranks: Vec<f64> = (1..=ours + theirs).map(|rank| rank as f64).collect();
        let least = ours * (ours + 1);
        let mut sum = 0.0;
        let steps = rank_sum_distribution(&ranks, ours);
        return steps[least..]
            .iter()
            .step_by(2)
            .take_while(|share| {
                sum += **share;
                sum <= tail
            })
            .count();
    }
    let (ours, theirs) = (ours as f64, theirs as f64);
    let deviation = root(ours * theirs * (ours + theirs + 1.0) / 12.0);
    let cut = 0.5 * ours * theirs - 0.5 - normal_quantile(1.0 - tail) * deviation;
    cut.max(-1.0).floor() as usize + 1
}

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

/// What a ratio (ours over theirs, smaller is better) with its 1 − α interval and its p value, adjusted for whatever
/// else was compared, amounts to. "Different" needs both: p ≤ α, and a ratio beyond 1 + tie or below its reciprocal.
/// "Same" needs the whole interval to lie between those.
pub fn settled(ratio: &Estimate, adjusted_p: f64, alpha: f64, tie: f64) -> Comparison {
    let (least, most) = (1.0 / (1.0 + tie), 1.0 + tie);
    if adjusted_p <= alpha && ratio.point > most {
        Comparison::Worse
    } else if adjusted_p <= alpha && ratio.point < least {
        Comparison::Better
    } else if ratio.within(least, most) {
        Comparison::Same
    } else {
        Comparison::Unknown
    }
}

/// The smallest p that [`rank_sum`] can give for samples of these sizes: 2 / C(ours + theirs, ours), at most 1.
pub fn smallest_rank_sum_p(ours: usize, theirs: usize) -> f64 {
    // 1 / C(n + m, n) as a product of shares: no factorial overflows.
    let share: f64 = (1..=ours).map(|k| k as f64 / (theirs + k) as f64).product();
    (2.0 * share).min(1.0)
}

/// The fewest values in each of two samples with which [`rank_sum`] can give p ≤ `alpha`: 4 at 5 %.
pub fn fewest_for_rank_sum(alpha: f64) -> usize {
    (1..1024).find(|n| smallest_rank_sum_p(*n, *n) <= alpha).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{
        Comparison, fewest_for_rank_sum, independent_ratio, independent_shift, rank_sum, settled,
        smallest_rank_sum_p,
    };
    use crate::statistics::Estimate;

    #[test]
    fn the_extreme_is_as_rare_as_counting_says() {
        let (low, high) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let found = rank_sum(&low, &high);
        assert_eq!((found.statistic, found.n), (0.0, 4));
        assert!((found.p - 2.0 / 70.0).abs() < 1e-15);
        assert!((smallest_rank_sum_p(4, 4) - found.p).abs() < 1e-15);
        assert_eq!(rank_sum(&high, &low).statistic, 16.0);
        assert_eq!(
            [0.05, 0.01, 0.005, 0.001].map(fewest_for_rank_sum),
            [4, 5, 6, 7],
            "2/70, 2/252, 2/924, 2/3432"
        );
    }

    #[test]
    fn what_shows_nothing_has_p_one() {
        assert_eq!(rank_sum(&[], &[1.0]).p, 1.0);
        assert_eq!(rank_sum(&[2.0; 5], &[2.0; 5]).p, 1.0);
        assert_eq!(rank_sum(&[2.0; 40], &[2.0; 40]).p, 1.0);
        assert!(independent_shift(&[], &[1.0], 0.95).is_none());
    }

    #[test]
    fn an_interval_needs_four_and_four() {
        let three = independent_shift(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        assert_eq!((three.low, three.high, three.n), (None, None, 3));
        let four = independent_shift(&[11.0, 12.0, 13.0, 14.0], &[1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        assert_eq!((four.low, four.point, four.high), (Some(7.0), 10.0, Some(13.0)));
    }

    #[test]
    fn different_needs_significance_and_size_and_same_needs_the_interval() {
        let ratio =
            |point: f64, low: f64, high: f64| Estimate { point, low: Some(low), high: Some(high), n: 8 };
        let answer = |ratio: Estimate, p: f64| settled(&ratio, p, 0.05, 0.03);
        assert_eq!(answer(ratio(1.10, 1.05, 1.15), 0.01), Comparison::Worse);
        assert_eq!(answer(ratio(0.90, 0.85, 0.95), 0.01), Comparison::Better);
        assert_eq!(answer(ratio(1.10, 1.05, 1.15), 0.06), Comparison::Unknown, "not after correction");
        assert_eq!(
            answer(ratio(1.02, 1.01, 1.03), 0.01),
            Comparison::Same,
            "significant, but it does not matter"
        );
        assert_eq!(answer(ratio(1.02, 1.01, 1.05), 0.01), Comparison::Unknown);
        assert_eq!(answer(Estimate { point: 1.0, low: None, high: None, n: 2 }, 1.0), Comparison::Unknown);
    }

    proptest! {
        #[test]
        fn changing_sides_turns_everything_over(
            ours in proptest::collection::vec(-5.0..5.0f64, 1..12),
            theirs in proptest::collection::vec(-5.0..5.0f64, 1..12),
        ) {
            let (one, two) = (rank_sum(&ours, &theirs), rank_sum(&theirs, &ours));
            prop_assert!((one.p - two.p).abs() < 1e-12);
            prop_assert_eq!(one.statistic + two.statistic, (ours.len() * theirs.len()) as f64);
            let one = independent_ratio(&ours, &theirs, 0.95).unwrap();
            let two = independent_ratio(&theirs, &ours, 0.95).unwrap();
            prop_assert!((one.point * two.point - 1.0).abs() < 1e-9);
            prop_assert_eq!(one.low.is_some(), two.high.is_some());
            if let (Some(low), Some(high)) = (one.low, two.high) {
                prop_assert!((low * high - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn test_and_interval_agree(
            ours in proptest::collection::vec(-5.0..5.0f64, 4..12),
            theirs in proptest::collection::vec(-5.0..5.0f64, 4..12),
        ) {
            let shift = independent_shift(&ours, &theirs, 0.95).unwrap();
            let without_zero = !(shift.low.unwrap() <= 0.0 && shift.high.unwrap() >= 0.0);
            // Sums of shares may round a p of exactly 5 % to either side.
            prop_assert_eq!(rank_sum(&ours, &theirs).p <= 0.05 + 1e-9, without_zero);
        }
    }
}
