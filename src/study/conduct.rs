//! The loop over blocks and trials.

use crate::journal::{Caution, Ending, Event, JournalError, Observation, OpenJournal, Surroundings, TrialId};
use crate::lab::{Lab, LabError, Medium, Obstacle, TrialEnd};
use crate::plan::{Candidate, Plan};
use crate::trial::TrialSpec;

use super::conclusion::{Conclusion, still_in};
use super::disturbance::broken_rule;
use super::observer::Observer;
use super::room::shortage;
use super::schedule::order;
use super::staged::{changed, mixed};
use super::watcher::Watcher;

/// A study had to be given up.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// A plan being carried out.
pub struct Study<'a> {
    pub plan: &'a Plan,
    pub lab: &'a dyn Lab,
    pub medium: Medium,
    pub journal: OpenJournal,
    /// Who wants to know.
    pub observer: &'a mut dyn Observer,
    pub watcher: &'a mut dyn Watcher,
}

impl Study<'_> {
    /// Conducts the study from where the journal stands to its end.
    ///
    /// # Errors
    /// When the journal cannot be written or trials cannot be started. Failed trials are no errors.
    pub fn conduct(&mut self, resumed: bool) -> Result<(), StudyError> {
        if resumed {
            self.report(None, Event::RunResumed {})?;
        }
        let run = self.journal.run()?;
        let begun = !run.blocks.is_empty();
        // The conclusion of the last block may not have come into the journal.
        let between_blocks = begun && run.resume_point().is_none();
        if !begun {
            self.skip_what_cannot_be_tried()?;
        }
        if between_blocks && self.conclude()? {
            return Ok(());
        }
        let blocks = self.plan.protocol.blocks;
        loop {
            let run = self.journal.run()?;
            let candidates: Vec<String> = still_in(self.plan, run).map(str::to_owned).collect();
            if candidates.is_empty() {
                let reason = "no candidate can be tried here".to_owned();
                return self.report(None, Event::RunFinished { reason, ending: Some(Ending::Nobody) });
            }
            let (block, attempt, names) = match run.resume_point() {
                Some(state) => (state.block, state.attempt, state.remaining().map(str::to_owned).collect()),
                None => {
                    let (block, attempt) = run.next_block();
                    let order = order(self.plan.protocol.seed, block, attempt, &candidates);
                    self.report(None, Event::BlockStarted { block, attempt, order: order.clone() })?;
                    (block, attempt, order)
                }
            };
            // What is certain to come; an adaptive run may take more.
            let blocks_to_come = u64::from(blocks.min.saturating_sub(block));
            self.observer.expect(names.len() as u64 + blocks_to_come * candidates.len() as u64);
            self.block(block, attempt, &names)?;
            self.observer.block_ended(self.journal.run()?);
            if self.conclude()? {
                return Ok(());
            }
        }
    }

    /// Runs the trials of a block, or what is left of them. Whether it counts hangs on the machine, never on what was
    /// measured.
    fn block(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<(), StudyError> {
        let plan = self.plan;
        for name in names {
            if let Some(candidate) = plan.candidates.iter().find(|candidate| candidate.name == *name) {
                self.trial(block, attempt, candidate)?;
            }
        }
        let run = self.journal.run()?;
        let limits = plan.protocol.disturbed.as_ref();
        let disturbed = || broken_rule(limits?, run, block, attempt);
        let invalid = mixed(run, block, attempt).or_else(disturbed);
        // Before the block ends: whoever resumes after that does not look again.
        if let Some(text) = changed(run, block, attempt).filter(|_| invalid.is_none()) {
            self.report(None, Event::Caution(Caution { phase: String::new(), text }))?;
        }
        self.report(None, Event::BlockFinished { block, attempt, invalid })
    }

    /// Looks at everything measured so far: drops who takes no further part, and ends the study when nothing is left to
    /// find out. Whether it ended.
    fn conclude(&mut self) -> Result<bool, StudyError> {
        let Conclusion { drop, end } = Conclusion::of(self.plan, self.journal.run()?);
        for (candidate, reason) in drop {
            self.report(None, Event::CandidateDropped { candidate, reason })?;
        }
        let ended = end.is_some();
        if let Some((reason, ending)) = end {
            self.report(None, Event::RunFinished { reason, ending: Some(ending) })?;
        }
        Ok(ended)
    }

    /// Candidates that cannot be tried here are named once, before the first block.
    fn skip_what_cannot_be_tried(&mut self) -> Result<(), StudyError> {
        let untried: Vec<String> = still_in(self.plan, self.journal.run()?).map(str::to_owned).collect();
        for candidate in self.plan.candidates.iter().filter(|candidate| untried.contains(&candidate.name)) {
            let shortage = || shortage(self.plan, candidate, self.medium.size());
            if let Some(Obstacle { reason, hint }) = self.lab.obstacle(candidate).or_else(shortage) {
                let candidate = candidate.name.clone();
                self.report(None, Event::CandidateSkipped { candidate, reason, hint })?;
            }
        }
        Ok(())
    }

    /// Runs a trial. One that fails is no error here: the journal says so. One that was killed is done again, once: an
    /// accident says nothing about the candidate.
    fn trial(&mut self, block: u32, attempt: u32, candidate: &Candidate) -> Result<(), StudyError> {
        let id = TrialId { block, candidate: candidate.name.clone(), attempt };
        let mut end = self.try_once(&id, candidate, None)?;
        if end.killed {
            end = self.try_once(&id, candidate, Some(&end.reason))?;
        }
        let TrialEnd { status, reason, hint, wall, .. } = end;
        self.report(Some(&id), Event::TrialFinished { status, reason, hint, wall })
    }

    /// Everything of a trial but its end. What an earlier try recorded is nobody's from the new beginning on.
    fn try_once(
        &mut self,
        id: &TrialId,
        candidate: &Candidate,
        killed: Option<&str>,
    ) -> Result<TrialEnd, StudyError> {
        self.watcher.begin();
        self.report(Some(id), Event::TrialStarted {})?;
        if let Some(reason) = killed {
            let first = reason.split([';', '\n']).next().unwrap_or_default();
            self.caution(id, format!("tried a second time, since {first}"))?;
        }
        let plan = self.plan;
        let spec = TrialSpec {
            trial: id.clone(),
            seed: plan.protocol.seed,
            candidate: candidate.clone(),
            datasets: plan.datasets.clone(),
            phases: plan.phases.clone(),
            limit: plan.protocol.timeout,
        };
        let lab = self.lab;
        let medium = self.medium.clone();
        let mut broken = None;
        let mut own_bytes = 0;
        let mut watch = |event| {
            if let Event::Observation(observation) = &event {
                own_bytes += bytes_at_most(observation);
            }
            if let Err(error) = self.report(Some(id), event) {
                broken.get_or_insert(error);
            }
        };
        let end = lab.run(&spec, &medium, &mut watch)?;
        if let Some(error) = broken {
            return Err(error);
        }
        self.medium = medium.after_first_write();
        let seen = Surroundings { stopped: end.stopped, ..self.watcher.end(own_bytes) };
        if end.stopped {
            self.caution(id, "it was stopped for a while and went on: its times hold the pause".to_owned())?;
        }
        if seen != Surroundings::default() {
            self.report(Some(id), Event::Surroundings(seen))?;
        }
        Ok(end)
    }

    fn caution(&mut self, id: &TrialId, text: String) -> Result<(), StudyError> {
        self.report(Some(id), Event::Caution(Caution { phase: String::new(), text }))
    }

    fn report(&mut self, trial: Option<&TrialId>, event: Event) -> Result<(), StudyError> {
        let record = self.journal.append(trial, event)?;
        self.observer.event(trial, &record.event);
        Ok(())
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
