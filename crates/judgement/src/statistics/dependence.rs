//! Finds which of several recorded covariates a sample depends on.
//!
//! Forward selection by partial correlation: the covariate that explains most is reported if its t test is significant;
//! its effect is then removed from the sample and from the other covariates, and the search repeats. A Bonferroni
//! correction for all possible tests keeps the probability of a false report at or below [`ALPHA`] over the whole
//! sample. Covariates that are almost perfectly correlated in these few values cannot be told apart, and are reported
//! together.

use libm::{fabs, sqrt};

use super::distribution::student_tail;
use super::sample::mean;

/// The probability of reporting any covariate if none has an effect.
const ALPHA: f64 = 0.05;
/// Two covariates with at least this correlation cannot be told apart by these values.
const TOGETHER: f64 = 0.95;
/// A column is explained by the others if its remaining sum of squares is at most this share of the original.
const NOTHING: f64 = 1e-9;

/// A covariate on which a sample depends.
#[derive(Debug, Clone, PartialEq)]
pub struct GoesWith {
    /// The index of the column.
    pub column: usize,
    /// The two-sided p value, corrected for all tests.
    pub p: f64,
    /// Other columns that cannot be told apart from this one.
    pub together: Vec<usize>,
}

/// The columns on which `values` depend, the strongest first. Each column has a number for each value; `samples` is how
/// many samples are tested in all.
pub fn goes_with(values: &[f64], columns: &[Vec<f64>], samples: usize) -> Vec<GoesWith> {
    let tests = (columns.len() * samples.max(1)) as f64;
    let mut rest = subtract_mean(values);
    let whole: Vec<f64> = columns.iter().map(|column| sum_of_squares(&subtract_mean(column))).collect();
    let mut columns: Vec<Vec<f64>> = columns.iter().map(|column| subtract_mean(column)).collect();
    let scale = sum_of_squares(&rest);
    let mut groups = Vec::new();
    let mut unexplained: Vec<usize> = (0..columns.len()).filter(|at| whole[*at] > 0.0).collect();
    // The mean and each reported covariate use one degree of freedom; the search needs two more.
    while values.len() >= groups.len() + 4 && sum_of_squares(&rest) > NOTHING * scale {
        let degrees = (values.len() - groups.len() - 2) as f64;
        unexplained.retain(|at| sum_of_squares(&columns[*at]) > NOTHING * whole[*at]);
        let strongest = unexplained
            .iter()
            .map(|at| (*at, fabs(correlation(&columns[*at], &rest))))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((best, strength)) = strongest else { break };
        let t = strength * sqrt(degrees / (1.0 - strength * strength).max(f64::MIN_POSITIVE));
        let p = (2.0 * student_tail(t, degrees) * tests).min(1.0);
        if p > ALPHA {
            break;
        }
        let chosen = columns[best].clone();
        let alike = |at: &usize| *at != best && fabs(correlation(&columns[*at], &chosen)) >= TOGETHER;
        let together: Vec<usize> = unexplained.iter().copied().filter(alike).collect();
        unexplained.retain(|at| *at != best && !together.contains(at));
        remove(&mut rest, &chosen);
        columns.iter_mut().for_each(|column| remove(column, &chosen));
        groups.push(GoesWith { column: best, p, together });
    }
    groups
}

fn subtract_mean(values: &[f64]) -> Vec<f64> {
    let middle = mean(values).unwrap_or(0.0);
    values.iter().map(|value| value - middle).collect()
}

fn dot_product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn sum_of_squares(values: &[f64]) -> f64 {
    dot_product(values, values)
}

/// The correlation of two centred columns; 0 if one does not vary.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let scale = sqrt(sum_of_squares(one) * sum_of_squares(other));
    if scale > 0.0 { dot_product(one, other) / scale } else { 0.0 }
}

/// Removes the linear effect of `column` from `values`.
fn remove(values: &mut [f64], column: &[f64]) {
    let slope = dot_product(values, column) / sum_of_squares(column);
    values.iter_mut().zip(column).for_each(|(value, number)| *value -= slope * number);
}

#[cfg(test)]
mod tests {
    use super::{GoesWith, goes_with};

    /// Uniform numbers from 0 to 1, the same in every run of the tests.
    fn uniform(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }
    }

    fn normal(uniform: &mut impl FnMut() -> f64) -> f64 {
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// Four covariates as blocks draw them: two binary and two continuous; the second block of a pair has the opposite
    /// values.
    fn drawn(blocks: usize, uniform: &mut impl FnMut() -> f64) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::new(); 4];
        for block in 0..blocks {
            for (at, column) in columns.iter_mut().enumerate() {
                let share = if block % 2 == 0 { uniform() } else { f64::NAN };
                let before: Option<&f64> = column.last();
                let share = before.filter(|_| share.is_nan()).map_or(share, |before| 1.0 - before);
                column.push(if at < 2 && block % 2 == 0 { share.round() } else { share });
            }
        }
        columns
    }

    /// In 400 simulations, how often each of the four is reported first, and how often any others are reported.
    fn named(blocks: usize, effect: f64, noise: f64) -> ([u32; 4], u32) {
        let mut uniform = uniform(blocks as u64);
        let (mut first, mut besides) = ([0; 4], 0);
        for _ in 0..400 {
            let columns = drawn(blocks, &mut uniform);
            let of = |flag: &f64, uniform: &mut _| effect * flag + noise * normal(uniform);
            let values: Vec<f64> = columns[0].iter().map(|flag| of(flag, &mut uniform)).collect();
            let found = goes_with(&values, &columns, 1);
            if let Some(GoesWith { column, together, .. }) = found.first() {
                let told = if together.contains(&0) { 0 } else { *column };
                first[told] += 1;
            }
            besides += u32::from(found.len() > 1);
        }
        (first, besides)
    }

    #[test]
    fn what_does_not_matter_is_rarely_named() {
        for blocks in [4, 6, 8, 12, 20] {
            let (first, _) = named(blocks, 0.0, 0.02);
            let wrong: u32 = first.iter().sum();
            assert!(wrong <= 400 * 7 / 100, "{blocks} blocks: {wrong} of 400");
        }
    }

    #[test]
    fn what_decides_is_named_and_nothing_besides() {
        for (blocks, least) in [(6, 320), (8, 385), (12, 395)] {
            let (first, besides) = named(blocks, 0.5, 0.03);
            assert!(first[0] >= least, "{blocks} blocks: {first:?}");
            assert!(first[1..].iter().sum::<u32>() <= 20 && besides <= 24, "{blocks}: {first:?} {besides}");
        }
    }

    #[test]
    fn two_that_went_the_same_way_are_named_together() {
        let flag = vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
        let other: Vec<f64> = flag.iter().map(|flag| 3.0 - 2.0 * flag).collect();
        let values = [0.0, 0.5, 0.51, 0.01, 0.49, 0.0];
        let found = goes_with(&values, &[flag, other], 1);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].column + found[0].together[0], found[0].together.len()), (1, 1));
    }

    #[test]
    fn too_few_and_what_never_changes_say_nothing() {
        assert!(goes_with(&[0.0, 1.0, 0.0], &[vec![0.0, 1.0, 0.0]], 1).is_empty());
        assert!(goes_with(&[0.0, 1.0, 0.0, 1.0, 0.0], &[vec![2.0; 5]], 1).is_empty());
        assert!(goes_with(&[1.0; 6], &[vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0]], 1).is_empty());
    }
}
