//! Examines rotten blocks in guests: many in each guest, and several guests at a time.

use std::sync::Mutex;
use std::time::Duration;

use fsverdict_disk::crash::{Decay, RottenBlock};
use fsverdict_judgement::journal::{BlockUse, Event, PlacedRot, RotFinding, RotOutcome, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::{LogPurpose, TrialEnd, WriteLogFile};
use fsverdict_lab::trial::{RotLook, TrialSpec};
use fsverdict_text::Reason;

use crate::error::FaultError;
use crate::guest_batches::{GuestDeath, examine_in_batches};
use crate::interruptions::Interruptions;
use crate::power_cuts::{CutRecord, PowerCutting, to_fault_error};

/// The largest number of blocks that one guest examines. A guest that dies loses only the rest of its batch.
const LARGEST_BATCH: usize = 60;
/// The shortest timeout of a guest: the plan's timeout is for one trial, and a guest examines many blocks.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(600);

impl PowerCutting<'_> {
    /// Examines these blocks. `report_progress` is called with the number of blocks examined so far, and of all.
    pub(super) fn examine_rotten_blocks(
        &self,
        candidate: &Candidate,
        blocks: &[(RottenBlock, BlockUse)],
        record: &CutRecord,
        report_progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<PlacedRot>, FaultError> {
        let guests = self.choice.lab.side_by_side().unwrap_or(1);
        let findings: Mutex<Vec<PlacedRot>> = Mutex::new(Vec::with_capacity(blocks.len()));
        examine_in_batches(blocks, guests, LARGEST_BATCH, self.time, |batch, guest| {
            let of_batch = self.examine_batch_of_rot(candidate, batch, record, guest)?;
            let is_excluded =
                !self.faults.accept_loss && of_batch.iter().any(|placed| placed.finding.outcome.is_grave());
            if let Ok(mut findings) = findings.lock() {
                findings.extend(of_batch);
                report_progress(findings.len(), blocks.len());
            }
            Ok(is_excluded)
        })?;
        let mut findings = findings.into_inner().map_err(|_| to_fault_error("a thread was lost"))?;
        // In the order of the blocks, whichever guest was the first to end.
        findings.sort_by_key(|placed| placed.finding.state.parse::<RottenBlock>().ok());
        Ok(findings)
    }

    /// Examines these blocks in one guest, and in another one after each block that a guest does not survive. Each guest first
    /// examines the device without rot, which must be unharmed.
    fn examine_batch_of_rot(
        &self,
        candidate: &Candidate,
        blocks: &[(RottenBlock, BlockUse)],
        record: &CutRecord,
        guest: usize,
    ) -> Result<Vec<PlacedRot>, FaultError> {
        let mut findings: Vec<PlacedRot> = Vec::with_capacity(blocks.len());
        let mut interruptions = Interruptions::default();
        while let Some(remaining) = blocks.get(findings.len()..).filter(|remaining| !remaining.is_empty()) {
            let states = std::iter::once(None).chain(remaining.iter().map(|(rotten, _)| Some(*rotten)));
            let states: Vec<Option<RottenBlock>> = states.collect();
            let unharmed = vec![None; states.len()];
            let logs = (1..=self.attachments.iter().count()).map(|device| WriteLogFile {
                device,
                file: self.log_file(candidate, 0, device),
                purpose: LogPurpose::Rot {
                    blocks: if device == 1 { states.clone() } else { unharmed.clone() },
                },
            });
            let attachments = self.attachments.clone().with_logs(logs.collect());
            let rewrites =
                states.iter().map(|rotten| rotten.is_some_and(|rotten| rotten.decay == Decay::Unwritable));
            let rot = RotLook { folders: record.promises.folders.clone(), rewrites: rewrites.collect() };
            let spec = self.trial_spec(candidate, 0);
            let spec = TrialSpec { rot: Some(rot), limit: spec.limit.max(SHORTEST_TIMEOUT), ..spec };
            let (mut step_number, mut reported) = (None, Vec::new());
            let mut watch = |event: Event| match event {
                Event::StepStarted { step } => step_number = step.parse::<usize>().ok().or(step_number),
                // One finding too many shows that the guest reports too many; keeping more would only take memory.
                Event::AfterRot(finding) if reported.len() <= states.len() => {
                    reported.push(finding.with_bounded_text());
                }
                _ => {}
            };
            let end = self.choice.lab.run_trial(&spec, &attachments, guest, &mut watch)?;
            // Blocks that a guest reported before it was stopped count; the rest of its batch is left.
            let is_stopped = end.status == Status::Failed && self.is_time_up();
            if interruptions.count_spoiled(&end)? {
                if is_stopped {
                    return Ok(findings);
                }
                continue;
            }
            // A guest numbers its states from 0, and reports each of them.
            let in_order = reported.len() <= states.len()
                && (0..).zip(&reported).all(|(number, finding)| finding.state == number.to_string());
            if !in_order {
                return Err(to_fault_error("a guest did not tell of each block"));
            }
            let examined_here = reported.len();
            let mut reported = reported.into_iter();
            match reported.next() {
                Some(control) if control.outcome == RotOutcome::Unharmed => {}
                Some(control) => {
                    return Err(to_fault_error(format!(
                        "the device of {} is not as it should be without any rot ({}): {}",
                        candidate.name,
                        control.outcome.words(),
                        control.seen
                    )));
                }
                None if is_stopped => return Ok(findings),
                None if interruptions.count_interruption(&end)? => continue,
                None if end.status == Status::Failed && interruptions.is_first_death_at(findings.len()) => {
                    continue;
                }
                None => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
            findings.extend(reported.zip(remaining).map(|(finding, (rotten, held))| PlacedRot {
                held: *held,
                finding: RotFinding { state: rotten.to_string(), ..finding },
            }));
            match remaining.get(examined_here - 1) {
                None => {}
                Some(_) if is_stopped => return Ok(findings),
                // An interruption from outside says nothing about the block that the guest examined.
                Some(_) if interruptions.count_interruption(&end)? => {}
                Some((rotten, held))
                    if step_number == Some(examined_here) && end.status == Status::Failed =>
                {
                    if interruptions.is_first_death_at(findings.len()) {
                        continue;
                    }
                    findings.push(PlacedRot { held: *held, finding: finding_of_death(*rotten, &end) });
                }
                Some(_) => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
        }
        Ok(findings)
    }
}

/// The finding for a block that a guest did not survive.
fn finding_of_death(rotten: RottenBlock, end: &TrialEnd) -> RotFinding {
    let death = GuestDeath::from_end(end);
    RotFinding {
        state: rotten.to_string(),
        outcome: if death.has_panicked { RotOutcome::Panic } else { RotOutcome::Hang },
        noticed: Vec::new(),
        broken: Vec::new(),
        seen: death.description,
        sync: None,
    }
}
