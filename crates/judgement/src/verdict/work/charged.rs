//! The share of computation in each phase where a processor model charges for it, and bounds on the ranking if it were
//! free.
//!
//! Part of the computation overlaps with the device's work, and how much is unknown. Without computation, a phase takes
//! at least its time less all charged time, and at most its present time.

use serde::Serialize;

use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence};
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

/// Charged computation in one phase: means over the candidate's trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedPhase {
    pub candidate: String,
    pub phase: String,
    /// CPU seconds that were charged, over all processors.
    pub seconds: f64,
    /// Seconds until the phase was durable. With several processors, the charged seconds may exceed it.
    pub of: f64,
}

/// Charged computation of one candidate over the phases of the goal.
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
    let goal_phases = evidence.objective.phases();
    let in_phase = |candidate: &str, phase: &str| {
        let mean = |metric: &str| {
            let values: Vec<f64> =
                evidence.trials.trials_of(candidate).filter_map(|trial| trial.value(phase, metric)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (candidate, phase) = (candidate.to_owned(), phase.to_owned());
        Some(ChargedPhase { seconds: mean("charged")?, of: mean("durable")?, candidate, phase })
    };
    let of_ranking =
        ranking.iter().flat_map(|rank| goal_phases.iter().map(move |phase| (&rank.candidate, phase)));
    let phases: Vec<ChargedPhase> =
        of_ranking.filter_map(|(candidate, phase)| in_phase(candidate, phase)).collect();
    let of_candidate = |rank: &Rank| {
        let phases_of_candidate = phases.iter().filter(|phase| phase.candidate == rank.candidate);
        let (seconds, of) =
            phases_of_candidate.fold((0.0, 0.0), |(seconds, of), one| (seconds + one.seconds, of + one.of));
        (of > 0.0).then(|| charged_candidate(evidence, &rank.candidate, leader, [seconds, of]))
    };
    let candidates: Vec<ChargedCandidate> = ranking.iter().filter_map(of_candidate).collect();
    (!candidates.is_empty()).then(|| ChargedComputation { leader: leader.clone(), phases, candidates })
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
