//! Correction of p values for multiple comparisons.

/// Holm's step-down correction (Holm 1979): adjusts p values so that comparing each with α keeps the probability of any
/// wrong rejection at α or below, under any dependence. The order of the values is kept.
pub fn adjust_by_holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        let hypotheses_left = (p_values.len() - place) as f64;
        largest = largest.max((p_values[index] * hypotheses_left).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::adjust_by_holm;

    #[test]
    fn the_smallest_counts_for_all() {
        assert_eq!(adjust_by_holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(adjust_by_holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(adjust_by_holm(&[]).is_empty());
    }
}
