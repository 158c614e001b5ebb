//! Examines states after a power cut in guests: many in each guest, and several guests at a time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fsverdict_disk::crash::{CrashState, WriteLog};
use fsverdict_judgement::journal::{CutOutcome, Event, LossAges, StateFinding, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::TrialEnd;
use fsverdict_lab::trial::TrialSpec;
use fsverdict_stack::filesystem::find_filesystem;
use fsverdict_text::Reason;

use super::kept::KeptFindings;
use super::record::CutRecord;
use super::{CutName, PowerCutting, to_fault_error};
use crate::error::FaultError;
use crate::guest_batches::{GuestDeath, examine_in_batches};
use crate::interruptions::Interruptions;

/// The largest number of states that one guest examines. A guest that dies loses only the rest of its batch.
const LARGEST_BATCH: usize = 250;
/// The same when programs are run in each state: they check their own data, or import a pool.
const LARGEST_BATCH_WITH_PROGRAMS: usize = 50;
/// Time for each of the programs that are run in one state: the plan's timeout is for one trial, and a guest examines many
/// states.
const TIMEOUT_OF_PROGRAM: Duration = Duration::from_secs(30);

/// States of a candidate that are to be examined.
pub(super) struct CutStates<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) part: u32,
    pub(super) states: &'a [CrashState],
    pub(super) record: &'a CutRecord,
    pub(super) log: &'a WriteLog,
}

impl CutStates<'_> {
    fn cut_name(&self, state: CrashState) -> CutName {
        CutName { part: self.part, state }
    }

    /// How many programs are run in each state; those that import, scrub and export a pool count as one.
    fn programs_in_state(&self) -> usize {
        let has_pool =
            find_filesystem(&self.candidate.filesystem).is_some_and(|filesystem| filesystem.pool.is_some());
        self.record.promises.rechecks.len() + usize::from(has_pool)
    }
}

impl PowerCutting<'_> {
    /// Examines those of the states for which there are no findings yet, and keeps the findings. `report_progress` is called with
    /// the number of states examined so far, and of all.
    pub(super) fn examine_states(
        &self,
        asked: &CutStates<'_>,
        kept: &KeptFindings,
        report_progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(), FaultError> {
        let known: HashSet<String> = kept.findings().into_iter().map(|finding| finding.state).collect();
        let is_known = |state: &CrashState| known.contains(&asked.cut_name(*state).to_string());
        let remaining: Vec<CrashState> =
            asked.states.iter().copied().filter(|state| !is_known(state)).collect();
        let total = asked.states.len();
        let examined = AtomicUsize::new(total - remaining.len());
        let largest_batch =
            if asked.programs_in_state() > 0 { LARGEST_BATCH_WITH_PROGRAMS } else { LARGEST_BATCH };
        let guests = self.choice.lab.side_by_side().unwrap_or(1);
        examine_in_batches(&remaining, guests, largest_batch, self.time, |batch, guest| {
            let findings = self.examine_batch(asked, batch, guest)?;
            let excludes = |finding: &StateFinding| {
                finding.outcome.is_loss() && finding.outcome != CutOutcome::LossReported
            };
            let is_excluded = !self.faults.accept_loss && findings.iter().any(excludes);
            kept.add_findings(findings)?;
            report_progress(examined.fetch_add(batch.len(), Ordering::Relaxed) + batch.len(), total);
            Ok(is_excluded)
        })
    }

    /// Examines these states in one guest, and in another one after each state that a guest does not survive. Each guest
    /// first examines the undamaged device, which must be mounted: otherwise it is not the power cut that damaged it.
    fn examine_batch(
        &self,
        asked: &CutStates<'_>,
        states: &[CrashState],
        guest: usize,
    ) -> Result<Vec<StateFinding>, FaultError> {
        let CutStates { candidate, part, record, log, .. } = *asked;
        let mut findings: Vec<StateFinding> = Vec::with_capacity(states.len());
        let mut interruptions = Interruptions::default();
        while let Some(remaining) = states.get(findings.len()..).filter(|remaining| !remaining.is_empty()) {
            let entered = self.files_of_devices(candidate, part, record, log, remaining)?;
            let attachments = self.attachments.clone().with_logs(entered);
            let spec = self.trial_spec(candidate, part);
            let programs = asked.programs_in_state() * (remaining.len() + 1);
            let programs = u32::try_from(programs).unwrap_or(u32::MAX);
            let limit = spec.limit.max(TIMEOUT_OF_PROGRAM.saturating_mul(programs));
            let waits_freely = self.choice.lab.side_by_side().is_some();
            let look = record.look_for(log, remaining, waits_freely);
            let spec = TrialSpec { cuts: Some(look), limit, ..spec };
            let (mut step_number, mut reported) = (None, Vec::new());
            let mut watch = |event: Event| match event {
                Event::StepStarted { step } => step_number = step.parse::<usize>().ok().or(step_number),
                // One finding too many shows that the guest reports too many; keeping more would only take memory.
                Event::AfterCut(finding) if reported.len() <= remaining.len() + 1 => {
                    reported.push(finding.with_bounded_text());
                }
                _ => {}
            };
            let end = self.choice.lab.run_trial(&spec, &attachments, guest, &mut watch)?;
            // A guest numbers its states from 0, and reports each of them.
            let in_order = reported.len() <= remaining.len() + 1
                && (0..).zip(&reported).all(|(number, finding)| finding.state == number.to_string());
            // A guest that was stopped had come to the early states alone: of its batch none counts.
            if end.status == Status::Failed && self.is_time_up() {
                return Ok(Vec::new());
            }
            if interruptions.count_spoiled(&end)? {
                continue;
            }
            if !in_order {
                return Err(to_fault_error("a guest did not tell of each state"));
            }
            let examined_here = reported.len();
            let mut reported = reported.into_iter();
            match reported.next() {
                Some(undamaged) => require_undamaged(candidate, &undamaged)?,
                None if interruptions.count_interruption(&end)? => continue,
                None if end.status == Status::Failed && interruptions.is_first_death_at(findings.len()) => {
                    continue;
                }
                None => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
            findings.extend(reported.zip(remaining).map(|(finding, state)| StateFinding {
                state: asked.cut_name(*state).to_string(),
                ..finding
            }));
            match remaining.get(examined_here - 1) {
                None => {}
                // An interruption from outside says nothing about the state that the guest examined.
                Some(_) if interruptions.count_interruption(&end)? => {}
                Some(state) if step_number == Some(examined_here) && end.status == Status::Failed => {
                    if interruptions.is_first_death_at(findings.len()) {
                        continue;
                    }
                    findings.push(finding_of_death(asked.cut_name(*state), &end));
                }
                Some(_) => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
        }
        Ok(findings)
    }
}

/// Requires that the undamaged device of a candidate was mounted, and that its checker had nothing to repair. Files are
/// not asked for: after the last cut the trial may have removed them.
fn require_undamaged(candidate: &Candidate, finding: &StateFinding) -> Result<(), FaultError> {
    if !matches!(finding.outcome, CutOutcome::Unmountable | CutOutcome::Repaired) {
        return Ok(());
    }
    let (name, outcome, seen) = (&candidate.name, finding.outcome.words(), &finding.seen);
    Err(FaultError::Refused(Reason::new(
        format!("the device of {name} is not as it should be without any power cut ({outcome}): {seen}"),
        "this says nothing of the filesystem after a power cut: try its options by hand, or leave those out that the \
         message names",
    )))
}

/// The finding for a state that a guest did not survive.
fn finding_of_death(state: CutName, end: &TrialEnd) -> StateFinding {
    let death = GuestDeath::from_end(end);
    StateFinding {
        state: state.to_string(),
        outcome: if death.has_panicked { CutOutcome::Panic } else { CutOutcome::Hang },
        broken: Vec::new(),
        seen: death.description,
        back_s: 0.0,
        ages: LossAges::default(),
    }
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::journal::{CutOutcome, LossAges, StateFinding};
    use fsverdict_judgement::plan::Candidate;

    use super::require_undamaged;

    #[test]
    fn an_undamaged_device_that_is_not_mounted_is_not_held_against_a_candidate() {
        let finding = |outcome| StateFinding {
            state: "0".to_owned(),
            outcome,
            broken: Vec::new(),
            seen: "mount failed: Unknown parameter 'nofail'".to_owned(),
            back_s: 0.0,
            ages: LossAges::default(),
        };
        let candidate = Candidate::with_defaults("ext4");
        for outcome in [CutOutcome::Unharmed, CutOutcome::Replayed, CutOutcome::SilentLoss] {
            require_undamaged(&candidate, &finding(outcome)).unwrap();
        }
        for outcome in [CutOutcome::Unmountable, CutOutcome::Repaired] {
            let error = require_undamaged(&candidate, &finding(outcome)).unwrap_err().to_string();
            assert!(error.contains("of ext4 is not as it should be without any power cut"), "{error}");
            assert!(error.contains("'nofail'"), "{error}");
        }
    }
}
