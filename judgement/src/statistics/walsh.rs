//! The Hodges-Lehmann estimate and its interval, which uses only the order of the data.

use super::distribution::{normal_quantile, root};
use super::sample::median;

/// Up to this many non-zero differences the signed-rank distribution is counted out exactly.
const EXACT_LIMIT: usize = 30;

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
