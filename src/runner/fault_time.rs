//! The time that remains for examining faults, shared among the candidates that are still to be examined.

use std::time::Instant;

use crate::study::fault_deadline;
use fsverdict_faults::ExaminationTime;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;

/// When the examination has to end; no limit where the user asks for the faults by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultTime {
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
        let time_left = self.deadline?.saturating_duration_since(now);
        now.checked_add(time_left / u32::try_from(of.max(1)).unwrap_or(u32::MAX))
    }

    pub(super) fn is_up(self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}
