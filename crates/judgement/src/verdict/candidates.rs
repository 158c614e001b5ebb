//! How each candidate of a run fared, and in which order they are shown.

use super::Verdict;
use crate::journal::{CandidateState, CandidateStatus, Run};
use crate::plan::{Candidate, Plan};
use crate::statistics::Estimate;

#[derive(Debug, Clone, PartialEq)]
pub struct CandidateEntry<'a> {
    /// As the plan has it; `None` where the plan no longer names it.
    pub plan: Option<&'a Candidate>,
    pub name: &'a str,
    pub status: CandidateStatus,
    /// Why it was skipped, failed, or is not tried any more.
    pub why: Why<'a>,
    pub hint: &'a str,
    /// How many times worse than the leader for the goal; 1 for the leader.
    pub behind: Option<Estimate>,
}

/// What became of a candidate without numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why<'a> {
    /// As the journal has it; empty where there is nothing to say.
    Said(&'a str),
    /// It was tried so often, and none of that counts; the last trial that failed did for this reason.
    Discarded { trials: usize, failed: Option<&'a str> },
}

impl Why<'_> {
    pub fn is_nothing(&self) -> bool {
        *self == Why::Said("")
    }
}

/// Measured ones by rank, then those without a score, failed and skipped ones last.
pub(super) fn candidates<'a>(
    plan: &'a Plan,
    run: &'a Run,
    verdict: &Verdict,
    measured: &[&str],
) -> Vec<CandidateEntry<'a>> {
    let place = |name: &str| verdict.ranking.iter().position(|rank| rank.candidate == name);
    let behind = |name: &str| {
        let place = place(name)?;
        let leader = Estimate::without_interval(1.0, verdict.blocks);
        verdict.ranking[place].behind.or((place == 0).then_some(leader))
    };
    let entry = |state: &'a CandidateState| CandidateEntry {
        plan: plan.candidates.iter().find(|candidate| candidate.name == state.name),
        name: &state.name,
        // What was thrown out with its block is shown all the same where there is nothing else.
        status: match state.status {
            CandidateStatus::Untried if measured.contains(&state.name.as_str()) => CandidateStatus::Ok,
            status => status,
        },
        why: match &state.dropped {
            Some(evidence) if state.reason.is_empty() => Why::Said(evidence),
            None if state.status == CandidateStatus::Untried => discarded(run, &state.name),
            _ => Why::Said(&state.reason),
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
    // A stable sort: what is equal stays in the plan's order.
    entries.sort_by_key(|entry| (group(entry), place(entry.name).unwrap_or(usize::MAX)));
    entries
}

/// What became of the trials of a candidate of which none counts.
fn discarded<'a>(run: &'a Run, candidate: &str) -> Why<'a> {
    let own = || run.trials.iter().filter(|trial| trial.id.candidate == candidate);
    let failed = own().rfind(|trial| !trial.reason.is_empty());
    match own().count() {
        0 => Why::Said(""),
        trials => Why::Discarded { trials, failed: failed.map(|trial| trial.reason.as_str()) },
    }
}
