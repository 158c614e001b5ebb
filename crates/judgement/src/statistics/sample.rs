//! Summaries of a sample: quantiles, median, and the means that older studies used.

/// The values in increasing order (total order of IEEE numbers; there should be no NaN).
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ordered = values.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    ordered
}

/// The arithmetic mean; `None` for no values. A legacy estimator: a single outlier can move it without limit.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The median. `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which a `share` of the sample lies, interpolated linearly between order statistics (type 7 of
/// Hyndman & Fan 1996, the default of R and numpy). `None` for no values or a share outside 0 to 1.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&share) {
        return None;
    }
    let place = share * (values.len() - 1) as f64;
    let below = place as usize;
    // Medians of long runs are computed tens of thousands of times, so the values are only partially sorted.
    let mut values = values.to_vec();
    let (_, lower, rest) = values.select_nth_unstable_by(below, f64::total_cmp);
    let upper = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(*lower);
    Some(*lower + (place - below as f64) * (upper - *lower))
}

/// The mean of the middle half; of few values, without one at each end; of two or fewer, of all. `None` for no values.
pub(super) fn interquartile_mean(values: &[f64]) -> Option<f64> {
    let ordered = sorted(values);
    let count = ordered.len();
    let cut = (count / 4).max(1).min(count.saturating_sub(1) / 2);
    mean(&ordered[cut..count - cut])
}

/// The smallest value: "best of n". A legacy estimator: it rewards noise, and is only meaningful together with n.
pub fn best_of(values: &[f64]) -> Option<f64> {
    sorted(values).first().copied()
}

/// The mean without the best and the worst value. A legacy estimator. `None` for fewer than three values.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let ordered = sorted(values);
    if ordered.len() < 3 { None } else { mean(&ordered[1..ordered.len() - 1]) }
}

#[cfg(test)]
mod tests {
    use super::{best_of, mean, median, quantile, trimmed_mean};

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!((mean(&[]), median(&[]), best_of(&[])), (None, None, None));
        assert_eq!(trimmed_mean(&[1.0, 2.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
    }

    #[test]
    fn known_values() {
        let values = [9.0, 1.0, 2.0, 4.0];
        assert_eq!(median(&values), Some(3.0));
        assert_eq!(best_of(&values), Some(1.0));
        assert_eq!(trimmed_mean(&values), Some(3.0));
    }
}
