//! Nonparametric tests: whether values went up or down, for numbers that may be zero, so that ratios do not exist.

use libm::{exp, lgamma};

use super::distribution::fair_coin_tail;
use super::sample::median;

/// Two-sided p for the hypothesis that increases and decreases are equally likely (the sign test, Dixon & Mood 1946).
pub fn sign_test(up: usize, down: usize) -> f64 {
    (2.0 * fair_coin_tail(up + down, up.min(down))).min(1.0)
}

/// Two-sided p for the hypothesis that two unpaired samples have the same median: Mood's median test (Mood 1950), with
/// the exact probabilities of the number of values of each sample above the common median.
pub fn median_test(one: &[f64], other: &[f64]) -> f64 {
    let Some(middle) = median(&[one, other].concat()) else { return 1.0 };
    let above = |values: &[f64]| values.iter().filter(|value| **value > middle).count();
    let (found, all) = (above(one), above(one) + above(other));
    let probability = |count: usize| {
        exp(log_binomial(one.len(), count) + log_binomial(other.len(), all - count)
            - log_binomial(one.len() + other.len(), all))
    };
    let possible = all.saturating_sub(other.len())..=all.min(one.len());
    // Adds up all outcomes that are at most as probable as the observed one, with a tolerance for rounding.
    let limit = probability(found) * (1.0 + 1e-9);
    possible.map(probability).filter(|probability| *probability <= limit).sum::<f64>().min(1.0)
}

/// The logarithm of the binomial coefficient: the number of ways to choose `chosen` of `all`.
fn log_binomial(all: usize, chosen: usize) -> f64 {
    let factorial = |number: usize| lgamma(number as f64 + 1.0);
    factorial(all) - factorial(chosen) - factorial(all - chosen)
}

#[cfg(test)]
mod tests {
    use super::{median_test, sign_test};

    #[test]
    fn known_probabilities() {
        assert!((sign_test(6, 0) - 2.0 / 64.0).abs() < 1e-12 && (sign_test(0, 3) - 0.25).abs() < 1e-12);
        assert_eq!((sign_test(0, 0), sign_test(4, 4)), (1.0, 1.0));
        // All six values of one sample are above all six of the other: 2 of the 924 ways to divide them.
        let (none, some) = ([0.0; 6], [5.0, 5.1, 5.2, 5.3, 5.4, 5.5]);
        assert!((median_test(&none, &some) - 2.0 / 924.0).abs() < 1e-12);
        assert!((median_test(&some, &none) - 2.0 / 924.0).abs() < 1e-12);
        assert_eq!((median_test(&none, &none), median_test(&[], &[])), (1.0, 1.0));
        assert!(median_test(&[0.0, 1.0, 2.0], &[0.5, 1.5, 2.5]) > 0.3);
    }
}
