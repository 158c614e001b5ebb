//! Candidates and blocks that add up: what is left of each candidate when blocks are allowed for, from all trials at once.

use libm::sqrt;

use super::evidence::Evidence;

/// A pivot smaller than this share of the largest is none: what it stands for cannot be known.
const NO_PIVOT: f64 = 1e-10;

/// Least squares of log scores over candidates and blocks; who was tried in which blocks does not matter.
#[derive(Debug, Clone)]
pub struct Additive {
    /// Of each candidate, beside the first.
    effects: Vec<f64>,
    /// Of their covariance, as a multiple of the variance of a trial.
    covariance: Vec<Vec<f64>>,
    variance: f64,
    degrees: f64,
    blocks: usize,
}

impl Additive {
    /// Of one row per block with one score per candidate that was in it. `None` where somebody was never tried beside the
    /// others, or where there are not enough trials to know how noisy they are.
    pub fn fit(rows: &[Vec<Option<f64>>]) -> Option<Self> {
        let candidates = rows.first().map(Vec::len).filter(|candidates| *candidates > 1)?;
        let blocks: Vec<Vec<(usize, f64)>> = rows
            .iter()
            .map(|row| row.iter().enumerate().filter_map(|(at, score)| Some((at, (*score)?))).collect())
            .filter(|block: &Vec<_>| !block.is_empty())
            .collect();
        let (mut matrix, mut sums) = (vec![vec![0.0; candidates]; candidates], vec![0.0; candidates]);
        for block in &blocks {
            let size = block.len() as f64;
            let middle = block.iter().map(|(_, score)| score).sum::<f64>() / size;
            for (one, score) in block {
                matrix[*one][*one] += 1.0;
                sums[*one] += score - middle;
                for (other, _) in block {
                    matrix[*one][*other] -= 1.0 / size;
                }
            }
        }
        // Only differences can be known: the first candidate is zero.
        let inverse = inverse(matrix[1..].iter().map(|row| row[1..].to_vec()).collect())?;
        let mut covariance = vec![vec![0.0; candidates]; candidates];
        let mut effects = vec![0.0; candidates];
        for (at, row) in inverse.into_iter().enumerate() {
            effects[at + 1] = row.iter().zip(&sums[1..]).map(|(one, sum)| one * sum).sum();
            covariance[at + 1][1..].copy_from_slice(&row);
        }
        let trials: usize = blocks.iter().map(Vec::len).sum();
        let degrees = trials as f64 - blocks.len() as f64 - (candidates as f64 - 1.0);
        let squares: f64 = blocks
            .iter()
            .map(|block| {
                let rests: Vec<f64> = block.iter().map(|(at, score)| score - effects[*at]).collect();
                let middle = rests.iter().sum::<f64>() / rests.len() as f64;
                rests.iter().map(|rest| (rest - middle) * (rest - middle)).sum::<f64>()
            })
            .sum();
        let variance = squares / degrees;
        (degrees >= 1.0).then_some(Self { effects, covariance, variance, degrees, blocks: blocks.len() })
    }

    /// What the candidates weighed like this amount to; the weights must sum to 0.
    pub fn contrast(&self, weights: &[f64]) -> Evidence {
        let difference = weights.iter().zip(&self.effects).map(|(weight, effect)| weight * effect).sum();
        let times = |row: &Vec<f64>| row.iter().zip(weights).map(|(one, weight)| one * weight).sum::<f64>();
        let square: f64 = self.covariance.iter().zip(weights).map(|(row, weight)| weight * times(row)).sum();
        let error = sqrt((self.variance * square).max(0.0));
        Evidence { difference, error, degrees: self.degrees, count: self.blocks }
    }
}

/// By Gauss and Jordan, with the largest pivots first; `None` where there is no inverse.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let largest = matrix.iter().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|other| f64::from(u8::from(at == other))));
    }
    for at in 0..size {
        let pivot =
            (at..size).max_by(|one, other| matrix[*one][at].abs().total_cmp(&matrix[*other][at].abs()))?;
        if matrix[pivot][at].abs() <= NO_PIVOT * largest {
            return None;
        }
        matrix.swap(at, pivot);
        let divisor = matrix[at][at];
        matrix[at].iter_mut().for_each(|value| *value /= divisor);
        let row = matrix[at].clone();
        for (_, other) in matrix.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = other[at];
            other.iter_mut().zip(&row).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some(matrix.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::{Additive, Evidence};

    #[test]
    fn of_nobody_and_of_one_alone_nothing_is_fitted() {
        for rows in [vec![], vec![vec![]; 3], vec![vec![Some(1.0)]; 3]] {
            assert!(Additive::fit(&rows).is_none(), "{rows:?}");
        }
    }

    #[test]
    fn two_candidates_are_the_paired_t_test() {
        let pairs = [(1.0, 1.3), (2.0, 2.1), (1.5, 1.9), (0.7, 0.8)];
        let rows: Vec<_> = pairs.iter().map(|(one, other)| vec![Some(*one), Some(*other)]).collect();
        let found = Additive::fit(&rows).unwrap().contrast(&[-1.0, 1.0]);
        let wanted = Evidence::of(&pairs.map(|(one, other)| other - one)).unwrap();
        assert!((found.difference - wanted.difference).abs() < 1e-12);
        assert!((found.error - wanted.error).abs() < 1e-12);
        assert_eq!((found.degrees, found.count), (wanted.degrees, wanted.count));
    }

    #[test]
    fn blocks_cancel_whoever_was_in_them_and_who_never_was_cannot_be_known() {
        // Candidates 0, 1, 2 at 0, 0.1, 0.3; blocks at 5, 9, 2, without any noise.
        let rows = [
            vec![Some(5.0), Some(5.1), None],
            vec![None, Some(9.1), Some(9.3)],
            vec![Some(2.0), None, Some(2.3)],
        ];
        let fit = Additive::fit(&rows).unwrap();
        assert!((fit.contrast(&[-1.0, 0.0, 1.0]).difference - 0.3).abs() < 1e-12);
        assert!(Additive::fit(&rows.map(|row| [row, vec![None]].concat())).is_none());
        for none in [vec![], vec![vec![]], vec![vec![Some(1.0)]; 3], vec![vec![Some(1.0), Some(2.0)]]] {
            assert!(Additive::fit(&none).is_none(), "{none:?}");
        }
    }
}
