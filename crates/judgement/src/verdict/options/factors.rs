//! Main effects and interactions of the options in a plan's matrix, estimated from all trials.
//!
//! The main effect of an option is the mean difference between candidates that differ in this option alone, over all
//! settings of the other options that were tried both ways. An interaction is how much that effect differs between a
//! level of another option and the rest. Both are contrasts of one least-squares fit of candidates and blocks, so that
//! all trials contribute to the estimate of the noise. Candidates given outside a matrix take part where another
//! candidate differs from them in that option alone.

use serde::Serialize;

use crate::journal::Trial;
use crate::plan::{AXES, Candidate, is_twin, once_each};
use crate::statistics::{self, Additive, Estimate, Evidence};
use crate::verdict::contrast::{ContrastTest, FamilyOutcome, judge_family};
use crate::verdict::work::cost_of_trial;
use crate::verdict::{ALPHA, VerdictEvidence};

/// The row of the filesystem among [`AXES`]. Candidates that are a directory (`path`) take no part in the effects.
const FILESYSTEM: usize = 0;

/// A candidate's level on each of [`AXES`]; empty for an option that it leaves at the default.
type Levels = [String; AXES.len()];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorEffect {
    /// The key of the axis that has this level.
    pub factor: &'static str,
    pub level: String,
    /// The level that it is compared with, empty for the default; `None` for a filesystem, which is compared with the
    /// mean of all filesystems.
    pub against: Option<String>,
    /// The ratio of the goal with the level to the goal without it; the interval is of this effect alone.
    pub ratio: Estimate,
    /// The number of pairs of candidates (for a filesystem: sets) that differ in this option alone.
    pub pairs: usize,
    /// The effect is significant after correction for all effects, and larger than δ.
    pub certain: bool,
    /// The effect is significant after correction for all effects, but at most δ.
    pub slight: bool,
    /// How the effect differs at levels of other options.
    pub interactions: Vec<Interaction>,
    /// The seconds that the option adds. `None` where CPU time was not measured or computation was free, as in simulated
    /// time, and where the goal is not a time.
    pub added: Option<AddedSeconds>,
}

/// Seconds that an option adds to the phases of the goal: the mean over the pairs that differ in it alone; negative
/// where it saves time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AddedSeconds {
    pub durable: f64,
    /// CPU time of the tool that does the work and of the kernel, on all CPUs.
    pub cpu: f64,
}

impl AddedSeconds {
    /// Whether the option takes longer and CPU time makes up at least half of that. On several CPUs it may exceed all
    /// of it.
    pub fn is_computing(&self) -> bool {
        self.durable > 0.0 && self.cpu >= 0.5 * self.durable
    }
}

/// How an effect differs at one level of another option.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    pub factor: &'static str,
    pub level: String,
    pub here: Estimate,
    /// The ratio of the effect at this level to the effect at the other levels.
    pub ratio: Estimate,
    /// As for effects, corrected over all interactions.
    pub certain: bool,
}

/// The effect on the goal of every option that at least two pairs of candidates differ in alone; filesystems come last.
pub(crate) fn factor_effects(evidence: &VerdictEvidence<'_>, measured: &[&str]) -> Vec<FactorEffect> {
    let tried = |candidate: &&Candidate| {
        !is_twin(&candidate.name)
            && candidate.path.is_none()
            && measured.contains(&candidate.name.as_str())
            && evidence.trials.trials_of(&candidate.name).any(|trial| evidence.score(trial).is_some())
    };
    let candidates: Vec<&Candidate> = evidence.plan.candidates.iter().filter(tried).collect();
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    let Some(fit) = Additive::fit(&evidence.trials.rows_by_block(&names, |trial| evidence.score(trial)))
    else {
        return Vec::new();
    };
    let taken: Option<Vec<AddedSeconds>> =
        candidates.iter().map(|candidate| mean_seconds(evidence, &candidate.name)).collect();
    let cells: Vec<Levels> = candidates.into_iter().map(candidate_levels).collect();
    let hides = |one: usize, other: usize| evidence.free.hides_difference(names[one], names[other]);
    effects_of_factor(&cells, &fit, evidence.tie(), taken.as_deref(), hides)
}

/// Seconds that a candidate spent in the phases of the goal: the mean over its trials.
fn mean_seconds(evidence: &VerdictEvidence<'_>, candidate: &str) -> Option<AddedSeconds> {
    if evidence.objective.metric != "durable" || evidence.free.applies_to(candidate) {
        return None;
    }
    let phases = evidence.objective.phases();
    let mean = |metrics: &[&str]| {
        let of_trial = |trial: &Trial| -> Option<f64> {
            metrics.iter().map(|metric| cost_of_trial(&phases, trial, metric)).sum()
        };
        let each: Vec<f64> = evidence.trials.trials_of(candidate).filter_map(of_trial).collect();
        statistics::mean(&each)
    };
    Some(AddedSeconds { durable: mean(&["durable"])?, cpu: mean(&["cpu", "cpu_kernel"])? })
}

fn contrast_seconds(weights: &[f64], taken: &[AddedSeconds]) -> AddedSeconds {
    let sum = |seconds: fn(&AddedSeconds) -> f64| {
        weights.iter().zip(taken).map(|(weight, one)| weight * seconds(one)).sum()
    };
    AddedSeconds { durable: sum(|seconds| seconds.durable), cpu: sum(|seconds| seconds.cpu) }
}

fn effects_of_factor(
    cells: &[Levels],
    fit: &Additive,
    tie: f64,
    taken: Option<&[AddedSeconds]>,
    hides: impl Fn(usize, usize) -> bool,
) -> Vec<FactorEffect> {
    let mut found = Vec::new();
    for factor in (0..AXES.len()).rev() {
        for level in distinct_levels(cells, factor) {
            let (against, mut changes) = changes_to_level(cells, factor, &level);
            // Where computation was free, no effect of an option that computes can be told.
            changes.retain(|(at, weights)| {
                (0..cells.len()).all(|other| weights[other] == 0.0 || !hides(*at, other))
            });
            // A single filesystem has no other to be compared with.
            if changes.len() < 2 || distinct_levels(cells, factor).len() < 2 {
                continue;
            }
            let interactions = if factor == FILESYSTEM {
                Vec::new()
            } else {
                interaction_contrasts(cells, factor, &changes)
            };
            found.push((factor, level, against, changes, interactions));
        }
    }
    let main: Vec<Evidence> =
        found.iter().map(|(.., changes, _)| fit.estimate_contrast(&mean_weights(changes.iter()))).collect();
    let apart = found.iter().flat_map(|(.., interactions)| interactions);
    let apart: Vec<Evidence> = apart.map(|(.., weights)| fit.estimate_contrast(weights)).collect();
    let mut judged_apart = judge_contrasts(&apart, tie).into_iter().zip(&apart);
    found
        .into_iter()
        .zip(main.iter().zip(judge_contrasts(&main, tie)))
        .map(|((factor, level, against, changes, interactions), (evidence, judged))| FactorEffect {
            factor: AXES[factor].key_of(&level),
            level,
            against,
            ratio: evidence.ratio(),
            pairs: changes.len(),
            added: taken
                .filter(|_| factor != FILESYSTEM)
                .map(|taken| contrast_seconds(&mean_weights(changes.iter()), taken)),
            certain: judged.outcome.is_difference(),
            slight: judged.p_adjusted <= ALPHA && !judged.outcome.is_difference(),
            interactions: interactions
                .into_iter()
                .zip(judged_apart.by_ref())
                .map(|((factor, level, here, _), (judged, evidence))| Interaction {
                    factor: AXES[factor].key_of(&level),
                    level,
                    here: fit.estimate_contrast(&here).ratio(),
                    ratio: evidence.ratio(),
                    certain: judged.outcome.is_difference(),
                })
                .collect(),
        })
        .collect()
}

fn candidate_levels(candidate: &Candidate) -> Levels {
    std::array::from_fn(|factor| AXES[factor].set_level(candidate).text())
}

/// The levels of a factor without repetition, in the order of the plan.
fn distinct_levels(cells: &[Levels], factor: usize) -> Vec<String> {
    once_each(cells.iter().map(|cell| cell[factor].clone()))
}

/// The base level that `level` is compared with, and every change of that option alone: the index of the candidate that
/// has the level, with the weights of the contrast.
fn changes_to_level(
    cells: &[Levels],
    factor: usize,
    level: &str,
) -> (Option<String>, Vec<(usize, Vec<f64>)>) {
    let all = distinct_levels(cells, factor);
    let base = all.iter().find(|level| level.is_empty()).or(all.first()).cloned().unwrap_or_default();
    let with = |cell: &Levels, level: &str| {
        let mut other = cell.clone();
        level.clone_into(&mut other[factor]);
        cells.iter().position(|known| *known == other)
    };
    let change = |at: usize| -> Option<(usize, Vec<f64>)> {
        let others: Vec<usize> = if factor == FILESYSTEM {
            all.iter().map(|level| with(&cells[at], level)).collect::<Option<_>>()?
        } else {
            vec![with(&cells[at], &base)?]
        };
        let mut weights = vec![0.0; cells.len()];
        weights[at] = 1.0;
        others.iter().for_each(|other| weights[*other] -= 1.0 / others.len() as f64);
        Some((at, weights))
    };
    let with_level =
        (0..cells.len()).filter(|at| cells[*at][factor] == level && with(&cells[*at], level) == Some(*at));
    let changed = if factor != FILESYSTEM && level == base {
        Vec::new()
    } else {
        with_level.filter_map(change).collect()
    };
    (Some(base).filter(|_| factor != FILESYSTEM), changed)
}

type Apart = (usize, String, Vec<f64>, Vec<f64>);

/// The contrasts between changes at each level of each other factor and changes at its other levels. With two levels,
/// one contrast suffices, so the first level is left out.
fn interaction_contrasts(cells: &[Levels], factor: usize, changes: &[(usize, Vec<f64>)]) -> Vec<Apart> {
    let mut found = Vec::new();
    for other in (0..AXES.len()).filter(|other| *other == FILESYSTEM || *other > factor) {
        let with: Vec<Levels> = changes.iter().map(|(at, _)| cells[*at].clone()).collect();
        let levels = distinct_levels(&with, other);
        let several = levels.len();
        for level in levels.into_iter().skip(usize::from(several <= 2)) {
            let (here, there): (Vec<_>, Vec<_>) =
                changes.iter().partition(|(at, _)| cells[*at][other] == level);
            let (here, there) = (mean_weights(here.into_iter()), mean_weights(there.into_iter()));
            let weights = here.iter().zip(&there).map(|(here, there)| here - there).collect();
            found.push((other, level, here, weights));
        }
    }
    found
}

fn mean_weights<'a>(changes: impl Iterator<Item = &'a (usize, Vec<f64>)>) -> Vec<f64> {
    let changes: Vec<&Vec<f64>> = changes.map(|(_, weights)| weights).collect();
    let length = changes.first().map_or(0, |weights| weights.len());
    let sum = |at: usize| changes.iter().map(|weights| weights[at]).sum::<f64>();
    (0..length).map(|at| sum(at) / changes.len() as f64).collect()
}

/// The outcomes of contrasts that are judged together; there is none below three blocks.
fn judge_contrasts(contrasts: &[Evidence], tie: f64) -> Vec<FamilyOutcome> {
    let test = |evidence: &Evidence| {
        let has_interval = evidence.estimate().low.is_some();
        ContrastTest { ratio: evidence.ratio(), p: if has_interval { evidence.p_different() } else { 1.0 } }
    };
    judge_family(&contrasts.iter().map(test).collect::<Vec<_>>(), tie)
}

#[cfg(test)]
mod tests;
