//! Background work of filesystems during phases: its share of the time, and how candidates compare without it.

use serde::Serialize;

use crate::journal::{BackgroundWork, Trial};
use crate::statistics::{self, Estimate};
use crate::verdict::{Rank, VerdictEvidence};

/// Background work below this share of a phase's time is ignored.
const SHARE: f64 = 0.05;

/// Requests to the device that no operation of the phase caused: means over the candidate's trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Background {
    pub candidate: String,
    pub phase: String,
    /// Seconds of the phase in which the device had such a request.
    pub seconds: f64,
    /// Seconds that the phase took until it was durable.
    pub of: f64,
    pub requests: f64,
    /// Seconds of the remaining time per 10⁹ bytes that the phase read or wrote; `None` where those were not counted.
    pub rest_per_gigabyte: Option<f64>,
    /// The kinds of background work.
    pub work: Vec<BackgroundWork>,
    /// The candidate compared with, which is the first of the ranking; `None` for the first itself.
    pub against: Option<String>,
    /// The ratio of the goals when the time of such requests is subtracted from both.
    pub behind: Option<Estimate>,
}

/// Every candidate and phase of the goal with a noticeable share of background work, in the order of the ranking.
pub(crate) fn find_background(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Background> {
    let leader = ranking.first().map(|rank| rank.candidate.as_str());
    let of = |candidate: &str, phase: &str| {
        let mean = |metric: &str| {
            let values: Vec<f64> =
                evidence.trials.trials_of(candidate).filter_map(|trial| trial.value(phase, metric)).collect();
            statistics::mean(&values)
        };
        let (seconds, of) = (mean("background")?, mean("durable")?);
        if seconds < SHARE * of {
            return None;
        }
        let rest = of - seconds;
        let against = leader.filter(|leader| *leader != candidate);
        let less = |trial: &Trial| score_without_background(evidence, trial);
        let behind = against
            .filter(|leader| !evidence.free.hides_order(candidate, leader))
            .filter(|_| evidence.objective.metric == "durable")
            .and_then(|leader| evidence.trials.ratio(candidate, leader, less));
        let mut work: Vec<BackgroundWork> = Vec::new();
        for one in evidence.trials.trials_of(candidate).flat_map(|trial| &trial.learnt.background) {
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

/// The logarithm of a trial's goal without the time in which its device had background requests.
fn score_without_background(evidence: &VerdictEvidence<'_>, trial: &Trial) -> Option<f64> {
    evidence.objective.log_score_changed(trial, |phase| -trial.value(phase, "background").unwrap_or(0.0))
}
