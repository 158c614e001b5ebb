//! The loop over blocks and trials.

use crate::journal::{Ending, Event, JournalError, Run, Status, TrialId, Writer};
use crate::lab::{Disk, Lab, LabError, TrialEnd};
use crate::plan::{Candidate, Plan, TWIN, contestants};
use crate::statistics::Outcome;
use crate::trial::{Staging, TrialDevice, TrialSpec};

use super::budget::exhausted;
use super::deliberate::Deliberation;
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
        let mut candidates = self.surviving(so_far)?;
        if candidates.is_empty() {
            return Err(StudyError::Nothing);
        }
        let contesting = |name: &&String| contestants(self.plan).any(|candidate| candidate.name == **name);
        let contest = candidates.iter().filter(contesting).count() > 1;
        let (mut block, mut attempt) = next_block(so_far);
        let mut pending = so_far.and_then(Run::resume_point).cloned();
        if pending.is_none() && block > 1 && self.conclude(contest, &mut candidates)? {
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
            for name in names {
                self.try_candidate(block, attempt, &name, &mut candidates)?;
            }
            self.tell(None, Event::BlockFinished { block, attempt, invalid: None })?;
            self.observer.block_ended();
            if self.conclude(contest, &mut candidates)? {
                return Ok(());
            }
            block += 1;
            attempt = 1;
        }
    }

    /// Runs one trial; a candidate that fails takes no further part.
    fn try_candidate(
        &mut self,
        block: u32,
        attempt: u32,
        name: &str,
        candidates: &mut Vec<String>,
    ) -> Result<(), StudyError> {
        let Some(candidate) = self.plan.candidates.iter().find(|candidate| candidate.name == name) else {
            return Ok(());
        };
        if self.trial(block, attempt, candidate)? == Status::Failed {
            let reason = "its trial failed".to_owned();
            self.tell(None, Event::CandidateDropped { candidate: name.to_owned(), reason })?;
            candidates.retain(|other| other != name);
        }
        Ok(())
    }

    /// Looks at everything measured so far: drops who is certainly out, and ends the study when nothing is left to
    /// find out. Whether it ended.
    fn conclude(&mut self, contest: bool, candidates: &mut Vec<String>) -> Result<bool, StudyError> {
        let run = Run::derive(self.plan, &crate::journal::read(self.journal.path())?)?;
        let done = run.complete_blocks() as u32;
        let blocks = self.plan.protocol.blocks;
        if candidates.is_empty() {
            self.finish("no candidate is left", Ending::Nobody)?;
            return Ok(true);
        }
        // With nobody to compare with there is nothing to decide.
        let deliberation = contest.then(|| Deliberation::of(self.plan, &run, false));
        if let Some(deliberation) = &deliberation {
            for (name, look) in deliberation.ruled_out() {
                if candidates.iter().any(|candidate| candidate == name) {
                    let reason =
                        format!("certainly behind {} after {} blocks", deliberation.leader(look), look.block);
                    self.tell(None, Event::CandidateDropped { candidate: name.to_owned(), reason })?;
                    candidates.retain(|candidate| candidate != name);
                }
            }
        }
        self.drop_lone_twins(candidates)?;
        let outcome = deliberation.map_or(Outcome::Continue, |deliberation| deliberation.outcome());
        let ended = match outcome {
            _ if done < blocks.min => None,
            Outcome::Decided => Some((format!("decided after {done} block(s)"), Ending::Rule)),
            Outcome::Tied => Some((format!("practically tied after {done} block(s)"), Ending::Rule)),
            Outcome::Hopeless => {
                let reason =
                    format!("undecided after {done} blocks, and those left would hardly change that");
                Some((reason, Ending::Rule))
            }
            _ if done >= blocks.max || (!contest && done >= blocks.min) => {
                Some((format!("{done} block(s), as planned"), Ending::Blocks))
            }
            Outcome::Undecided | Outcome::Continue => None,
        };
        let budget = self.plan.protocol.budget;
        let in_time = || Some((exhausted(budget?, &run, candidates.len())?, Ending::Budget));
        match ended.or_else(in_time) {
            Some((reason, ending)) => self.finish(&reason, ending).map(|()| true),
            None => Ok(false),
        }
    }

    /// A twin is there to be compared with its original, and goes with it.
    fn drop_lone_twins(&mut self, candidates: &mut Vec<String>) -> Result<(), StudyError> {
        let original = |twin: &String| twin.strip_suffix(TWIN).map(str::to_owned);
        let lone = |name: &&String| original(name).is_some_and(|original| !candidates.contains(&original));
        let gone: Vec<String> = candidates.iter().filter(lone).cloned().collect();
        for candidate in gone {
            candidates.retain(|name| *name != candidate);
            let reason = "the candidate it is the twin of is no longer tried".to_owned();
            self.tell(None, Event::CandidateDropped { candidate, reason })?;
        }
        Ok(())
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
            staging: Staging::Memory,
            idle_load: 0.0,
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

    fn finish(&mut self, reason: &str, ending: Ending) -> Result<(), StudyError> {
        self.tell(None, Event::RunFinished { reason: reason.to_owned(), ending: Some(ending) })
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
