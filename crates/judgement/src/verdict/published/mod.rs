//! Checks published findings against this run: each holds, no longer holds or cannot be decided.
//!
//! A finding is decided only where the samples are certain enough: by the interval of the ratio within blocks, or of
//! two numbers of one candidate within its trials. Every other finding is reported as undecidable, with the reason.

mod legacy;
mod reach;
mod sides;

pub use legacy::{Combined, combine_as_study, legacy_name};

use serde::Serialize;

use crate::journal::{Beginning, Better, Trial, Unit, is_of_cpu};
use crate::plan::{Assertion, Candidate, Denominator, GOAL, Plan, Published, once_each};
use crate::statistics::Evidence;

use crate::verdict::free_computation::has_computing;
use crate::verdict::limits::ratio_errors::{RatioErrors, RatioTerm, unknown_factor};
use crate::verdict::work::find;
use crate::verdict::{ByBlock, FreeComputation, Objective, PhaseEstimate};
use sides::{FindingSide, FindingSides, Test, decide, pair_with_best};

/// Whether a finding still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    Holds,
    NoLongerHolds,
    CannotTell,
}

impl FindingStatus {
    /// The verdict in words for reports.
    pub fn words(self) -> &'static str {
        match self {
            FindingStatus::Holds => "holds",
            FindingStatus::NoLongerHolds => "no longer holds",
            FindingStatus::CannotTell => "cannot be told here",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FindingReason {
    /// The pair of candidates that decides, and how many times better one is than the other.
    Pair {
        /// The candidate that the finding calls better, or the best one.
        one: String,
        /// The candidate that the finding calls worse, or the worst one.
        other: String,
        ratio: f64,
        #[serde(flatten)]
        bounds: Bounds,
        limit: f64,
        /// The factor by which the numbers may also be wrong because the device is modelled; 1 on a real device.
        error: f64,
    },
    /// The share that decides: one number of a candidate as a fraction of another number of the same candidate.
    Share {
        candidate: String,
        /// The metric of the other number.
        of_metric: String,
        /// The phase of the other number.
        of_phase: String,
        share: f64,
        #[serde(flatten)]
        bounds: Bounds,
        limit: f64,
        /// The factor by which the numbers may also be wrong because the device is modelled; 1 on a real device.
        error: f64,
    },
    /// The run has no numbers to compare.
    NotMeasured,
    /// The metric does not say which way is better.
    NoDirection,
    /// The finding is about CPU time, or about encryption or compression, which cost CPU time. A modelled device
    /// charges no time for computation unless the plan has a CPU price.
    CpuIsFree,
}

/// The bounds of a number's interval, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Bounds {
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

impl From<Option<(f64, f64)>> for Bounds {
    fn from(bounds: Option<(f64, f64)>) -> Self {
        let (low, high) = bounds.unzip();
        Self { low, high }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThenAndNow {
    #[serde(flatten)]
    pub published: Published,
    pub now: FindingStatus,
    pub because: FindingReason,
    /// The estimates for the candidates that the finding names, in its phase.
    pub measured: Vec<PhaseEstimate>,
    /// Candidates that the finding names but that have no number in this run.
    pub missing: Vec<String>,
}

/// What a finding is judged with, besides the estimates.
#[derive(Clone, Copy)]
struct FindingContext<'a> {
    blocks: &'a ByBlock<'a>,
    /// The goal as a whole, which a finding may be about.
    objective: &'a Objective,
    tie: f64,
    /// Whether the device is a model.
    modelled: bool,
    /// By how much the models' times may be wrong, where that is known.
    errors: Option<&'a RatioErrors>,
}

impl FindingContext<'_> {
    /// The factor by which a ratio of these numbers may be wrong because the device is modelled; 1 on a real device.
    fn error(&self, terms: &[RatioTerm<'_>]) -> f64 {
        match self.errors {
            _ if !self.modelled => 1.0,
            Some(errors) => errors.factor(self.blocks, self.objective, terms),
            None => unknown_factor(terms),
        }
    }
}

/// Judges every published finding of the plan.
pub fn then_and_now(
    plan: &Plan,
    beginning: &Beginning,
    estimates: &[PhaseEstimate],
    blocks: &ByBlock<'_>,
    free: &FreeComputation,
) -> Vec<ThenAndNow> {
    let modelled = plan.device.source.is_modelled();
    let objective = Objective::from_plan(plan);
    let errors = RatioErrors::of_run(beginning);
    let errors = errors.as_ref();
    let bench = FindingContext { blocks, objective: &objective, tie: plan.protocol.tie, modelled, errors };
    let estimates = [estimates, &of_goal(plan, &bench)].concat();
    let computes = |name: &str| {
        let known = plan.find_candidate(name);
        known.is_some_and(has_computing) && free.applies_to(name)
    };
    let judge = |published: &Published| {
        let mut asked = published.clone();
        if let Assertion::Spread { among, .. } = &mut asked.claim {
            // A spread over all candidates leaves out those that a modelled device favours by not charging for
            // computation.
            if among.is_empty() {
                *among = plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
            }
            among.retain(|name| !computes(name));
        }
        let judged = judge_one(&asked, &estimates, bench);
        let judged = ThenAndNow { published: published.clone(), ..judged };
        let is_about_cpu = published.about_cpu || is_of_cpu(&published.metric);
        let is_all_free = plan.candidates.iter().all(|candidate| free.applies_to(&candidate.name));
        let named = || asked.claim.candidates();
        let is_hidden = |one: &str| computes(one) || named().any(|other| free.hides_order(one, other));
        let is_hidden = is_about_cpu && is_all_free || named().any(is_hidden);
        let unknown = ThenAndNow {
            now: FindingStatus::CannotTell,
            because: FindingReason::CpuIsFree,
            ..judged.clone()
        };
        if is_hidden { unknown } else { judged }
    };
    plan.published.iter().map(judge).collect()
}

/// Estimates of the goal for every candidate, as if the goal were a phase; empty where no finding is about the goal.
fn of_goal(plan: &Plan, bench: &FindingContext<'_>) -> Vec<PhaseEstimate> {
    if plan.published.iter().all(|published| published.phase != GOAL) {
        return Vec::new();
    }
    let metric = plan.goal.metric.as_str();
    let of = |candidate: &Candidate| {
        let trials: Vec<&Trial> = bench.blocks.trials_of(&candidate.name).collect();
        let mut observations = trials.iter().flat_map(|trial| &trial.observations);
        let kind = observations.find_map(|observation| observation.find_measurement(metric))?;
        let scores = trials.iter().filter_map(|trial| bench.objective.log_score(trial));
        // A score is a cost, so a rate is inverted again to show it as the metric itself.
        let sign = kind.direction().cost_sign();
        let logs: Vec<f64> = scores.map(|score| sign * score).collect();
        let ends = logs
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log| (least.min(*log), most.max(*log)));
        Some(PhaseEstimate {
            candidate: candidate.name.clone(),
            phase: GOAL.to_owned(),
            metric: metric.to_owned(),
            unit: kind.unit,
            better: kind.better,
            estimate: Evidence::from_sample(&logs)?.ratio(),
            set_aside: 0,
            min: libm::exp(ends.0),
            max: libm::exp(ends.1),
        })
    };
    plan.candidates.iter().filter_map(of).collect()
}

fn judge_one<'a>(
    published: &Published,
    estimates: &'a [PhaseEstimate],
    bench: FindingContext<'a>,
) -> ThenAndNow {
    let in_phase = |name: &str, phase: &str| find(estimates, name, phase, &published.metric);
    let here = |name: &String| in_phase(name, &published.phase);
    // The side exists only where the number that it is divided by was also measured.
    let side = |found: &'a PhaseEstimate, of: &Denominator| {
        let base = |of: &Denominator| {
            let candidate = of.of.get(&found.candidate).unwrap_or(&found.candidate);
            let phase = of.of_phase.as_ref().unwrap_or(&found.phase);
            let metric = of.of_metric.as_ref().unwrap_or(&found.metric);
            find(estimates, candidate, phase, metric)
        };
        let of = if of.is_none() { None } else { Some(base(of)?) };
        Some(FindingSide { found, of, objective: bench.objective })
    };
    let named: Vec<String> = once_each(published.candidates().map(str::to_owned));
    let all =
        estimates.iter().filter(|found| found.phase == published.phase && found.metric == published.metric);
    let measured: Vec<&PhaseEstimate> =
        if named.is_empty() { all.collect() } else { named.iter().filter_map(here).collect() };
    let missing: Vec<String> = named.iter().filter(|name| here(name).is_none()).cloned().collect();
    let finding = |now: FindingStatus, because: FindingReason, measured: Vec<&PhaseEstimate>| ThenAndNow {
        published: published.clone(),
        now,
        because,
        measured: measured.into_iter().cloned().collect(),
        missing: missing.clone(),
    };
    let (test, pairs): (Test, Vec<FindingSides<'_>>) = match &published.claim {
        Assertion::Better { better, than, than_phase, by, of } => {
            let there = than_phase.as_ref().unwrap_or(&published.phase);
            let others = than.iter().filter_map(|name| side(in_phase(name, there)?, of));
            let others: Vec<FindingSide<'_>> = others.collect();
            let ones = better.iter().filter_map(|name| side(here(name)?, of));
            let pairs =
                ones.flat_map(|one| others.iter().map(move |other| FindingSides::new(bench, one, *other)));
            (Test::Better { by: *by }, pairs.collect())
        }
        Assertion::Alike { alike, within, of } => {
            let alike = alike.iter().filter_map(|name| side(here(name)?, of)).collect();
            (Test::Alike { within: *within }, pair_with_best(bench, alike))
        }
        Assertion::Spread { spread, among, at_most } => {
            let is_of = |found: &&&PhaseEstimate| among.is_empty() || among.contains(&found.candidate);
            let among = measured.iter().filter(is_of);
            let among =
                among.map(|found| FindingSide { found, of: None, objective: bench.objective }).collect();
            (Test::Spread { spread: *spread, at_most: *at_most }, pair_with_best(bench, among))
        }
        Assertion::Reach { reach, share, of_metric, of_phase } => {
            let metric = of_metric.as_ref().unwrap_or(&published.metric);
            let phase = of_phase.as_ref().unwrap_or(&published.phase);
            let (now, because) = reach::judge(published, estimates, bench, reach, *share, metric, phase);
            return finding(now, because, measured);
        }
    };
    let (now, because) = if pairs.is_empty() {
        (FindingStatus::CannotTell, FindingReason::NotMeasured)
    } else if pairs.iter().any(|pair| pair.one.found.direction() == Better::Neither) {
        (FindingStatus::CannotTell, FindingReason::NoDirection)
    } else {
        decide(test, &pairs, bench)
    };
    finding(now, because, measured)
}

/// Whether the published unit is the metric's unit here, so that the two figures can be shown side by side.
pub fn same_quantity(published: &Published, unit: Unit) -> bool {
    match unit {
        Unit::Seconds => matches!(published.unit.as_str(), "s" | "min" | "h"),
        other => published.unit == other.word(),
    }
}

#[cfg(test)]
mod tests;
