//! The loop over blocks and trials.

use crate::journal::{Caution, Ending, Event, JournalError, Observation, Run, Surroundings, TrialId, Writer};
use crate::lab::{Disk, Lab, LabError, TrialEnd};
use crate::plan::{Candidate, Plan};
use crate::trial::{Staging, TrialDevice, TrialSpec};

use super::conclusion::{Conclusion, still_in};
use super::disturbance::broken_rule;
use super::lookout::Lookout;
use super::progress::Observer;
use super::room::shortage;
use super::schedule::order;

/// A study had to be given up.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A trial could not even be started.
    #[error(transparent)]
    Lab(#[from] LabError),
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
    /// Who watches the machine.
    pub lookout: &'a mut dyn Lookout,
}

impl Study<'_> {
    /// Conducts the study from where the journal stands (`so_far`; `None` for a new one) to its end.
    ///
    /// # Errors
    /// When the journal cannot be written or trials cannot be started. Failed trials are no errors.
    pub fn conduct(&mut self, so_far: Option<&Run>) -> Result<(), StudyError> {
        let mut candidates = self.surviving(so_far)?;
        if candidates.is_empty() {
            let reason = "no candidate can be tried here".to_owned();
            return self.tell(None, Event::RunFinished { reason, ending: Some(Ending::Nobody) });
        }
        let (mut block, mut attempt) = next_block(so_far);
        let mut pending = so_far.and_then(Run::resume_point).cloned();
        // The conclusion of the last block may not have come into the journal.
        let between = so_far.is_some_and(|run| !run.blocks.is_empty() && run.resume_point().is_none());
        if between && self.conclude(&mut candidates)? {
            return Ok(());
        }
        let blocks = self.plan.protocol.blocks;
        loop {
            let names = match pending.take() {
                Some(state) => state.remaining().map(str::to_owned).collect(),
                None => self.begin_block(block, attempt, &candidates)?,
            };
            // What is certain to come; an adaptive run may take more.
            let blocks_to_come = u64::from(blocks.min.saturating_sub(block));
            self.observer.expect(names.len() as u64 + blocks_to_come * candidates.len() as u64);
            let valid = self.block(block, attempt, &names)?;
            self.observer.block_ended();
            if self.conclude(&mut candidates)? {
                return Ok(());
            }
            (block, attempt) = if valid { (block + 1, 1) } else { (block, attempt + 1) };
        }
    }

    /// Runs the trials of a block, or what is left of them. Whether it counts: that hangs on the machine, never on what
    /// was measured.
    fn block(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<bool, StudyError> {
        let plan = self.plan;
        for name in names {
            if let Some(candidate) = plan.candidates.iter().find(|candidate| candidate.name == *name) {
                self.trial(block, attempt, candidate)?;
            }
        }
        let invalid = match &plan.protocol.disturbed {
            Some(limits) => broken_rule(limits, &self.so_far()?, block, attempt),
            None => None,
        };
        let valid = invalid.is_none();
        self.tell(None, Event::BlockFinished { block, attempt, invalid })?;
        Ok(valid)
    }

    /// Looks at everything measured so far: drops who takes no further part, and ends the study when nothing is left to
    /// find out. Whether it ended.
    fn conclude(&mut self, candidates: &mut Vec<String>) -> Result<bool, StudyError> {
        let Conclusion { drop, end } = Conclusion::of(self.plan, &self.so_far()?);
        for (candidate, reason) in drop {
            candidates.retain(|other| *other != candidate);
            self.tell(None, Event::CandidateDropped { candidate, reason })?;
        }
        match end {
            Some((reason, ending)) => {
                self.tell(None, Event::RunFinished { reason, ending: Some(ending) })?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn so_far(&self) -> Result<Run, StudyError> {
        Ok(Run::derive(self.plan, &crate::journal::read(self.journal.path())?)?)
    }

    /// The candidates that can be tried here; the others are told once, at the beginning.
    fn surviving(&mut self, so_far: Option<&Run>) -> Result<Vec<String>, StudyError> {
        let mut known: Option<Vec<String>> = None;
        if let Some(run) = so_far {
            self.tell(None, Event::RunResumed {})?;
            let still_in: Vec<String> = still_in(self.plan, run).map(str::to_owned).collect();
            if !run.blocks.is_empty() {
                return Ok(still_in);
            }
            // It was interrupted before all that cannot be tried had been told.
            known = Some(still_in);
        }
        let mut able = Vec::new();
        for candidate in &self.plan.candidates {
            if known.as_ref().is_some_and(|known| !known.contains(&candidate.name)) {
                continue;
            }
            let shortage = || shortage(self.plan, candidate, self.disk.size());
            match self.lab.obstacle(candidate).or_else(shortage) {
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

    /// Runs a trial. One that fails is no error here: the journal tells it. One that was killed is done again, once: an
    /// accident says nothing about the candidate.
    fn trial(&mut self, block: u32, attempt: u32, candidate: &Candidate) -> Result<(), StudyError> {
        let id = TrialId { block, candidate: candidate.name.clone(), attempt };
        let mut end = self.try_once(&id, candidate, None)?;
        if end.killed {
            end = self.try_once(&id, candidate, Some(&end.reason))?;
        }
        let TrialEnd { status, reason, wall, .. } = end;
        self.tell(Some(&id), Event::TrialFinished { status, reason, wall })
    }

    /// Everything of a trial but its end. What an earlier try recorded is nobody's from the new beginning on.
    fn try_once(
        &mut self,
        id: &TrialId,
        candidate: &Candidate,
        killed: Option<&str>,
    ) -> Result<TrialEnd, StudyError> {
        self.lookout.begin();
        self.tell(Some(id), Event::TrialStarted {})?;
        if let Some(reason) = killed {
            let first = reason.split([';', '\n']).next().unwrap_or_default();
            self.caution(id, format!("tried a second time, since {first}"))?;
        }
        let spec = TrialSpec {
            trial: id.clone(),
            seed: self.plan.protocol.seed,
            candidate: candidate.clone(),
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            device: TrialDevice::Guest { path: "/dev/null".into() },
            staging: Staging::Memory,
            idle_load: 0.0,
            limit: self.plan.protocol.timeout,
            modules: None,
        };
        let lab = self.lab;
        let disk = self.disk.clone();
        let mut broken = None;
        let mut own_bytes = 0;
        let mut watch = |event| {
            if let Event::Observation(observation) = &event {
                own_bytes += bytes_at_most(observation);
            }
            if let Err(error) = self.tell(Some(id), event) {
                broken.get_or_insert(error);
            }
        };
        let end = lab.run(spec, &disk, &mut watch)?;
        if let Some(error) = broken {
            return Err(error);
        }
        self.disk = disk.after_first_write();
        let seen = Surroundings { stopped: end.stopped, ..self.lookout.end(own_bytes) };
        if end.stopped {
            self.caution(id, "it was stopped for a while and went on: its times hold the pause".to_owned())?;
        }
        if seen != Surroundings::default() {
            self.tell(Some(id), Event::Surroundings(seen))?;
        }
        Ok(end)
    }

    fn caution(&mut self, id: &TrialId, text: String) -> Result<(), StudyError> {
        self.tell(Some(id), Event::Caution(Caution { phase: String::new(), text }))
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

/// What a step may have moved on the disk at most: what was read, and what was written and then read again to be
/// verified.
fn bytes_at_most(observation: &Observation) -> u64 {
    let of = |name: &str| {
        let found = observation.measurements.iter().find(|found| found.metric == name);
        // Bytes are whole and not negative.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        found.map_or(0, |found| found.value as u64)
    };
    of("device_read") + 2 * of("device_written")
}
