//! Fits non-negative prices to counts and times: weighted least squares with a weak prior; estimates the error on data
//! that were not used for the fit.

use super::sample::quantile;

/// The weight of the prior relative to that of the data. It keeps the prices of classes that always occur together from
/// drifting apart.
const PRIOR_WEIGHT: f64 = 0.02;
/// The maximum rounds of coordinate descent, and the relative change of a price at which it stops earlier.
const MAX_ROUNDS: usize = 4000;
const CONVERGED: f64 = 1e-6;
/// How often the data are split into random halves.
const HALVINGS: u64 = 40;

/// A piece of work: the count of each class, and the seconds that the work took.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedWork {
    pub counts: Vec<f64>,
    pub seconds: f64,
}

impl CountedWork {
    /// The predicted seconds at these prices, which are in seconds per count.
    pub fn priced_seconds(&self, prices: &[f64]) -> f64 {
        self.counts.iter().zip(prices).map(|(count, price)| count * price).sum()
    }

    fn relative_error(&self, prices: &[f64]) -> f64 {
        (self.priced_seconds(prices) / self.seconds - 1.0).abs()
    }
}

/// Relative errors of the predicted times on the halves that were not used to fit the prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutError {
    pub median: f64,
    pub p90: f64,
}

/// Fits a price in seconds for each class: it minimizes the sum of squared relative errors with no negative price.
/// `prior` has a positive price for each class; a class that was never counted keeps it.
pub fn fit_prices(works: &[CountedWork], prior: &[f64]) -> Vec<f64> {
    // The rows are scaled by the prior and by the time, so that every piece of work has the same weight.
    let rows: Vec<Vec<f64>> = works
        .iter()
        .map(|work| {
            work.counts.iter().zip(prior).map(|(count, price)| count * price / work.seconds).collect()
        })
        .collect();
    let ridge = PRIOR_WEIGHT * works.len() as f64 / prior.len().max(1) as f64;
    let product = |one: usize, other: usize| -> f64 {
        rows.iter().filter_map(|row| Some(row.get(one)? * row.get(other)?)).sum()
    };
    let normal: Vec<Vec<f64>> =
        (0..prior.len()).map(|one| (0..prior.len()).map(|other| product(one, other)).collect()).collect();
    let right: Vec<f64> = (0..prior.len())
        .map(|class| rows.iter().filter_map(|row| row.get(class)).sum::<f64>() + ridge)
        .collect();
    let mut scaled = vec![1.0; prior.len()];
    for _ in 0..MAX_ROUNDS {
        let mut change: f64 = 0.0;
        for class in 0..prior.len() {
            let (Some(row), Some(right)) = (normal.get(class), right.get(class)) else { continue };
            let diagonal = row.get(class).copied().unwrap_or(0.0) + ridge;
            let Some(old) = scaled.get(class).copied() else { continue };
            let sum: f64 = row.iter().zip(&scaled).map(|(factor, price)| factor * price).sum();
            let new = (old + (right - sum - ridge * old) / diagonal).max(0.0);
            change = change.max((new - old).abs());
            if let Some(place) = scaled.get_mut(class) {
                *place = new;
            }
        }
        if change < CONVERGED {
            break;
        }
    }
    scaled.iter().zip(prior).map(|(factor, price)| factor * price).collect()
}

/// The error of prices on work that was not used to fit them: fits one half and tests on the other, for many random
/// halves. `None` for fewer than four pieces of work.
pub fn held_out_error(works: &[CountedWork], prior: &[f64]) -> Option<HeldOutError> {
    if works.len() < 4 {
        return None;
    }
    let mut errors = Vec::new();
    for seed in 0..HALVINGS {
        let mut order: Vec<(u64, &CountedWork)> =
            works.iter().enumerate().map(|(at, work)| (mix(seed, at as u64), work)).collect();
        order.sort_by_key(|(key, _)| *key);
        let (fitted, held_out) = order.split_at(works.len() / 2);
        let fitted: Vec<CountedWork> = fitted.iter().map(|(_, work)| (*work).clone()).collect();
        let prices = fit_prices(&fitted, prior);
        errors.extend(held_out.iter().map(|(_, work)| work.relative_error(&prices)));
    }
    Some(HeldOutError { median: quantile(&errors, 0.5)?, p90: quantile(&errors, 0.9)? })
}

/// A pseudo-random number for a position in a split (`SplitMix64`).
fn mix(seed: u64, at: u64) -> u64 {
    let mut word = (seed << 32 | at).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::{CountedWork, fit_prices, held_out_error, mix};

    const TRUE: [f64; 3] = [2e-9, 5e-6, 0.0];
    const PRIOR: [f64; 3] = [1e-9, 8e-6, 1e-7];

    fn works(noise: f64) -> Vec<CountedWork> {
        (0..40)
            .map(|at| {
                let part = |class: u64, scale: f64| (mix(class + 7, at) % 1000) as f64 * scale;
                let counts = vec![part(0, 1e4), part(1, 2.0), part(2, 300.0)];
                let exact: f64 = counts.iter().zip(TRUE).map(|(count, price)| count * price).sum();
                let off = 1.0 + noise * ((mix(99, at) % 2001) as f64 / 1000.0 - 1.0);
                CountedWork { counts, seconds: exact.max(1e-6) * off }
            })
            .collect()
    }

    #[test]
    fn prices_are_found_and_none_is_negative() {
        let prices = fit_prices(&works(0.0), &PRIOR);
        for (found, expected) in prices.iter().zip(TRUE) {
            assert!((found - expected).abs() < 0.1 * expected + 1e-8, "{prices:?}");
        }
        // If work takes less time the more is counted in a class, the fitted price of the class is zero.
        let less: Vec<CountedWork> = works(0.0)
            .into_iter()
            .map(|work| CountedWork { seconds: (work.seconds - work.counts[2] * 1e-8).max(1e-6), ..work })
            .collect();
        assert!(fit_prices(&less, &PRIOR).iter().all(|price| *price >= 0.0));
    }

    #[test]
    fn what_was_never_counted_keeps_its_prior() {
        let mut works = works(0.0);
        for work in &mut works {
            work.counts[2] = 0.0;
        }
        assert!((fit_prices(&works, &PRIOR)[2] - PRIOR[2]).abs() < 1e-12);
    }

    #[test]
    fn the_error_held_out_grows_with_the_noise() {
        let error = |noise| held_out_error(&works(noise), &PRIOR).unwrap();
        let (exact, noisy) = (error(0.0), error(0.3));
        assert!(exact.median < 0.03 && exact.p90 < 0.1, "{exact:?}");
        assert!((0.08..0.3).contains(&noisy.median) && noisy.p90 > noisy.median, "{noisy:?}");
        assert_eq!(held_out_error(&works(0.0)[..3], &PRIOR), None);
    }
}
