//! How much of each phase is computation where a processor model prices it, and what is known of the ranking if it were free.
//!
//! Part of the computation passes while the device works, and how much is not known. So a phase without computation takes at least
//! what is left when all that was charged is taken off, and at most what it takes now.

use serde::Serialize;

use super::{Rank, VerdictEvidence};
use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence};

/// The share of computation in the times of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedComputation {
    /// The first of the ranking.
    pub leader: String,
    /// Every phase of the goal of every candidate that was charged, in the order of the ranking.
    pub phases: Vec<ChargedPhase>,
    /// Every candidate that was charged, in the order of the ranking.
    pub candidates: Vec<ChargedCandidate>,
}

/// Means over the candidate's trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedPhase {
    pub candidate: String,
    pub phase: String,
    /// Seconds of processors that were charged …
    pub seconds: f64,
    /// … and seconds that it took until durable. With several processors the former may be more.
    pub of: f64,
}

/// The same over the phases of the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargedCandidate {
    pub candidate: String,
    pub seconds: f64,
    pub of: f64,
    /// How many times as much as the leader it takes for the goal at least if computation is free: without all of its own
    /// computation, the leader with all of it. `None` for the leader, where nothing would be left, and for other goals than time.
    pub free_at_least: Option<Estimate>,
    /// Whether it might lead by more than the tie if computation were free.
    pub might_lead_if_free: bool,
}

/// What was charged to those of a ranking; `None` where computation had no price.
pub(super) fn charged_computation(
    evidence: &VerdictEvidence<'_>,
    ranking: &[Rank],
) -> Option<ChargedComputation> {
    let leader = &ranking.first()?.candidate;
    let goal_phases = evidence.objective.phases();
    let in_phase = |candidate: &str, phase: &str| {
        let mean = |metric: &str| {
            let values: Vec<f64> =
                evidence.trials.of(candidate).filter_map(|trial| trial.value(phase, metric)).collect();
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
        let own = phases.iter().filter(|one| one.candidate == rank.candidate);
        let (seconds, of) = own.fold((0.0, 0.0), |(seconds, of), one| (seconds + one.seconds, of + one.of));
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
        .and_then(|logs| Some(Evidence::of(&logs)?.ratio_at_the_stop()));
    let nearer = |ratio: &Estimate| ratio.point < 1.0 / (1.0 + evidence.tie());
    ChargedCandidate {
        candidate: candidate.to_owned(),
        seconds,
        of,
        might_lead_if_free: compared && free_at_least.as_ref().is_none_or(nearer),
        free_at_least,
    }
}
