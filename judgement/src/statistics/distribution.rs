//! The few probability distributions the tests need: normal, Student's t, binomial(1/2).
//!
//! Built on `libm`, so that the same data give the same verdict on every machine. Continued fractions and
//! series after Press et al., *Numerical Recipes*, 3rd ed., sections 6.1-6.4; checked against scipy in
//! `tests/oracle.rs`.

use libm::{erfc, exp, fabs, lgamma, log, log1p, sqrt};

const TINY: f64 = 1e-300;
const PRECISION: f64 = 1e-15;
const ITERATIONS: u32 = 10_000;

/// P(Z > z) for a standard normal Z.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The z with P(Z ≤ z) = `probability`; infinite at 0 and 1.
pub fn normal_quantile(probability: f64) -> f64 {
    quantile(probability, normal_tail)
}

/// P(T > t) for Student's t with `degrees` degrees of freedom (need not be whole).
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    let square = t * t;
    // Small |t| through the complement, so that neither end loses digits.
    let half = if square < degrees {
        0.5 * (1.0 - incomplete_beta(0.5, 0.5 * degrees, square / (degrees + square)))
    } else {
        0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + square))
    };
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t with P(T ≤ t) = `probability` for Student's t; infinite at 0 and 1.
pub fn student_quantile(probability: f64, degrees: f64) -> f64 {
    quantile(probability, |t| student_tail(t, degrees))
}

/// P(B ≤ `successes`) for `trials` tosses of a fair coin.
pub fn coin_cumulative(successes: usize, trials: usize) -> f64 {
    coin_shares(trials).take(successes.min(trials) + 1).sum()
}

/// The most heads for which [`coin_cumulative`] is at most `tail`; `None` where already no heads at all is likelier.
/// One pass: asking for each number of heads in turn costs the square of `trials`.
pub(super) fn coin_cut(trials: usize, tail: f64) -> Option<usize> {
    let mut sum = 0.0;
    let within = coin_shares(trials).take_while(|share| {
        sum += share;
        sum <= tail
    });
    within.count().checked_sub(1)
}

/// The probabilities of no heads, one, two … in `trials` throws of a fair coin.
fn coin_shares(trials: usize) -> impl Iterator<Item = f64> {
    let trials_real = trials as f64;
    let all = lgamma(trials_real + 1.0) - trials_real * std::f64::consts::LN_2;
    (0..=trials).map(move |heads| {
        let heads = heads as f64;
        exp(all - lgamma(heads + 1.0) - lgamma(trials_real - heads + 1.0))
    })
}

/// Inverts the upper tail of a distribution that is symmetric about 0, by bisection (never diverges).
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

/// Square root that treats rounding below zero as zero.
pub(super) fn root(value: f64) -> f64 {
    sqrt(value.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::{coin_cumulative, coin_cut, normal_quantile, student_quantile, student_tail};

    #[test]
    fn textbook_values() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((student_quantile(0.975, 4.0) - 2.776_445_105_197_793).abs() < 1e-9);
        assert!((coin_cumulative(0, 6) - 1.0 / 64.0).abs() < 1e-15);
        for trials in 1..80 {
            let cut = (0..=trials).take_while(|heads| coin_cumulative(*heads, trials) <= 0.025).last();
            assert_eq!(coin_cut(trials, 0.025), cut, "{trials}");
        }
    }

    #[test]
    fn symmetric_about_zero() {
        for degrees in [1.0, 2.5, 30.0] {
            for t in [0.0, 0.3, 2.0, 40.0] {
                assert!((student_tail(t, degrees) + student_tail(-t, degrees) - 1.0).abs() < 1e-14);
            }
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.5).is_nan());
    }
}
