//! The time that remains for examining faults, shared among the candidates that are still to be examined.

use std::time::Instant;

use crate::study::{RunFolder, fault_deadline};
use fsverdict_faults::ExaminationTime;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_judgement::verdict::Judgement;
use fsverdict_linux::host::talk::print_line;
use fsverdict_text::{Reason, quoted};

/// When the examination has to end; no limit where the user asks for the faults by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FaultTime {
    deadline: Option<Instant>,
}

impl FaultTime {
    /// The remaining time of a run (`--for`).
    pub(super) fn left_of_run(plan: &Plan, run: &Run) -> Self {
        FaultTime { deadline: fault_deadline(plan, run) }
    }

    /// A share of the time that is left: one of so many equal ones.
    pub(super) fn share(self, of: usize) -> Self {
        FaultTime { deadline: self.end_of_share(of) }
    }

    /// The time for the first of so many candidates.
    pub(super) fn for_one_of(self, candidates: usize) -> ExaminationTime {
        ExaminationTime { share_ends: self.end_of_share(candidates), deadline: self.deadline }
    }

    /// When the first of so many equal shares of the time ends.
    fn end_of_share(self, of: usize) -> Option<Instant> {
        let now = Instant::now();
        let left = self.deadline?.saturating_duration_since(now);
        now.checked_add(left / u32::try_from(of.max(1)).unwrap_or(u32::MAX))
    }

    pub(super) fn is_up(self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// Sorts candidates by the goal, so that those that could be recommended are examined first: the leader of each protection
/// level before any other.
pub(super) fn sort_by_rank(plan: &Plan, run: &Run, candidates: &mut [&Candidate]) {
    let judged = Judgement::of(plan, run);
    candidates.sort_by_key(|candidate| judged.verdict.place(&candidate.name).unwrap_or(usize::MAX));
}

/// Names the candidates that are not examined because the time of the run is up.
pub(super) fn report_unexamined(folder: &RunFolder, fault: &str, candidates: &[&Candidate]) {
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    let run = quoted(&folder.path().to_string_lossy());
    let what = format!("{fault}: not examined, because the time of the run is up: {}", names.join(", "));
    print_line(
        &Reason::new(what, format!("`fsverdict crash {run}` examines them without a limit")).to_string(),
    );
}
