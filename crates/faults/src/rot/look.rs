//! Rotten blocks looked at in guests: many in each, and so many guests at once as there is room for.

use std::sync::Mutex;
use std::thread::scope;
use std::time::Duration;

use fsverdict_disk::crash::{Decay, RottenBlock};
use fsverdict_judgement::journal::{BlockUse, Event, PlacedRot, RotFinding, RotOutcome, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::{LogPurpose, TrialEnd, WriteLogFile};
use fsverdict_lab::trial::{RotLook, TrialSpec};
use fsverdict_text::Reason;

use crate::error::FaultError;
use crate::interruptions::Interruptions;
use crate::power_cuts::{CutRecord, PowerCutting, plain};

/// Blocks that one guest looks at, at most: one that dies takes no more with it than are left of these.
const BATCH: usize = 60;
/// What the plan allows a trial may be too little for a guest that looks at so many.
const LIMIT: Duration = Duration::from_secs(600);
/// How much of a guest's end is told, in letters.
const SEEN: usize = 600;

impl PowerCutting<'_> {
    /// Looks at these, so many guests at once as there is room for.
    pub(super) fn look_at_rot(
        &self,
        candidate: &Candidate,
        blocks: &[(RottenBlock, BlockUse)],
        record: &CutRecord,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<PlacedRot>, FaultError> {
        let in_all = blocks.len();
        let jobs = self.choice.lab.side_by_side().unwrap_or(1).max(1);
        let batch = blocks.len().div_ceil(jobs).clamp(1, BATCH);
        let waiting = Mutex::new(blocks.chunks(batch));
        let found: Mutex<Vec<PlacedRot>> = Mutex::new(Vec::with_capacity(blocks.len()));
        let take = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        let work = |job: usize| -> Result<(), FaultError> {
            while let Some(blocks) = take() {
                let findings = self.rot_batch(candidate, blocks, record, job)?;
                if let Ok(mut found) = found.lock() {
                    found.extend(findings);
                    tell(found.len(), in_all);
                }
            }
            Ok(())
        };
        scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        found.into_inner().map_err(|_| plain("a thread was lost"))
    }
    /// Looks at these, in one guest after the other where one does not survive a block. Each guest begins with the device as it was
    /// left, of which nothing may come.
    fn rot_batch(
        &self,
        candidate: &Candidate,
        blocks: &[(RottenBlock, BlockUse)],
        record: &CutRecord,
        job: usize,
    ) -> Result<Vec<PlacedRot>, FaultError> {
        let mut findings: Vec<PlacedRot> = Vec::with_capacity(blocks.len());
        let mut interruptions = Interruptions::default();
        while let Some(left) = blocks.get(findings.len()..).filter(|left| !left.is_empty()) {
            let first = std::iter::once(None).chain(left.iter().map(|(rotten, _)| Some(*rotten)));
            let first: Vec<Option<RottenBlock>> = first.collect();
            let whole = vec![None; first.len()];
            let logs = (1..=self.attachments.each().count()).map(|device| WriteLogFile {
                device,
                file: self.log_file(candidate, 0, device),
                purpose: LogPurpose::Rot { blocks: if device == 1 { first.clone() } else { whole.clone() } },
            });
            let attachments = self.attachments.clone().with_logs(logs.collect());
            let rewrites =
                first.iter().map(|rotten| rotten.is_some_and(|rotten| rotten.decay == Decay::Unwritable));
            let rot = RotLook { folders: record.folders.clone(), rewrites: rewrites.collect() };
            let spec = self.spec(candidate, 0);
            let spec = TrialSpec { rot: Some(rot), limit: spec.limit.max(LIMIT), ..spec };
            let (mut at, mut told) = (None, Vec::new());
            let mut watch = |event: Event| match event {
                Event::StepStarted { step } => at = step.parse::<usize>().ok().or(at),
                // One more than there are shows that the guest reports too many; more of them would only take memory.
                Event::AfterRot(finding) if told.len() <= first.len() => told.push(finding.bounded()),
                _ => {}
            };
            let end = self.choice.lab.run(&spec, &attachments, job, &mut watch)?;
            // A guest counts from its first block on, and tells of each.
            let in_order = told.len() <= first.len()
                && (0..).zip(&told).all(|(number, finding)| finding.state == number.to_string());
            if !in_order {
                return Err(plain("a guest did not tell of each block"));
            }
            let done = told.len();
            let mut told = told.into_iter();
            match told.next() {
                Some(control) if control.outcome == RotOutcome::Unharmed => {}
                Some(control) => {
                    return Err(plain(format!(
                        "the device of {} is not as it should be without any rot ({}): {}",
                        candidate.name,
                        control.outcome.words(),
                        control.seen
                    )));
                }
                None if interruptions.take(&end)? => continue,
                None if end.status == Status::Failed && interruptions.is_first_death_at(findings.len()) => {
                    continue;
                }
                None => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
            findings.extend(told.zip(left).map(|(finding, (rotten, held))| PlacedRot {
                held: *held,
                finding: RotFinding { state: rotten.to_string(), ..finding },
            }));
            match left.get(done - 1) {
                None => {}
                // What ends a guest from outside says nothing about the block it is at.
                Some(_) if interruptions.take(&end)? => {}
                Some((rotten, held)) if at == Some(done) && end.status == Status::Failed => {
                    if interruptions.is_first_death_at(findings.len()) {
                        continue;
                    }
                    findings.push(PlacedRot { held: *held, finding: died(*rotten, &end) });
                }
                Some(_) => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
        }
        Ok(findings)
    }
}

/// A guest that did not survive a block.
fn died(rotten: RottenBlock, end: &TrialEnd) -> RotFinding {
    let panicked = end.killed || end.reason.contains("panic");
    let outcome = if panicked { RotOutcome::Panic } else { RotOutcome::Hang };
    let why = end.interrupted.map_or(String::new(), |interruption| format!("{interruption}: "));
    let seen = format!("{why}{}", end.reason).chars().take(SEEN).collect();
    RotFinding {
        state: rotten.to_string(),
        outcome,
        noticed: Vec::new(),
        broken: Vec::new(),
        seen,
        sync: None,
    }
}
