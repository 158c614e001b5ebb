//! What uses only the order of the data: ranks, ties, and the interval of the Hodges-Lehmann estimate.

use super::distribution::{normal_quantile, root};
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
pub(super) fn midranks(values: &[f64]) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::midranks;

    #[test]
    fn shared_ranks() {
        assert_eq!(midranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
