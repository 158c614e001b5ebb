//! Tail probabilities and quantiles of Student's t, Fisher's F and the fair coin.
//!
//! The functions use `libm`, so that the same data give the same verdict on every machine. Continued fractions and
//! series follow Press et al., *Numerical Recipes*, 3rd ed., sections 6.1-6.4; `tests/plain/oracle.rs` checks them
//! against scipy.

use std::cell::RefCell;
use std::collections::VecDeque;

use libm::{exp, fabs, lgamma, log, log1p};

const TINY: f64 = 1e-300;
const PRECISION: f64 = 1e-15;
const ITERATIONS: u32 = 10_000;

/// P(T > t) for Student's t with `degrees` degrees of freedom (need not be whole).
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    let square = t * t;
    // Small |t| uses the complement, so that neither end loses digits.
    let half = if square < degrees {
        0.5 * (1.0 - incomplete_beta(0.5, 0.5 * degrees, square / (degrees + square)))
    } else {
        0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + square))
    };
    if t >= 0.0 { half } else { 1.0 - half }
}

/// P(F > f) for Fisher's F with these degrees of freedom.
pub fn fisher_tail(f: f64, between: f64, within: f64) -> f64 {
    incomplete_beta(0.5 * within, 0.5 * between, within / (within + between * f.max(0.0)))
}

/// P(X ≤ heads) for this many tosses of a fair coin.
pub(super) fn fair_coin_tail(tosses: usize, heads: usize) -> f64 {
    let tails = tosses.saturating_sub(heads) as f64;
    if tails > 0.0 { incomplete_beta(tails, heads as f64 + 1.0, 0.5) } else { 1.0 }
}

/// Remembered quantiles: candidates that were in the same blocks have the same degrees of freedom.
const REMEMBERED: usize = 16;

thread_local! {
    /// The quantiles that were calculated last on this thread, by the bits of probability and degrees.
    static LAST_QUANTILES: RefCell<VecDeque<((u64, u64), f64)>> = const { RefCell::new(VecDeque::new()) };
}

/// The t with P(T ≤ t) = `probability` for Student's t; infinite at 0 and 1.
pub fn student_quantile(probability: f64, degrees: f64) -> f64 {
    let key = (probability.to_bits(), degrees.to_bits());
    LAST_QUANTILES.with_borrow_mut(|last| {
        if let Some((_, known)) = last.iter().find(|(known, _)| *known == key) {
            return *known;
        }
        let found = quantile(probability, |t| student_tail(t, degrees));
        last.truncate(REMEMBERED - 1);
        last.push_front((key, found));
        found
    })
}

/// Inverts the upper tail of a distribution that is symmetric about 0, by bisection, which always converges.
fn quantile(probability: f64, tail: impl Fn(f64) -> f64) -> f64 {
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    let upper = probability.min(1.0 - probability);
    if upper == 0.0 {
        return if probability == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > upper && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if tail(middle) > upper {
            low = middle;
        } else {
            high = middle;
        }
    }
    let positive = 0.5 * (low + high);
    if probability < 0.5 { -positive } else { positive }
}

/// The regularised incomplete beta function I_x(a, b).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if fabs(value) < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..=ITERATIONS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        result *= d * c;
        if fabs(d * c - 1.0) < PRECISION {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{fair_coin_tail, fisher_tail, student_quantile, student_tail};

    #[test]
    fn textbook_values() {
        assert!((student_quantile(0.975, 4.0) - 2.776_445_105_197_793).abs() < 1e-9);
        // The square of a t is an F.
        assert!((fisher_tail(2.5 * 2.5, 1.0, 7.0) - 2.0 * student_tail(2.5, 7.0)).abs() < 1e-12);
        assert!((fisher_tail(4.102_821, 2.0, 10.0) - 0.05).abs() < 1e-6);
        assert!((fair_coin_tail(7, 2) - 29.0 / 128.0).abs() < 1e-12 && fair_coin_tail(5, 5) == 1.0);
        assert_eq!(student_quantile(1.0, 3.0), f64::INFINITY);
        assert!(student_quantile(1.5, 3.0).is_nan());
    }

    #[test]
    fn symmetric_about_zero() {
        for degrees in [1.0, 2.5, 30.0] {
            for t in [0.0, 0.3, 2.0, 40.0] {
                assert!((student_tail(t, degrees) + student_tail(-t, degrees) - 1.0).abs() < 1e-14);
            }
        }
    }
}
