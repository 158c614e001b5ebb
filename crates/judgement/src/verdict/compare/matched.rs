//! Matches the candidates of two runs by name.

use super::LeftOut;
use crate::journal::{CandidateStatus, Run};
use crate::plan::is_twin;

/// Which candidates are compared, and which are left out.
pub(super) struct MatchedCandidates<'a> {
    /// The names of candidates that were measured in both runs.
    pub(super) common: Vec<&'a str>,
    /// Candidates that were measured before and failed after.
    pub(super) broken: Vec<LeftOut>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> MatchedCandidates<'a> {
    pub(super) fn from_runs(before: &'a Run, after: &'a Run) -> Self {
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
    pub(super) fn reasons(&self) -> Vec<String> {
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
