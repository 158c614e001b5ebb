//! The share of computation in each phase where a processor model charges for it, and bounds on the ranking if it were
//! free.
//!
//! Part of the computation overlaps with the device's work, and how much is unknown. Without computation, a phase takes
//! at least its time less all charged time, and at most its present time.

use serde::Serialize;

use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence};
use crate::verdict::work::paired::side_by_side;
use crate::verdict::{Rank, VerdictEvidence};

/// The share of computation in the times of the ranked candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedComputation {
    /// The first of the ranking.
    pub leader: String,
    /// Every phase of the goal of every charged candidate, in the order of the ranking.
    pub phases: Vec<ChargedPhase>,
    /// Every charged candidate, in the order of the ranking.
    pub candidates: Vec<ChargedCandidate>,
}

/// Charged computation in one phase, side by side with the leader within blocks, as in the tables of the phases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedPhase {
    pub candidate: String,
    pub phase: String,
    /// CPU seconds that were charged, over all processors.
    pub seconds: f64,
    /// Seconds until the phase was durable. With several processors, the charged seconds may exceed it.
    pub of: f64,
}

/// Charged computation of one candidate over the phases of the goal, each counted as often as in the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedCandidate {
    pub candidate: String,
    pub seconds: f64,
    pub of: f64,
    /// The lower bound of its ratio to the leader if computation were free: its own computation subtracted, the
    /// leader's kept.
    /// `None` for the leader, where nothing would remain, and for goals other than time.
    pub free_at_least: Option<Estimate>,
    /// Whether it might lead by more than the tie if computation were free.
    pub might_lead_if_free: bool,
}

/// The computation charged to the ranked candidates; `None` where computation had no price.
pub(crate) fn charged_computation(
    evidence: &VerdictEvidence<'_>,
    ranking: &[Rank],
) -> Option<ChargedComputation> {
    let leader = &ranking.first()?.candidate;
    let names: Vec<&str> = ranking.iter().map(|rank| rank.candidate.as_str()).collect();
    let beside = |number: &dyn Fn(&Trial) -> Option<f64>| -> Vec<Option<f64>> {
        let estimates = side_by_side(evidence.trials, Some(leader), &names, number).into_iter();
        estimates.map(|estimate| estimate.map(|estimate| estimate.point)).collect()
    };
    let by_phase = evidence.objective.phases().into_iter().map(|phase| {
        let [seconds, of] = ["charged", "durable"].map(|metric| beside(&|trial| trial.value(phase, metric)));
        (phase, seconds, of)
    });
    let by_phase: Vec<_> = by_phase.collect();
    let in_phases = names.iter().enumerate().flat_map(|(at, candidate)| {
        by_phase.iter().filter_map(move |(phase, seconds, of)| {
            let (candidate, phase) = ((*candidate).to_owned(), (*phase).to_owned());
            Some(ChargedPhase { seconds: seconds[at]?, of: of[at]?, candidate, phase })
        })
    });
    let phases: Vec<ChargedPhase> = in_phases.collect();
    let [seconds, of] =
        ["charged", "durable"].map(|metric| beside(&|trial| sum_over_goal(evidence, trial, metric)));
    let sums = names.iter().zip(seconds).zip(of);
    let candidates: Vec<ChargedCandidate> = sums
        .filter_map(|((name, seconds), of)| Some((name, seconds?, of.filter(|of| *of > 0.0)?)))
        .map(|(name, seconds, of)| charged_candidate(evidence, name, leader, [seconds, of]))
        .collect();
    (!candidates.is_empty()).then(|| ChargedComputation { leader: leader.clone(), phases, candidates })
}

/// The sum of a metric over the phases of the goal, each as often as the goal counts it where that is a total, else once.
fn sum_over_goal(evidence: &VerdictEvidence<'_>, trial: &Trial, metric: &str) -> Option<f64> {
    let objective = evidence.objective;
    let times = |weight: f64| if objective.is_total() { weight } else { 1.0 };
    objective.weights.iter().map(|(phase, weight)| Some(times(*weight) * trial.value(phase, metric)?)).sum()
}

fn charged_candidate(
    evidence: &VerdictEvidence<'_>,
    candidate: &str,
    leader: &str,
    [seconds, of]: [f64; 2],
) -> ChargedCandidate {
    let is_of_time = evidence.objective.metric == "durable";
    let without = |trial: &Trial| {
        let less = |phase: &str| -trial.value(phase, "charged").unwrap_or(0.0);
        evidence.objective.log_score_changed(trial, less)
    };
    let with = |trial: &Trial| evidence.objective.log_score_changed(trial, |_| 0.0);
    let compared = candidate != leader && is_of_time;
    let free_at_least = compared
        .then(|| evidence.trials.differences_of(candidate, without, leader, with))
        .and_then(|logs| Some(Evidence::from_sample(&logs)?.ratio_after_stopping_rule()));
    let nearer = |ratio: &Estimate| ratio.point < 1.0 / (1.0 + evidence.tie());
    ChargedCandidate {
        candidate: candidate.to_owned(),
        seconds,
        of,
        might_lead_if_free: compared && free_at_least.as_ref().is_none_or(nearer),
        free_at_least,
    }
}
