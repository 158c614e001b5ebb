//! Tests for order effects: the position in the block, carry-over from the previous trial, correlation between blocks.
//!
//! A random order that is reversed in every second block keeps these effects from favouring a candidate in the long
//! run, but a reader must know of them. Control pairs, a candidate measured against its identical twin, show the bias of
//! the machine.

use std::collections::{BTreeMap, HashMap};

use libm::{log1p, sqrt};

use super::Limit;
use crate::journal::Run;
use crate::plan::{CONTROL_SUFFIX, GOAL};
use crate::statistics::{Evidence, FEWEST, adjust_by_holm};
use crate::verdict::{ByBlock, Contrast, ContrastOutcome, Objective, Rank, VerdictEvidence};

/// The false alarm rate of each of these additional checks, over everything that it tests.
const ALARM: f64 = 0.01;
/// The fewest blocks from which the correlation of successive blocks is tested.
const FEWEST_TO_FOLLOW: usize = 6;

/// For so many candidates, the best for the goal, their effect on the trial that follows is tested.
const MOST_BEFORE: usize = 64;

/// A trial's score minus the effects of its candidate and its block.
struct Residual<'a> {
    block: u32,
    candidate: &'a str,
    /// The position in the block, from -½ for the first trial to ½ for the last.
    place: f64,
    before: Option<&'a str>,
    rest: f64,
}

pub(crate) fn order_limits(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Limit> {
    let residuals = list_residuals(evidence, ranking);
    let tie = log1p(evidence.tie());
    let matters = |evidence: &Evidence, p: f64| p <= ALARM && evidence.difference.abs() > tie;
    let mut limits = Vec::new();
    if let Some(slope) = position_effect(&residuals).filter(|slope| matters(slope, slope.p_different())) {
        limits.push(Limit::Slope(slope.ratio()));
    }
    // With many candidates, each is compared with the rest of all trials, which takes time quadratic in them.
    let follows = |rank: &Rank| {
        let (after, others): (Vec<&Residual<'_>>, Vec<&Residual<'_>>) =
            residuals.iter().partition(|residual| residual.before == Some(&rank.candidate));
        let rests = |list: &[&Residual<'_>]| list.iter().map(|residual| residual.rest).collect::<Vec<f64>>();
        let enough = after.len() >= FEWEST as usize;
        Evidence::from_unpaired_samples(&rests(&after), &rests(&others)).filter(|_| enough)
    };
    let effects: Vec<Option<Evidence>> = ranking.iter().take(MOST_BEFORE).map(follows).collect();
    // A candidate that cannot be tested counts as one without an effect.
    let p_values: Vec<f64> =
        effects.iter().map(|effect| effect.as_ref().map_or(1.0, Evidence::p_different)).collect();
    for ((rank, effect), p) in ranking.iter().zip(&effects).zip(adjust_by_holm(&p_values)) {
        if let Some(effect) = effect.filter(|effect| matters(effect, p)) {
            limits.push(Limit::After { candidate: rank.candidate.clone(), times: effect.ratio() });
        }
    }
    limits.extend(autocorrelation_limit(&residuals));
    limits
}

fn list_residuals<'a>(evidence: &VerdictEvidence<'a>, ranking: &'a [Rank]) -> Vec<Residual<'a>> {
    let behind = |rank: &Rank| rank.behind.map_or(0.0, |behind| libm::log(behind.point));
    let mut all = Vec::new();
    let ranks: HashMap<&str, &Rank> = ranking.iter().map(|rank| (rank.candidate.as_str(), rank)).collect();
    for state in evidence.run.counted_blocks() {
        let last = state.order.len().saturating_sub(1).max(1) as f64;
        let mut block_residuals: Vec<Residual<'a>> = Vec::new();
        for (at, name) in state.order.iter().enumerate() {
            let score = evidence.trials.find_trial(state.block, name).and_then(|trial| evidence.score(trial));
            let rank = ranks.get(name.as_str()).copied();
            if let Some((score, rank)) = score.zip(rank) {
                let before = at.checked_sub(1).and_then(|at| state.order.get(at));
                block_residuals.push(Residual {
                    block: state.block,
                    candidate: &rank.candidate,
                    place: at as f64 / last - 0.5,
                    before: before.map(String::as_str),
                    rest: score - behind(rank),
                });
            }
        }
        let middle = block_residuals.iter().map(|residual| residual.rest).sum::<f64>()
            / block_residuals.len().max(1) as f64;
        block_residuals.iter_mut().for_each(|residual| residual.rest -= middle);
        all.extend(block_residuals);
    }
    all
}

/// The effect of the position in the block, from the first trial to the last, by least squares.
fn position_effect(residuals: &[Residual<'_>]) -> Option<Evidence> {
    let blocks = residuals.iter().map(|residual| residual.block).max()?;
    let candidates = residuals.iter().filter(|residual| residual.block == 1).count();
    let squares: f64 = residuals.iter().map(|residual| residual.place * residual.place).sum();
    let difference = residuals.iter().map(|residual| residual.place * residual.rest).sum::<f64>() / squares;
    let unexplained = |residual: &Residual<'_>| residual.rest - difference * residual.place;
    let degrees = residuals.len() as f64 - f64::from(blocks) - candidates as f64;
    let variance =
        residuals.iter().map(|residual| unexplained(residual) * unexplained(residual)).sum::<f64>() / degrees;
    let enough = blocks >= FEWEST && degrees >= 1.0 && squares > 0.0;
    let evidence = Evidence { difference, error: sqrt(variance / squares), degrees, count: residuals.len() };
    enough.then_some(evidence)
}

/// Whether blocks correlate with the blocks before them; then all intervals are too narrow.
fn autocorrelation_limit(residuals: &[Residual<'_>]) -> Option<Limit> {
    let (mut products, mut squares, mut most) = (0.0, 0.0, 0);
    let mut by_candidate: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    residuals
        .iter()
        .for_each(|residual| by_candidate.entry(residual.candidate).or_default().push(residual.rest));
    for rests in by_candidate.into_values() {
        let middle = rests.iter().sum::<f64>() / rests.len() as f64;
        products += rests.windows(2).map(|two| (two[0] - middle) * (two[1] - middle)).sum::<f64>();
        squares += rests.iter().map(|rest| (rest - middle) * (rest - middle)).sum::<f64>();
        most = most.max(rests.len());
    }
    // For independent blocks the correlation is -1/n, with a standard deviation of about 1/√n.
    let (lag, blocks) = (products / squares, most as f64);
    let stands_out = most >= FEWEST_TO_FOLLOW && lag + 1.0 / blocks > 2.33 / sqrt(blocks);
    stands_out.then_some(Limit::Resemblance(lag))
}

/// The contrast of each twin, the same configuration measured twice in every block, with its candidate. The true ratio
/// is 1: a difference that the rule reports is a false alarm.
pub fn control_pairs(objective: &Objective, run: &Run) -> Vec<Contrast> {
    let blocks: ByBlock<'_> = run.counted_trials().collect();
    let contrast = |twin: &str| {
        let candidate = twin.strip_suffix(CONTROL_SUFFIX)?;
        let evidence = blocks.compare(twin, candidate, |trial| objective.log_score(trial))?;
        let outcome = match evidence.p_different() <= ALARM {
            true if evidence.difference > 0.0 => ContrastOutcome::Behind,
            true => ContrastOutcome::Better,
            false => ContrastOutcome::Undecided,
        };
        Some(Contrast {
            subject: GOAL.to_owned(),
            of: twin.to_owned(),
            against: candidate.to_owned(),
            ratio: evidence.ratio_after_stopping_rule(),
            outcome,
        })
    };
    run.candidates.iter().filter_map(|state| contrast(&state.name)).collect()
}
