//! The noise floor: how different two candidates look that are the same.

use libm::{exp, fabs};
use serde::{Deserialize, Serialize};

use super::distribution::{root, student_quantile};
use super::estimate::shift_estimate;
use super::sample::median;
use super::scale::table_scale;

/// Where a noise floor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorSource {
    /// One candidate was entered twice.
    Twin,
    /// The run's own blocks were split in halves.
    SplitHalves,
}

/// Relative differences below `floor` are not told apart by this run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// As a fraction: 0.02 is 2 %.
    pub floor: f64,
    /// The difference that was seen between things that are the same, as a fraction.
    pub seen: f64,
    pub source: FloorSource,
    /// How many blocks it stands on.
    pub n: usize,
}

/// The floor from a candidate entered twice: the far end of the 95 % Hodges-Lehmann interval of the paired log
/// ratios; with too few blocks for one, the largest ratio seen. `None` without data.
pub fn twin_floor(log_ratios: &[f64]) -> Option<NoiseFloor> {
    let shift = shift_estimate(log_ratios, 0.95)?;
    let far = match (shift.low, shift.high) {
        (Some(low), Some(high)) => fabs(low).max(fabs(high)),
        _ => log_ratios.iter().map(|ratio| fabs(*ratio)).fold(0.0, f64::max),
    };
    Some(NoiseFloor {
        floor: exp(far) - 1.0,
        seen: exp(fabs(shift.point)) - 1.0,
        source: FloorSource::Twin,
        n: log_ratios.len(),
    })
}

/// The floor from a full table of log scores, `values[block][candidate]`, without a twin.
///
/// Every candidate is compared with itself, odd blocks against even ones and early against late, after the
/// effect of each block is taken out. A half has half the data, so these differences are √2 larger than those
/// between two whole candidates. The floor is the larger of two 95 % ranges: that of these differences, and
/// that of the scale of all pairs. Outliers are set aside or drawn in, as they are when candidates are compared: a hiccup
/// is not what two candidates differ by. `None` below four blocks or two candidates.
pub fn split_half_floor(values: &[Vec<f64>]) -> Option<NoiseFloor> {
    if values.len() < 4 {
        return None;
    }
    let scale = table_scale(values)?;
    let n = values.len() as f64;
    // A single value varies by 1/√2 of what a difference of two does.
    let residuals = residuals(values, scale.reach() * std::f64::consts::FRAC_1_SQRT_2)?;
    let half = values.len() / 2;
    let odd_even = mean_square_of_halves(&residuals, |block| block % 2 == 0);
    let early_late = mean_square_of_halves(&residuals, |block| block < half);
    // Each halves' difference has variance 4σ²/n; the difference of two candidates has 2σ²/n. Centring took one
    // degree of freedom per block.
    let seen_squared = 0.5 * odd_even.max(early_late);
    let quantile = student_quantile(0.975, scale.seen);
    let by_halves = quantile * root(seen_squared);
    let by_pairs = quantile * root(scale.variance / n);
    // The halves of very few candidates are themselves mostly noise: what they show is judged like the pairs, not like a
    // spread of its own few degrees of freedom, and may raise the floor to twice, not to infinity.
    let far = by_pairs.max(by_halves.min(2.0 * by_pairs));
    Some(NoiseFloor {
        floor: exp(far) - 1.0,
        seen: exp(root(seen_squared)) - 1.0,
        source: FloorSource::SplitHalves,
        n: values.len(),
    })
}

/// What is left of each value when the middle of its block and that of its candidate are taken away, outliers drawn in to
/// `far`. `None` for an empty table.
fn residuals(values: &[Vec<f64>], far: f64) -> Option<Vec<Vec<f64>>> {
    let centred: Option<Vec<Vec<f64>>> = values
        .iter()
        .map(|block| median(block).map(|centre| block.iter().map(|value| value - centre).collect()))
        .collect();
    let mut rows: Vec<Vec<f64>> = centred?;
    for candidate in 0..rows.first()?.len() {
        let centre = median(&rows.iter().map(|row| row[candidate]).collect::<Vec<_>>())?;
        for row in &mut rows {
            row[candidate] = (row[candidate] - centre).clamp(-far, far);
        }
    }
    Some(rows)
}

/// The mean over candidates of the squared difference between the means of two groups of blocks, corrected for
/// the centring of blocks.
fn mean_square_of_halves(centred: &[Vec<f64>], first: impl Fn(usize) -> bool) -> f64 {
    let candidates = centred.first().map_or(0, Vec::len);
    let in_first = (0..centred.len()).filter(|block| first(*block)).count() as f64;
    let in_second = centred.len() as f64 - in_first;
    let squares: f64 = (0..candidates)
        .map(|candidate| {
            let difference: f64 = centred
                .iter()
                .enumerate()
                .map(
                    |(block, row)| {
                        if first(block) { row[candidate] / in_first } else { -row[candidate] / in_second }
                    },
                )
                .sum();
            difference * difference
        })
        .sum();
    squares / (candidates as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::{FloorSource, split_half_floor, twin_floor};

    #[test]
    fn a_twin_that_differs_raises_the_floor() {
        let calm = twin_floor(&[0.001, -0.002, 0.001, 0.0, 0.002, -0.001, 0.0]).unwrap();
        let biased = twin_floor(&[0.021, 0.018, 0.021, 0.02, 0.022, 0.019, 0.02]).unwrap();
        assert!(calm.floor < 0.0025 && biased.floor > 0.02, "{calm:?} {biased:?}");
        assert_eq!(twin_floor(&[0.05, -0.01]).unwrap().floor, 0.05f64.exp() - 1.0);
        assert!(twin_floor(&[]).is_none());
    }

    #[test]
    fn candidate_and_block_effects_are_not_noise() {
        let table: Vec<Vec<f64>> =
            (0..8).map(|b| vec![0.3 * f64::from(b), 0.3 * f64::from(b) + 2.0]).collect();
        let floor = split_half_floor(&table).unwrap();
        assert!(floor.floor < 1e-9, "{floor:?}");
        assert_eq!(floor.source, FloorSource::SplitHalves);
        assert!(split_half_floor(&table[..3]).is_none());
    }

    #[test]
    fn drift_of_one_candidate_raises_the_floor() {
        let wiggle = |b: i32, c: i32| f64::from((7 * b + 3 * c) % 5) * 0.004;
        let steady: Vec<Vec<f64>> = (0..12).map(|b| (0..4).map(|c| wiggle(b, c)).collect()).collect();
        let mut drifting = steady.clone();
        for (block, row) in drifting.iter_mut().enumerate() {
            row[0] += 0.01 * block as f64;
        }
        let (calm, moved) = (split_half_floor(&steady).unwrap(), split_half_floor(&drifting).unwrap());
        assert!(moved.floor > 2.0 * calm.floor, "{calm:?} {moved:?}");
    }

    #[test]
    fn one_hiccup_hardly_raises_the_floor() {
        let wiggle = |b: usize, c: usize| 0.01 * libm::sin((17 * b * b + 5 * b * c + 3 * c) as f64);
        let mut table: Vec<Vec<f64>> = (0..8).map(|b| (0..4).map(|c| wiggle(b, c)).collect()).collect();
        let calm = split_half_floor(&table).unwrap();
        table[5][2] += 1.1;
        let shaken = split_half_floor(&table).unwrap();
        assert!(shaken.floor < 1.5 * calm.floor, "{calm:?} {shaken:?}");
    }
}
