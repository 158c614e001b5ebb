//! Tests that use only the order of the data: signed ranks, Friedman.

use super::distribution::{chi_squared_tail, normal_quantile, normal_tail, root};
use super::sample::median;

/// Up to this many non-zero differences the signed-rank distribution is counted out exactly.
pub const EXACT_LIMIT: usize = 30;

/// A statistic with its p value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestResult {
    /// The statistic, as the function's documentation defines it.
    pub statistic: f64,
    /// Probability, under the hypothesis of no difference, of a statistic at least this far out.
    pub p: f64,
    /// How many values it stands on.
    pub n: usize,
}

/// Ranks from 1; equal values share the mean of their ranks.
pub fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && values[order[end]] == values[order[start]] {
            end += 1;
        }
        // Mean of the ranks start+1 ..= end.
        let shared = 0.5 * (start + 1 + end) as f64;
        for place in &order[start..end] {
            ranks[*place] = shared;
        }
        start = end;
    }
    ranks
}

/// Σ(t³ − t) over groups of t equal values, the quantity of every correction for ties.
pub(super) fn tie_term(values: &[f64]) -> f64 {
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered
        .chunk_by(|a, b| a == b)
        .map(|group| {
            let size = group.len() as f64;
            size * size * size - size
        })
        .sum()
}

/// Wilcoxon's signed-rank test of paired differences, two-sided (Wilcoxon 1945).
///
/// Zero differences are set aside. `statistic` is W⁺, the sum of the ranks of the positive differences. Up to
/// [`EXACT_LIMIT`] differences the p value is exact given the data's ties (every assignment of signs is
/// counted); above, normal with correction for ties and continuity. With no non-zero difference p is 1.
pub fn signed_rank(differences: &[f64]) -> TestResult {
    let kept: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
    let n = kept.len();
    let sizes: Vec<f64> = kept.iter().map(|value| value.abs()).collect();
    let ranks = midranks(&sizes);
    let positive: f64 =
        kept.iter().zip(&ranks).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    let p = if n == 0 {
        1.0
    } else if n <= EXACT_LIMIT {
        exact_signed_rank(&ranks, positive)
    } else {
        let size = n as f64;
        let centre = size * (size + 1.0) / 4.0;
        let variance = size * (size + 1.0) * (2.0 * size + 1.0) / 24.0 - tie_term(&sizes) / 48.0;
        let distance = ((positive - centre).abs() - 0.5).max(0.0);
        (2.0 * normal_tail(distance / root(variance))).min(1.0)
    };
    TestResult { statistic: positive, p, n }
}

/// The distribution of a sum of ranks each of which counts or not with probability one half: `share[s]` is
/// P(sum = s / 2), built rank by rank. Ranks are doubled so that shared ranks are whole numbers.
fn signed_rank_distribution(ranks: &[f64]) -> Vec<f64> {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = doubled.iter().sum();
    let mut share = vec![0.0; total + 1];
    share[0] = 1.0;
    let mut reached = 0;
    for step in doubled {
        reached += step;
        for sum in (0..=reached).rev() {
            let with = if sum >= step { share[sum - step] } else { 0.0 };
            share[sum] = 0.5 * (share[sum] + with);
        }
    }
    share
}

/// Two-sided exact p of W⁺ given the ranks: the smaller tail, doubled.
fn exact_signed_rank(ranks: &[f64], positive: f64) -> f64 {
    let share = signed_rank_distribution(ranks);
    let observed = (2.0 * positive).round() as usize;
    let below: f64 = share[..=observed].iter().sum();
    let above: f64 = share[observed..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// The median of all Walsh averages (means of two values, or of one with itself), and the interval that leaves
/// at most `tail` on each side by the signed-rank distribution: exact up to [`EXACT_LIMIT`] values, normal
/// above. `None` for no values; no interval where so few values allow none.
pub(super) fn walsh_interval(values: &[f64], tail: f64) -> Option<(f64, Option<(f64, f64)>)> {
    let n = values.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (place, value) in values.iter().enumerate() {
        averages.extend(values[..=place].iter().map(|other| 0.5 * (value + other)));
    }
    averages.sort_by(f64::total_cmp);
    let point = median(&averages)?;
    // How many averages may be cut off at each end.
    let cut = if n <= EXACT_LIMIT {
        let ranks: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
        let mut sum = 0.0;
        signed_rank_distribution(&ranks)
            .iter()
            .step_by(2)
            .take_while(|share| {
                sum += **share;
                sum <= tail
            })
            .count()
    } else {
        let size = n as f64;
        let centre = size * (size + 1.0) / 4.0;
        let deviation = root(size * (size + 1.0) * (2.0 * size + 1.0) / 24.0);
        (centre - 0.5 - normal_quantile(1.0 - tail) * deviation).max(-1.0).floor() as usize + 1
    };
    let interval = match cut.checked_sub(1) {
        Some(end) => averages.get(end).copied().zip(averages.get(averages.len() - 1 - end).copied()),
        None => None,
    };
    Some((point, interval))
}

/// Friedman's test that candidates tried in the same blocks do not differ (Friedman 1937), with correction
/// for ties; chi-squared with one degree of freedom less than there are candidates.
///
/// `blocks[b][c]` is the value of candidate c in block b. `None` unless there are at least two blocks of at
/// least two candidates, all of the same length.
pub fn friedman(blocks: &[Vec<f64>]) -> Option<TestResult> {
    let candidates = blocks.first()?.len();
    if blocks.len() < 2 || candidates < 2 || blocks.iter().any(|block| block.len() != candidates) {
        return None;
    }
    let (n, k) = (blocks.len() as f64, candidates as f64);
    let mut sums = vec![0.0; candidates];
    let mut ties = 0.0;
    for block in blocks {
        for (sum, rank) in sums.iter_mut().zip(midranks(block)) {
            *sum += rank;
        }
        ties += tie_term(block);
    }
    let correction = 1.0 - ties / (n * k * (k * k - 1.0));
    let result = if correction <= 0.0 {
        // Every block is one big tie: no difference was seen at all.
        TestResult { statistic: 0.0, p: 1.0, n: blocks.len() }
    } else {
        let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
        let statistic = (12.0 / (n * k * (k + 1.0)) * squares - 3.0 * n * (k + 1.0)) / correction;
        TestResult { statistic, p: chi_squared_tail(statistic, k - 1.0), n: blocks.len() }
    };
    Some(result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{friedman, midranks, signed_rank};

    #[test]
    fn five_pairs_can_never_be_significant() {
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).p, 0.0625);
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).p, 0.03125);
    }

    #[test]
    fn zeros_and_nothing() {
        assert_eq!(signed_rank(&[]).p, 1.0);
        let found = signed_rank(&[0.0, 0.0, 1.0]);
        assert_eq!((found.n, found.p), (1, 1.0));
        assert!(friedman(&[vec![1.0, 2.0]]).is_none());
        assert_eq!(friedman(&[vec![1.0, 1.0], vec![1.0, 1.0]]).unwrap().p, 1.0);
    }

    #[test]
    fn shared_ranks() {
        assert_eq!(midranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    proptest! {
        #[test]
        fn the_sign_of_all_differences_does_not_matter(values in proptest::collection::vec(-4i32..5, 0..40)) {
            let one: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let two: Vec<f64> = one.iter().map(|value| -value).collect();
            prop_assert!((signed_rank(&one).p - signed_rank(&two).p).abs() < 1e-12);
        }

        #[test]
        fn a_shift_of_a_whole_block_changes_nothing(by in -5i32..5, table in proptest::collection::vec(proptest::collection::vec(0i32..9, 4), 2..9)) {
            let mut blocks: Vec<Vec<f64>> = table.iter().map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect();
            let before = friedman(&blocks);
            blocks[0].iter_mut().for_each(|value| *value += f64::from(by));
            prop_assert_eq!(before, friedman(&blocks));
        }
    }
}
