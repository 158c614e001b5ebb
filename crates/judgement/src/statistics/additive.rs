//! A linear model of log scores with additive effects of candidates and blocks: estimates each candidate's effect from
//! all trials at once, corrected for block effects.
//!
//! Each candidate has its own variance. With a common variance, a candidate that is twenty times as noisy as the others
//! would make its own differences look certain and hide those of the others. The expected squares of the residuals are
//! known sums of these variances (Rao 1970), so the model solves for the variances; the degrees of freedom of a
//! contrast follow from them (Satterthwaite 1946, Welch 1947).

use std::collections::HashMap;

use libm::sqrt;

use super::evidence::{Evidence, PRIOR_DEGREES_OF_FREEDOM, shrink_variance};
use super::sample::median;

/// A pivot smaller than this share of the largest counts as zero: its parameter cannot be estimated.
const NO_PIVOT: f64 = 1e-10;

/// The largest number of candidates that are fitted, since time grows with its cube.
const MOST_CANDIDATES: usize = 200;
/// The largest number of pairs of trials in different rounds for which each candidate's own variance is calculated;
/// beyond it one variance stands for all.
const MOST_PAIRS: usize = 50_000_000;

/// A least-squares fit of log scores to candidates and blocks; a candidate need not be in every block.
#[derive(Debug, Clone)]
pub struct Additive {
    /// The effect of each candidate relative to the first.
    effects: Vec<f64>,
    /// The covariance of the effects as a multiple of the variance of a trial, if that were the same for all
    /// candidates.
    covariance: Vec<Vec<f64>>,
    rounds: Vec<Round>,
    noise: TrialVariance,
    blocks: usize,
}

/// Blocks with the same candidates.
#[derive(Debug, Clone)]
struct Round {
    members: Vec<usize>,
    blocks: f64,
}

/// The variance of a trial, with its degrees of freedom.
#[derive(Debug, Clone)]
enum TrialVariance {
    /// By candidate.
    Each(Vec<(f64, f64)>),
    /// One variance for all: with two candidates, or with too few trials of some, the data do not show which one is
    /// noisy.
    Common(f64, f64),
}

impl Round {
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.members.iter().map(|at| of(*at)).sum::<f64>() / self.members.len() as f64
    }
}

impl Additive {
    /// Fits one row per block, with one score per candidate that was in it. `None` if some candidate was never in a
    /// block with the others, if there are too few trials to estimate the noise, or if there are more than
    /// `MOST_CANDIDATES`.
    pub fn fit(rows: &[Vec<Option<f64>>]) -> Option<Self> {
        let candidates = rows.first().map(Vec::len).filter(|count| (2..=MOST_CANDIDATES).contains(count))?;
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
        // Only differences can be estimated, so the effect of the first candidate is zero.
        let inverse = invert_matrix(matrix[1..].iter().map(|row| row[1..].to_vec()).collect())?;
        let mut covariance = vec![vec![0.0; candidates]; candidates];
        let mut effects = vec![0.0; candidates];
        for (at, row) in inverse.into_iter().enumerate() {
            effects[at + 1] = row.iter().zip(&sums[1..]).map(|(one, sum)| one * sum).sum();
            covariance[at + 1][1..].copy_from_slice(&row);
        }
        let trials: usize = blocks.iter().map(Vec::len).sum();
        let degrees = trials as f64 - blocks.len() as f64 - (candidates as f64 - 1.0);
        let mut squares = vec![0.0; candidates];
        for block in &blocks {
            let rests: Vec<(usize, f64)> =
                block.iter().map(|(at, score)| (*at, score - effects[*at])).collect();
            let middle = rests.iter().map(|(_, rest)| rest).sum::<f64>() / rests.len() as f64;
            rests.iter().for_each(|(at, rest)| squares[*at] += (rest - middle) * (rest - middle));
        }
        let rounds = group_into_rounds(&blocks);
        let common = || TrialVariance::Common(squares.iter().sum::<f64>() / degrees, degrees);
        let noise = variance_shares(&rounds, &covariance)
            .and_then(|shares| candidate_variances(&shares, &squares))
            .map_or_else(common, TrialVariance::Each);
        (degrees >= 1.0).then_some(Self { effects, covariance, rounds, noise, blocks: blocks.len() })
    }

    /// The weighted sum of the candidates' effects; the weights must sum to 0.
    pub fn estimate_contrast(&self, weights: &[f64]) -> Evidence {
        let difference = weights.iter().zip(&self.effects).map(|(weight, effect)| weight * effect).sum();
        let times = |row: &Vec<f64>| row.iter().zip(weights).map(|(one, weight)| one * weight).sum::<f64>();
        let own: Vec<f64> = self.covariance.iter().map(times).collect();
        // The sum of the squared weights of the trials in the contrast, by candidate.
        let mut parts = vec![0.0; weights.len()];
        for round in &self.rounds {
            let middle = round.mean(|at| own[at]);
            round.members.iter().for_each(|at| parts[*at] += round.blocks * (own[*at] - middle).powi(2));
        }
        let (variance, degrees) = match &self.noise {
            TrialVariance::Common(variance, degrees) => (variance * parts.iter().sum::<f64>(), *degrees),
            TrialVariance::Each(each) => {
                let terms = || each.iter().zip(&parts).map(|((variance, _), part)| variance * part);
                let doubt: f64 = terms().zip(each).map(|(term, (_, degrees))| term * term / degrees).sum();
                let sum: f64 = terms().sum();
                // Without any noise the contrast is exact.
                (sum, if doubt > 0.0 { sum * sum / doubt } else { 1.0 })
            }
        };
        Evidence { difference, error: sqrt(variance.max(0.0)), degrees, count: self.blocks }
    }
}

fn group_into_rounds(blocks: &[Vec<(usize, f64)>]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut numbers: HashMap<Vec<usize>, usize> = HashMap::new();
    for block in blocks {
        let members: Vec<usize> = block.iter().map(|(at, _)| *at).collect();
        match numbers.get(&members) {
            Some(number) => rounds[*number].blocks += 1.0,
            None => {
                numbers.insert(members.clone(), rounds.len());
                rounds.push(Round { members, blocks: 1.0 });
            }
        }
    }
    rounds
}

/// The expected share of each candidate's variance (columns) in each candidate's squared residuals (rows); `None`
/// where that takes too long.
fn variance_shares(rounds: &[Round], covariance: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let trials: usize = rounds.iter().map(|round| round.members.len()).sum();
    if trials.saturating_mul(trials) > MOST_PAIRS {
        return None;
    }
    // The covariance is symmetric, so that the mean over columns is also that over rows.
    let means: Vec<Vec<f64>> =
        rounds.iter().map(|round| covariance.iter().map(|row| round.mean(|to| row[to])).collect()).collect();
    let mut shares = vec![vec![0.0; covariance.len()]; covariance.len()];
    for (number, (one, to_one)) in rounds.iter().zip(&means).enumerate() {
        for (other_number, (other, to_other)) in rounds.iter().zip(&means).enumerate() {
            let middle = one.mean(|at| to_other[at]);
            let same = if number == other_number { one.blocks } else { 0.0 };
            for at in &one.members {
                for to in &other.members {
                    let apart = -(covariance[*at][*to] - to_other[*at] - to_one[*to] + middle);
                    let within = f64::from(u8::from(at == to)) - 1.0 / one.members.len() as f64 + apart;
                    shares[*at][*to] +=
                        (one.blocks * other.blocks - same) * apart * apart + same * within * within;
                }
            }
        }
    }
    Some(shares)
}

/// Every candidate's own variance with its degrees of freedom; `None` where they cannot be told apart.
fn candidate_variances(shares: &[Vec<f64>], squares: &[f64]) -> Option<Vec<(f64, f64)>> {
    // A candidate that was tried only once fits exactly, and shows nothing of its noise.
    let known: Vec<usize> = (0..squares.len()).filter(|at| shares[*at][*at] > NO_PIVOT).collect();
    let solved =
        invert_matrix(known.iter().map(|at| known.iter().map(|to| shares[*at][*to]).collect()).collect())?;
    let variance = |row: &Vec<f64>| row.iter().zip(&known).map(|(one, at)| one * squares[*at]).sum::<f64>();
    let estimates: Vec<(f64, f64)> = solved
        .iter()
        .enumerate()
        .map(|(at, row)| (variance(row).max(0.0), row[at].recip().max(0.0)))
        .collect();
    let middle = median(&estimates.iter().map(|(variance, _)| *variance).collect::<Vec<_>>())?;
    let mut variances = vec![(middle, PRIOR_DEGREES_OF_FREEDOM); squares.len()];
    for (at, (variance, degrees)) in known.iter().zip(estimates) {
        variances[*at] = shrink_variance(variance, degrees, middle);
    }
    Some(variances)
}

/// By Gauss and Jordan, with the largest pivots first; `None` where there is no inverse.
fn invert_matrix(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
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
        let found = Additive::fit(&rows).unwrap().estimate_contrast(&[-1.0, 1.0]);
        let wanted = Evidence::from_sample(&pairs.map(|(one, other)| other - one)).unwrap();
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
        assert!((fit.estimate_contrast(&[-1.0, 0.0, 1.0]).difference - 0.3).abs() < 1e-12);
        assert!(Additive::fit(&rows.map(|row| [row, vec![None]].concat())).is_none());
        for none in [vec![], vec![vec![]], vec![vec![Some(1.0)]; 3], vec![vec![Some(1.0), Some(2.0)]]] {
            assert!(Additive::fit(&none).is_none(), "{none:?}");
        }
    }
}
