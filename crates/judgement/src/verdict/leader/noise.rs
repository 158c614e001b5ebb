//! The noise of a run: the standard deviation of trials within blocks, the phase that contributes most of it, and the
//! smallest difference that the run could detect.

use libm::{exp, sqrt};
use serde::Serialize;

use crate::journal::Trial;
use crate::statistics::{Evidence, FEWEST, error_of_look, median, student_quantile};
use crate::verdict::{Rank, VerdictEvidence};

/// Statistical power: the probability of finding a difference of the detectable size.
const POWER: f64 = 0.8;

/// The share of the variance from which a phase is named as the main source of noise.
const MOST: f64 = 2.0 / 3.0;

/// The noise of a run, from the differences to the leader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunNoise {
    /// The standard deviation of one trial's goal without block effects, as a share: the median over pairs, without
    /// blocks that were set aside.
    pub deviation: f64,
    /// The phase that contributes most of the goal's variance, and its share; `None` where no phase does.
    pub noisiest: Option<(String, f64)>,
    /// The smallest difference, as a share, that is detected in four of five runs.
    pub detectable: f64,
    /// The number of blocks of the candidates that took part in the most.
    pub blocks: usize,
    /// Whether other candidates took part in fewer blocks; the numbers do not describe them.
    pub others_rested: bool,
}

/// The noise of the candidates against the leader; `None` with fewer than three blocks or two candidates.
pub(crate) fn estimate_noise(
    &VerdictEvidence { objective, trials, .. }: &VerdictEvidence<'_>,
    ranking: &[Rank],
) -> Option<RunNoise> {
    let (leader, rivals) = ranking.split_first()?;
    let paired = |score: &dyn Fn(&Trial) -> Option<f64>| -> Vec<Vec<f64>> {
        let pairs = rivals.iter().map(|rival| trials.differences(&rival.candidate, &leader.candidate, score));
        pairs.filter(|pair| pair.len() >= FEWEST as usize).collect()
    };
    let goal = paired(&|trial| objective.log_score(trial));
    let evidence = Evidence::from_paired_samples(&goal);
    // Candidates that rested have fewer blocks; the noise is that of the candidates still in question.
    let blocks = goal.iter().map(Vec::len).max()?;
    let longest = evidence.iter().zip(&goal).filter(|(_, pair)| pair.len() == blocks).map(|(one, _)| one);
    let longest: Vec<&Evidence> = longest.collect();
    let level = error_of_look(u32::try_from(blocks).ok()?, 2);
    let reach = |one: &Evidence| {
        one.error * (student_quantile(1.0 - level, one.degrees) + student_quantile(POWER, one.degrees))
    };
    let detectable = median(&longest.iter().map(|one| reach(one)).collect::<Vec<_>>())?;
    // Uses the same pairs, without the blocks set aside, so that both numbers describe the same noise.
    let variance = |one: &&Evidence| one.error * one.error * one.count as f64;
    let variance = median(&longest.iter().map(variance).collect::<Vec<_>>())?;
    let of_phase = |(phase, weight): (&String, &f64)| {
        let own = paired(&|trial| objective.phase_cost(phase, trial));
        let squares: f64 = own.iter().map(|pair| squared_deviations(pair)).sum();
        (phase.clone(), weight * weight * squares)
    };
    let phases: Vec<(String, f64)> = objective.weights.iter().map(of_phase).collect();
    let total: f64 = phases.iter().map(|(_, squares)| squares).sum();
    let noisiest = phases.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let noisiest = noisiest.map(|(phase, squares)| (phase, squares / total));
    Some(RunNoise {
        // A difference has the noise of two trials.
        deviation: exp(sqrt(variance / 2.0)) - 1.0,
        noisiest: noisiest.filter(|(_, share)| objective.weights.len() > 1 && *share > MOST),
        detectable: exp(detectable) - 1.0,
        blocks,
        others_rested: longest.len() < rivals.len(),
    })
}

fn squared_deviations(values: &[f64]) -> f64 {
    let middle = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - middle) * (value - middle)).sum()
}
