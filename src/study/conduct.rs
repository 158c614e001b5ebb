//! The loop over blocks and trials.

use std::time::Instant;

use crate::journal::{Event, JournalError, Run, Status, TrialId, Writer};
use crate::lab::{Disk, Lab, LabError, TrialEnd};
use crate::plan::{Candidate, Plan};
use crate::trial::{TrialDevice, TrialSpec};

use super::progress::Observer;
use super::schedule::order;

/// A candidate is given up after this many failed trials in a row.
const GIVE_UP_AFTER: u32 = 2;

/// A study had to be given up.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A trial could not even be started.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Nothing to try.
    #[error("no candidate can be tried here")]
    Nothing,
}

/// A plan being carried out.
pub struct Study<'a> {
    /// What is to be found out.
    pub plan: &'a Plan,
    /// Where.
    pub lab: &'a dyn Lab,
    /// On what.
    pub disk: Disk,
    /// The record.
    pub journal: Writer,
    /// Who wants to know.
    pub observer: &'a mut dyn Observer,
}

impl Study<'_> {
    /// Conducts the study from where the journal stands (`so_far`; `None` for a new one) to its end.
    ///
    /// # Errors
    /// When the journal cannot be written or trials cannot be started. Failed trials are no errors.
    pub fn conduct(&mut self, so_far: Option<&Run>) -> Result<(), StudyError> {
        let started = Instant::now();
        let mut candidates = self.surviving(so_far)?;
        let mut failures: Vec<u32> = vec![0; self.plan.candidates.len()];
        let (mut block, mut attempt) = next_block(so_far);
        let mut pending = so_far.and_then(Run::resume_point).cloned();
        let last = self.plan.protocol.blocks.min;
        loop {
            if candidates.is_empty() {
                return if block == 1 {
                    Err(StudyError::Nothing)
                } else {
                    self.finish("no candidate is left")
                };
            }
            if block > last {
                return self.finish(&format!("{last} block(s), as planned"));
            }
            if self.plan.protocol.budget.is_some_and(|budget| started.elapsed() >= budget) {
                return self.finish("the time budget is spent");
            }
            let names = match pending.take() {
                Some(state) => state.remaining().map(str::to_owned).collect(),
                None => self.begin_block(block, attempt, &candidates)?,
            };
            let blocks_to_come = u64::from(last - block);
            self.observer.expect(names.len() as u64 + blocks_to_come * candidates.len() as u64);
            for name in names {
                let Some(index) = self.plan.candidates.iter().position(|candidate| candidate.name == name)
                else {
                    continue;
                };
                let status = self.trial(block, attempt, &self.plan.candidates[index])?;
                failures[index] = if status == Status::Ok { 0 } else { failures[index] + 1 };
                if failures[index] >= GIVE_UP_AFTER {
                    let reason = format!("{GIVE_UP_AFTER} trials in a row failed");
                    self.tell(None, Event::CandidateDropped { candidate: name.clone(), reason })?;
                    candidates.retain(|candidate| *candidate != name);
                }
            }
            self.tell(None, Event::BlockFinished { block, attempt, invalid: None })?;
            self.observer.block_ended();
            block += 1;
            attempt = 1;
        }
    }

    /// The candidates that can be tried here; the others are told once, at the beginning.
    fn surviving(&mut self, so_far: Option<&Run>) -> Result<Vec<String>, StudyError> {
        if let Some(run) = so_far {
            self.tell(None, Event::RunResumed {})?;
            let out = |name: &String| {
                run.candidates.iter().any(|state| {
                    state.name == *name
                        && (state.dropped.is_some()
                            || state.status == crate::journal::CandidateStatus::Skipped)
                })
            };
            return Ok(self.names().filter(|name| !out(name)).collect());
        }
        let mut able = Vec::new();
        for candidate in &self.plan.candidates {
            match self.lab.obstacle(candidate) {
                None => able.push(candidate.name.clone()),
                Some(obstacle) => {
                    let candidate = candidate.name.clone();
                    let (reason, hint) = (obstacle.reason, obstacle.hint);
                    self.tell(None, Event::CandidateSkipped { candidate, reason, hint })?;
                }
            }
        }
        Ok(able)
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.plan.candidates.iter().map(|candidate| candidate.name.clone())
    }

    fn begin_block(
        &mut self,
        block: u32,
        attempt: u32,
        candidates: &[String],
    ) -> Result<Vec<String>, StudyError> {
        let order = order(self.plan.protocol.seed, block, attempt, candidates);
        self.tell(None, Event::BlockStarted { block, attempt, order: order.clone() })?;
        Ok(order)
    }

    fn trial(&mut self, block: u32, attempt: u32, candidate: &Candidate) -> Result<Status, StudyError> {
        let id = TrialId { block, candidate: candidate.name.clone(), attempt };
        self.tell(Some(&id), Event::TrialStarted {})?;
        let spec = TrialSpec {
            trial: id.clone(),
            seed: self.plan.protocol.seed,
            candidate: candidate.clone(),
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            device: TrialDevice::Guest { path: "/dev/null".into() },
            limit: self.plan.protocol.timeout,
            modules: None,
        };
        let lab = self.lab;
        let disk = self.disk.clone();
        let mut broken = None;
        let mut watch = |event| {
            if let Err(error) = self.tell(Some(&id), event) {
                broken.get_or_insert(error);
            }
        };
        let TrialEnd { status, reason, wall } = lab.run(spec, &disk, &mut watch)?;
        if let Some(error) = broken {
            return Err(error);
        }
        self.disk = disk.after_first_write();
        self.tell(Some(&id), Event::TrialFinished { status, reason, wall })?;
        Ok(status)
    }

    fn finish(&mut self, reason: &str) -> Result<(), StudyError> {
        self.tell(None, Event::RunFinished { reason: reason.to_owned() })
    }

    fn tell(&mut self, trial: Option<&TrialId>, event: Event) -> Result<(), StudyError> {
        let record = self.journal.append(trial, event)?;
        self.observer.event(trial, &record.event);
        Ok(())
    }
}

/// The block to go on with, and which attempt at it.
fn next_block(so_far: Option<&Run>) -> (u32, u32) {
    let Some(last) = so_far.and_then(|run| run.blocks.last()) else { return (1, 1) };
    match (last.finished, &last.invalid) {
        (false, _) => (last.block, last.attempt),
        (true, Some(_)) => (last.block, last.attempt + 1),
        (true, None) => (last.block + 1, 1),
    }
}
