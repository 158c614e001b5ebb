//! What filesystems do by themselves beside the phases: how much of a phase's time that was, and how candidates compare without it.

use serde::Serialize;

use super::{Rank, VerdictEvidence};
use crate::journal::{BackgroundWork, Trial};
use crate::statistics::{Estimate, Evidence};

/// Less than this share of a phase's time changes nothing.
const SHARE: f64 = 0.05;

/// What nothing in a phase asked for. Means over the candidate's trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Background {
    pub candidate: String,
    pub phase: String,
    /// Seconds of the phase in which the device had such a request …
    pub seconds: f64,
    /// … of all that it took until durable.
    pub of: f64,
    pub requests: f64,
    /// Seconds of the rest for each 10⁹ bytes that the phase read or wrote; `None` where those were not counted.
    pub rest_per_gigabyte: Option<f64>,
    /// What it was.
    pub work: Vec<BackgroundWork>,
    /// Whom the candidate is compared with: the first of the ranking. `None` for that one itself.
    pub against: Option<String>,
    /// How many times as long it takes for the goal when the time of such requests is taken off, its own and the other's.
    pub behind: Option<Estimate>,
}

/// Every candidate and phase of the goal where that is a part of the time, in the order of the ranking.
pub(super) fn background(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Background> {
    let leader = ranking.first().map(|rank| rank.candidate.as_str());
    let of = |candidate: &str, phase: &str| {
        let mean = |metric: &str| {
            let values: Vec<f64> =
                evidence.trials.of(candidate).filter_map(|trial| trial.value(phase, metric)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (seconds, of) = (mean("background")?, mean("durable")?);
        if seconds < SHARE * of {
            return None;
        }
        let rest = of - seconds;
        let against = leader.filter(|leader| *leader != candidate);
        let less = |trial: &Trial| without(evidence, trial);
        let behind = against.filter(|_| evidence.objective.metric == "durable").and_then(|leader| {
            Some(Evidence::of(&evidence.trials.differences(candidate, leader, less))?.ratio_at_the_stop())
        });
        let mut work: Vec<BackgroundWork> = Vec::new();
        for one in evidence.trials.of(candidate).flat_map(|trial| &trial.learnt.background) {
            if one.phases.contains(phase) && !work.iter().any(|known| known.does == one.does) {
                work.push(one.clone());
            }
        }
        Some(Background {
            candidate: candidate.to_owned(),
            phase: phase.to_owned(),
            seconds,
            of,
            requests: mean("background_requests")?,
            rest_per_gigabyte: mean("logical_bytes")
                .filter(|bytes| *bytes > 0.0)
                .map(|bytes| rest / bytes * 1e9),
            work,
            against: against.map(str::to_owned),
            behind,
        })
    };
    let phases = evidence.objective.phases();
    ranking.iter().flat_map(|rank| phases.iter().filter_map(|phase| of(&rank.candidate, phase))).collect()
}

/// The goal of a trial without the time in which its device had requests that nothing asked for.
fn without(evidence: &VerdictEvidence<'_>, trial: &Trial) -> Option<f64> {
    evidence.objective.log_score_changed(trial, |phase| -trial.value(phase, "background").unwrap_or(0.0))
}
