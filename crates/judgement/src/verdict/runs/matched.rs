//! Selects the subjects of a comparison of two runs: the candidates that both have by name, the phases, and the costs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::journal::{CandidateStatus, Run};
use crate::plan::{Plan, is_twin, once_each};

/// A candidate that was not compared, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub candidate: String,
    pub reason: String,
}

impl LeftOut {
    pub(super) fn new(candidate: &str, reason: impl Into<String>) -> Self {
        Self { candidate: candidate.to_owned(), reason: reason.into() }
    }
}

/// Which candidates are compared, and which are left out.
pub(crate) struct MatchedCandidates<'a> {
    /// The names of candidates that were measured in both runs.
    pub(crate) common: Vec<&'a str>,
    /// Candidates that were measured before and failed after.
    pub(crate) broken: Vec<LeftOut>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl<'a> MatchedCandidates<'a> {
    pub(crate) fn from_runs(before: &'a Run, after: &'a Run) -> Self {
        let mut matched = MatchedCandidates { common: Vec::new(), broken: Vec::new(), left_out: Vec::new() };
        for one in before.candidates.iter().filter(|state| !is_twin(&state.name)) {
            let mut leave = |reason: String| matched.left_out.push(LeftOut::new(&one.name, reason));
            let Some(other) = after.candidates.iter().find(|state| state.name == one.name) else {
                leave("not in the run after".to_owned());
                continue;
            };
            match (one.status, other.status) {
                (CandidateStatus::Ok, CandidateStatus::Ok) => matched.common.push(&one.name),
                (CandidateStatus::Ok, CandidateStatus::Failed) => {
                    matched.broken.push(LeftOut::new(&one.name, &other.reason));
                }
                (CandidateStatus::Ok, status) => {
                    leave(format!("{} after{}", describe_status(status), append_reason(&other.reason)));
                }
                (status, _) => {
                    leave(format!("{} before{}", describe_status(status), append_reason(&one.reason)));
                }
            }
        }
        for other in after.candidates.iter().filter(|state| !is_twin(&state.name)) {
            if !before.candidates.iter().any(|state| state.name == other.name) {
                matched.left_out.push(LeftOut::new(&other.name, "not in the run before"));
            }
        }
        matched
    }

    /// The reasons why candidates were left out.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.left_out.iter().map(|left| format!("{}: {}", left.candidate, left.reason)).collect()
    }
}

fn describe_status(status: CandidateStatus) -> &'static str {
    match status {
        CandidateStatus::Ok => "measured",
        CandidateStatus::Untried => "not tried yet",
        CandidateStatus::Skipped => "skipped",
        CandidateStatus::Failed => "failed",
    }
}

fn append_reason(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Metrics shown beside the goal's metric for information; they decide nothing.
const COSTS: [&str; 3] = ["cpu", "cpu_kernel", "device_written"];

/// Further metrics shown where the kernels differ: the requests to the device.
const REQUESTS: [&str; 4] = ["device_read", "device_reads", "device_writes", "device_flushes"];

/// The phases that are judged: those of the plan, and a step such as fsck where the goal gives it a weight.
pub(crate) fn headline_phases<'a>(plan: &'a Plan, weights: &'a BTreeMap<String, f64>) -> Vec<&'a str> {
    let mut names: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    names.extend(
        weights
            .keys()
            .map(String::as_str)
            .filter(|name| !plan.phases.iter().any(|phase| phase.name == *name)),
    );
    names
}

/// The costs of the judged phases, and the time of the steps around them.
pub(crate) fn costs_shown<'a>(
    run: &'a Run,
    headline: &[&'a str],
    goal: &str,
    another_kernel: bool,
) -> Vec<(&'a str, &'static str)> {
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for name in headline {
        let costs = COSTS.iter().chain(REQUESTS.iter().filter(|_| another_kernel));
        shown.extend(costs.filter(|cost| **cost != goal).map(|cost| (*name, *cost)));
    }
    let observations = run.trials.iter().flat_map(|trial| &trial.observations);
    let steps = once_each(observations.map(|observation| observation.phase.as_str()));
    shown.extend(steps.into_iter().filter(|name| !headline.contains(name)).map(|name| (name, "durable")));
    shown
}
