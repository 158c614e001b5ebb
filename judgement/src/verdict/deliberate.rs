//! What the journal allows to conclude: the stopping rule, replayed over every block that counts.
//!
//! Conductor, `resume` and report all ask here, so that a run decides the same whether it was interrupted or not and
//! a report never knows more than the run did.

use std::collections::BTreeMap;

use libm::log;

use crate::journal::{Better, CandidateStatus, Run, Trial, Unit, adapter_metric, metric};
use crate::plan::{Plan, contestants};
use crate::statistics::{Look, LookComparison, NoiseFloor, Outcome, Stopping, StoppingRule};

use super::Blocks;
use super::floor::noise_floor;

/// The plan's candidates and every look at them so far.
#[derive(Debug, Clone)]
pub struct Deliberation {
    /// Names, in the order in which looks number them.
    pub candidates: Vec<String>,
    /// One per block that counts.
    pub looks: Vec<Look>,
    /// Differences below this are noise, and nothing is concluded from them.
    pub floor: Option<NoiseFloor>,
    over: bool,
}

impl Deliberation {
    /// Replays the rule over the run. `over` is set once no more blocks will follow: then all α that is left is spent.
    pub fn of(plan: &Plan, run: &Run, over: bool) -> Self {
        let candidates: Vec<String> = contestants(plan).map(|candidate| candidate.name.clone()).collect();
        let blocks = plan.protocol.blocks;
        let rule = StoppingRule::new(blocks.min, blocks.max, plan.protocol.tie);
        let mut stopping = Stopping::new(rule, candidates.len());
        let mut looks = Vec::new();
        let rows = rows(plan, run, &candidates);
        looks.extend(rows.iter().map(|row| stopping.block(row)));
        let goes_on = looks.last().is_none_or(|look: &Look| look.outcome == Outcome::Continue);
        if over && goes_on && !looks.is_empty() {
            looks.push(stopping.close());
        }
        let mut deliberation = Deliberation { candidates, looks, floor: None, over };
        let went_well = |name: &&str| {
            run.candidates.iter().any(|state| state.name == *name && state.status == CandidateStatus::Ok)
        };
        let all: Vec<&str> = deliberation.candidates.iter().map(String::as_str).filter(went_well).collect();
        let in_last = |name: &&str| {
            let at = deliberation.candidates.iter().position(|known| known == *name);
            let score = at.and_then(|at| rows.last()?.get(at).copied().flatten());
            score.is_some()
        };
        let still_tried: Vec<&str> = all.iter().copied().filter(in_last).collect();
        deliberation.floor = noise_floor(plan, run, &still_tried, &all);
        deliberation
    }

    /// What the last look said, as far as it holds above the noise floor.
    pub fn outcome(&self) -> Outcome {
        let said = self.looks.last().map_or(Outcome::Continue, |look| look.outcome);
        match said {
            Outcome::Decided | Outcome::Tied if self.below_floor().next().is_some() => {
                if self.over {
                    Outcome::Undecided
                } else {
                    Outcome::Continue
                }
            }
            other => other,
        }
    }

    /// Whether a comparison rules its candidate out: certain by the rule, and no matter of noise.
    pub fn is_out(&self, comparison: &LookComparison) -> bool {
        let noise = self.floor.map_or(0.0, |floor| libm::log1p(floor.floor));
        comparison.out && comparison.evidence.difference > noise
    }

    /// Names of the candidates that the rule would have ruled out by less than what is noise here.
    pub fn below_floor(&self) -> impl Iterator<Item = &str> {
        let comparisons = self.looks.iter().flat_map(|look| &look.comparisons);
        let taken_back = comparisons.filter(|comparison| comparison.out && !self.is_out(comparison));
        taken_back.filter_map(|one| self.candidates.get(one.candidate)).map(String::as_str)
    }

    /// The best surviving candidate of a look.
    pub fn leader(&self, look: &Look) -> &str {
        look.leader.and_then(|index| self.candidates.get(index)).map_or("the others", String::as_str)
    }

    /// The last look at which anything was compared.
    pub fn last_look(&self) -> Option<&Look> {
        self.looks.iter().rfind(|look| look.leader.is_some())
    }

    /// Candidates that are ruled out, each with the look that did it.
    pub fn ruled_out(&self) -> impl Iterator<Item = (&str, &Look)> {
        self.looks.iter().flat_map(move |look| {
            let out = look.comparisons.iter().filter(|comparison| self.is_out(comparison));
            let name = |one: &LookComparison| self.candidates.get(one.candidate).map(String::as_str);
            out.filter_map(name).map(move |name| (name, look)).collect::<Vec<_>>()
        })
    }
}

/// Scores of two candidates in the blocks in which both count: the logs of their ratios.
pub(super) fn log_ratios(plan: &Plan, run: &Run, candidate: &str, other: &str) -> Vec<f64> {
    let pair = [candidate.to_owned(), other.to_owned()];
    rows(plan, run, &pair).into_iter().filter_map(|row| Some(row[0]? - row[1]?)).collect()
}

/// The blocks in which every one of these candidates counts, one score each; candidates without any are left out.
pub(super) fn full_rows(plan: &Plan, run: &Run, candidates: &[&str]) -> Vec<Vec<f64>> {
    let owned: Vec<String> = candidates.iter().map(|name| (*name).to_owned()).collect();
    let rows = rows(plan, run, &owned);
    let present: Vec<usize> =
        (0..owned.len()).filter(|&index| rows.first().is_some_and(|row| row[index].is_some())).collect();
    rows.iter().filter_map(|row| present.iter().map(|&index| row[index]).collect()).collect()
}

/// The weights of the goal that count, by phase. No weights in a plan mean: every phase the same.
pub fn weights(plan: &Plan) -> BTreeMap<String, f64> {
    let every = || plan.phases.iter().map(|phase| (phase.name.clone(), 1.0)).collect();
    let given: BTreeMap<String, f64> =
        if plan.goal.weights.is_empty() { every() } else { plan.goal.weights.clone() };
    given.into_iter().filter(|(_, weight)| *weight > 0.0).collect()
}

/// Which way a metric is better; one that nobody knows any more goes by its unit.
pub fn better_of(name: &str, unit: Unit) -> Better {
    match (metric(name).or_else(|| adapter_metric(name)), unit) {
        (Some(known), _) => known.better,
        (None, Unit::BytesPerSecond | Unit::PerSecond) => Better::Higher,
        (None, Unit::Seconds | Unit::Bytes) => Better::Lower,
        (None, Unit::Ratio | Unit::Count) => Better::Neither,
    }
}

/// The goal of one trial as one number, smaller is better: the weighted mean of the logs of the goal's metric.
/// `None` when a phase that counts was not measured or measured as nothing.
pub(super) fn log_score(plan: &Plan, weights: &BTreeMap<String, f64>, trial: &Trial) -> Option<f64> {
    let mut sum = 0.0;
    for (phase, weight) in weights {
        let observation = trial.observations.iter().find(|observation| observation.phase == *phase)?;
        let found = observation.measurements.iter().find(|found| found.metric == plan.goal.metric)?;
        let sign = if better_of(&found.metric, found.unit) == Better::Higher { -1.0 } else { 1.0 };
        sum += weight * sign * Some(log(found.value)).filter(|log| log.is_finite())?;
    }
    let total: f64 = weights.values().sum();
    // A plan of an earlier version may hold weights that make an infinity of either.
    Some(sum / total).filter(|score| total > 0.0 && score.is_finite())
}

/// One row per block that counts, one score per candidate.
fn rows(plan: &Plan, run: &Run, candidates: &[String]) -> Vec<Vec<Option<f64>>> {
    let weights = weights(plan);
    let trials: Blocks<'_> = run.trials.iter().filter(|trial| trial.counts()).collect();
    let score = |block: u32, name: &String| log_score(plan, &weights, trials.trial(block, name)?);
    run.prefix().map(|block| candidates.iter().map(|name| score(block.block, name)).collect()).collect()
}
