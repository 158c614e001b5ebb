//! The result of each candidate of a run (measured, skipped or failed), and the order in which reports list them.

use super::Verdict;
use crate::journal::{CandidateState, CandidateStatus, Run};
use crate::plan::{Candidate, Plan};
use crate::statistics::Estimate;

#[derive(Debug, Clone, PartialEq)]
pub struct CandidateEntry<'a> {
    /// The candidate in the plan; `None` where the plan no longer names it.
    pub plan: Option<&'a Candidate>,
    pub name: &'a str,
    pub status: CandidateStatus,
    /// Why it was skipped, failed, or is no longer tried.
    pub why: NoNumbersReason<'a>,
    pub hint: &'a str,
    /// How many times worse than the leader for the goal it is; 1 for the leader.
    pub behind: Option<Estimate>,
}

/// Why a candidate has no numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoNumbersReason<'a> {
    /// The reason in the journal; empty where there is none.
    Stated(&'a str),
    /// It was tried this many times and no trial counts; `failed` is the reason of the last trial that failed.
    Discarded { trials: usize, failed: Option<&'a str> },
}

impl NoNumbersReason<'_> {
    pub fn is_nothing(&self) -> bool {
        *self == NoNumbersReason::Stated("")
    }
}

/// The measured candidates by rank, then those without a score; failed and skipped ones come last.
pub(crate) fn list_candidates<'a>(
    plan: &'a Plan,
    run: &'a Run,
    verdict: &Verdict,
    measured: &[&str],
    ratio: impl Fn(&str, &str) -> Option<Estimate>,
) -> Vec<CandidateEntry<'a>> {
    let place = |name: &str| verdict.ranking.iter().position(|rank| rank.candidate == name);
    let behind = |name: &str| {
        let place = place(name)?;
        if let Some(leader) = verdict.leader_beside(name) {
            return ratio(name, leader);
        }
        let leader = Estimate::without_interval(1.0, verdict.blocks);
        verdict.ranking[place].behind.or((verdict.place_in_ranking(name) == Some(0)).then_some(leader))
    };
    let entry = |state: &'a CandidateState| CandidateEntry {
        plan: plan.find_candidate(&state.name),
        name: &state.name,
        // Trials of discarded blocks are shown where there are no others.
        status: match state.status {
            CandidateStatus::Untried if measured.contains(&state.name.as_str()) => CandidateStatus::Ok,
            status => status,
        },
        why: match &state.dropped {
            Some(evidence) if state.reason.is_empty() => NoNumbersReason::Stated(evidence),
            None if state.status == CandidateStatus::Untried => explain_no_trials(run, &state.name),
            _ => NoNumbersReason::Stated(&state.reason),
        },
        hint: &state.hint,
        behind: behind(&state.name),
    };
    let mut entries: Vec<CandidateEntry<'a>> = run.candidates.iter().map(entry).collect();
    let group = |entry: &CandidateEntry<'_>| match entry.status {
        CandidateStatus::Ok => 0,
        CandidateStatus::Untried => 1,
        CandidateStatus::Failed => 2,
        CandidateStatus::Skipped => 3,
    };
    // The sort is stable, so that equal entries stay in the plan's order.
    entries.sort_by_key(|entry| (group(entry), place(entry.name).unwrap_or(usize::MAX)));
    entries
}

/// The reason for a candidate without a trial that counts.
fn explain_no_trials<'a>(run: &'a Run, candidate: &str) -> NoNumbersReason<'a> {
    let trials = || run.trials.iter().filter(|trial| trial.id.candidate == candidate);
    let failed = trials().rfind(|trial| !trial.reason.is_empty());
    match trials().count() {
        0 => NoNumbersReason::Stated(""),
        trials => NoNumbersReason::Discarded { trials, failed: failed.map(|trial| trial.reason.as_str()) },
    }
}
