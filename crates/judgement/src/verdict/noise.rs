//! How noisy a run is: how far trials of the same candidate stray within blocks, which phase makes most of that, and
//! which differences so many blocks show.

use libm::{exp, sqrt};
use serde::Serialize;

use super::{Rank, VerdictEvidence};
use crate::journal::Trial;
use crate::statistics::{Evidence, FEWEST, level, median, student_quantile};

/// The probability with which a difference that is there is to be found.
const POWER: f64 = 0.8;

/// From this share on a phase is named for making most of the variance.
const MOST: f64 = 2.0 / 3.0;

/// How noisy a run is, going by differences from the leader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunNoise {
    /// The standard deviation of a trial for the goal, block effects aside, as a share: that of a typical pair, without what was
    /// set aside.
    pub deviation: f64,
    /// The phase that makes most of the variance of the goal, and its share; none where no phase does.
    pub noisiest: Option<(String, f64)>,
    /// The least share by which two candidates must differ to be told apart four times in five.
    pub detectable: f64,
    /// Of so many blocks: those of the candidates that took part in most.
    pub blocks: usize,
    /// Whether others took part in fewer: of those the numbers say nothing.
    pub others_rested: bool,
}

/// The noise of the candidates against the leader; `None` below three blocks of two.
pub(super) fn noise(
    &VerdictEvidence { objective, trials, .. }: &VerdictEvidence<'_>,
    ranking: &[Rank],
) -> Option<RunNoise> {
    let (leader, rivals) = ranking.split_first()?;
    let paired = |score: &dyn Fn(&Trial) -> Option<f64>| -> Vec<Vec<f64>> {
        let pairs = rivals.iter().map(|rival| trials.differences(&rival.candidate, &leader.candidate, score));
        pairs.filter(|pair| pair.len() >= FEWEST as usize).collect()
    };
    let goal = paired(&|trial| objective.log_score(trial));
    let evidence = Evidence::among(&goal);
    // Those that rested are known by less: it is those in question that the number is about.
    let blocks = goal.iter().map(Vec::len).max()?;
    let longest = evidence.iter().zip(&goal).filter(|(_, pair)| pair.len() == blocks).map(|(one, _)| one);
    let longest: Vec<&Evidence> = longest.collect();
    let level = level(u32::try_from(blocks).ok()?, 2);
    let reach = |one: &Evidence| {
        one.error * (student_quantile(1.0 - level, one.degrees) + student_quantile(POWER, one.degrees))
    };
    let detectable = median(&longest.iter().map(|one| reach(one)).collect::<Vec<_>>())?;
    // Of the same pairs, and without what was set aside: the two numbers are about one noise.
    let variance = |one: &&Evidence| one.error * one.error * one.count as f64;
    let variance = median(&longest.iter().map(variance).collect::<Vec<_>>())?;
    let of_phase = |(phase, weight): (&String, &f64)| {
        let own = paired(&|trial| objective.cost(phase, trial));
        let squares: f64 = own.iter().map(|pair| squares(pair)).sum();
        (phase.clone(), weight * weight * squares)
    };
    let phases: Vec<(String, f64)> = objective.weights.iter().map(of_phase).collect();
    let total: f64 = phases.iter().map(|(_, squares)| squares).sum();
    let noisiest = phases.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let noisiest = noisiest.map(|(phase, squares)| (phase, squares / total));
    Some(RunNoise {
        // A difference holds the noise of two trials.
        deviation: exp(sqrt(variance / 2.0)) - 1.0,
        noisiest: noisiest.filter(|(_, share)| objective.weights.len() > 1 && *share > MOST),
        detectable: exp(detectable) - 1.0,
        blocks,
        others_rested: longest.len() < rivals.len(),
    })
}

/// The sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let middle = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - middle) * (value - middle)).sum()
}
