//! From records to the run: derived anew each time, never stored.
//!
//! A block may be repeated, a trial interrupted and begun again; this is where it is decided which of them count.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;

use super::reader::read_each;
use super::run::{
    BlockState, CandidateState, CandidateStatus, Header, Latencies, Run, Standing, Trial, TrialCommands,
};
use super::{CommandRecord, Event, Facts, Journal, JournalError, Record, Status, TrialId};
use crate::plan::Plan;

impl Run {
    /// Derives the run from its journal.
    ///
    /// # Errors
    /// [`JournalError::NoRun`] when the journal does not begin with the start of a run.
    pub fn derive(plan: &Plan, journal: &Journal) -> Result<Self, JournalError> {
        let mut deriving = Deriving::new(plan);
        for record in &journal.records {
            deriving.take(record.clone());
        }
        deriving.end(&journal.path, journal.torn)
    }

    /// Derives the run from the journal at `path`, record by record: a long journal need not fit into memory.
    ///
    /// # Errors
    /// When it cannot be read (see [`read`](super::read)) or does not begin with the start of a run.
    pub fn read(plan: &Plan, path: &Path) -> Result<Self, JournalError> {
        let mut deriving = Deriving::new(plan);
        let torn = read_each(path, |record| deriving.take(record))?;
        deriving.end(path, torn)
    }

    fn take(&mut self, record: Record, open: &mut Option<OpenTrial>) {
        let Record { at, trial: id, event } = record;
        match event {
            Event::TrialStarted {} => *open = id.map(|id| fresh_trial(id, at)),
            Event::Command(command) => {
                if let Some(open) = same(open, id.as_ref()) {
                    open.commands.push(command);
                }
            }
            Event::TrialFinished { status, reason, wall } => {
                // The end is only believed of the trial that is open: anything else has lost its observations.
                if let Some(OpenTrial { mut trial, commands }) =
                    open.take_if(|open| id.as_ref() == Some(&open.trial.id))
                {
                    trial.status = status;
                    trial.reason = reason;
                    trial.wall = wall;
                    trial.observations.shrink_to_fit();
                    self.keep_commands(&trial, commands);
                    self.end(trial);
                }
            }
            Event::Observation(mut observation) => {
                if let Some(OpenTrial { trial, .. }) = same(open, id.as_ref()) {
                    observation.measurements.shrink_to_fit();
                    trial.observations.push(observation);
                }
            }
            Event::Facts { facts } => {
                if let Some(OpenTrial { trial, .. }) = same(open, id.as_ref()) {
                    trial.facts.extend(facts);
                }
            }
            Event::Caution(caution) => {
                // What the conductor notices after a trial's end still belongs to that trial.
                let owner = match same(open, id.as_ref()) {
                    Some(open) => Some(&mut open.trial),
                    None => self.trials.iter_mut().rfind(|trial| id.as_ref() == Some(&trial.id)),
                };
                match owner {
                    Some(trial) => trial.cautions.push(caution),
                    None => self.cautions.push(caution),
                }
            }
            Event::CandidateSkipped { candidate, reason, hint } => {
                let state = self.candidate(&candidate);
                state.status = CandidateStatus::Skipped;
                state.reason = reason;
                state.hint = hint;
            }
            Event::CandidateDropped { candidate, reason } => {
                self.candidate(&candidate).dropped = Some(reason);
            }
            Event::BlockStarted { block, attempt, order } => self.blocks.push(BlockState {
                block,
                attempt,
                order,
                done: Vec::new(),
                finished: false,
                invalid: None,
            }),
            Event::Surroundings(seen) => {
                if let Some(OpenTrial { trial, .. }) = same(open, id.as_ref()) {
                    trial.surroundings = Some(seen);
                }
            }
            Event::BlockFinished { block, attempt, invalid } => {
                self.add_latencies(block, attempt, invalid.is_none());
                if let Some(found) = self.blocks.iter_mut().rfind(|state| state.is(block, attempt)) {
                    found.finished = true;
                    found.invalid = invalid;
                }
            }
            Event::RunResumed {} => {
                self.resumed += 1;
                self.finished = None;
                self.ending = None;
            }
            Event::RunFinished { reason, ending } => {
                self.finished = Some(reason);
                self.ending = ending;
            }
            Event::RunStarted { .. } | Event::StepStarted { .. } => {}
        }
    }

    /// Adds up the latencies of a block that has ended, of each candidate from the last trial begun, and lets go of the
    /// histograms: they are the greater part of a journal.
    fn add_latencies(&mut self, block: u32, attempt: u32, valid: bool) {
        let mut seen: Vec<&str> = Vec::new();
        let trials = self
            .trials
            .iter_mut()
            .rev()
            .take_while(|trial| (trial.id.block, trial.id.attempt) == (block, attempt));
        for Trial { id, status, observations, .. } in trials {
            let counts = valid && *status == Status::Ok && !seen.contains(&id.candidate.as_str());
            seen.push(&id.candidate);
            for observation in observations {
                for histogram in std::mem::take(&mut observation.histograms).into_iter().filter(|_| counts) {
                    let own = |known: &Latencies| {
                        known.call == histogram.call
                            && known.phase == observation.phase
                            && known.candidate == id.candidate
                    };
                    let at = self.latencies.iter().position(own).unwrap_or_else(|| {
                        self.latencies.push(Latencies {
                            candidate: id.candidate.clone(),
                            phase: observation.phase.clone(),
                            call: histogram.call.clone(),
                            counts: BTreeMap::new(),
                        });
                        self.latencies.len() - 1
                    });
                    for (nanoseconds, calls) in histogram.buckets {
                        *self.latencies[at].counts.entry(nanoseconds).or_default() += calls;
                    }
                }
            }
        }
    }

    /// Of each candidate one trial's commands are kept: they are many, and alike.
    fn keep_commands(&mut self, trial: &Trial, commands: Vec<CommandRecord>) {
        let own = TrialCommands { trial: trial.id.clone(), status: trial.status, commands };
        match self.commands.iter_mut().find(|kept| kept.trial.candidate == trial.id.candidate) {
            None => self.commands.push(own),
            Some(kept) if kept.status == Status::Ok && own.status == Status::Failed => *kept = own,
            Some(_) => {}
        }
    }

    fn end(&mut self, trial: Trial) {
        let id = &trial.id;
        if let Some(block) = self.blocks.iter_mut().rfind(|state| state.is(id.block, id.attempt))
            && !block.done.contains(&id.candidate)
        {
            block.done.push(id.candidate.clone());
        }
        self.trials.push(trial);
    }

    /// A candidate the plan does not name (an edited plan) is kept rather than lost.
    fn candidate(&mut self, name: &str) -> &mut CandidateState {
        let at = self.candidates.iter().position(|state| state.name == name).unwrap_or_else(|| {
            self.candidates.push(untried(name));
            self.candidates.len() - 1
        });
        &mut self.candidates[at]
    }

    /// Of each block the last attempt counts, if it is valid; of each trial the last one begun.
    fn settle_standings(&mut self) {
        let mut last_attempt: HashMap<u32, u32> = HashMap::new();
        let mut blocks: HashMap<(u32, u32), &BlockState> = HashMap::new();
        for block in &self.blocks {
            last_attempt
                .entry(block.block)
                .and_modify(|last| *last = block.attempt.max(*last))
                .or_insert(block.attempt);
            blocks.insert((block.block, block.attempt), block);
        }
        let mut begun_later: HashSet<TrialId> = HashSet::new();
        for trial in self.trials.iter_mut().rev() {
            let (block, attempt) = (trial.id.block, trial.id.attempt);
            let repeated = !begun_later.insert(trial.id.clone())
                || last_attempt.get(&block).is_some_and(|last| *last > attempt);
            trial.standing = match blocks.get(&(block, attempt)) {
                Some(block) if repeated || block.invalid.is_some() => Standing::Discarded,
                Some(block) if block.finished => Standing::Counted,
                Some(_) => Standing::Open,
                None => Standing::Discarded,
            };
        }
    }

    fn settle_candidates(&mut self) {
        let names: Vec<String> = self.trials.iter().map(|trial| trial.id.candidate.clone()).collect();
        for name in names {
            self.candidate(&name);
        }
        for state in &mut self.candidates {
            let kept =
                |trial: &&Trial| trial.id.candidate == state.name && trial.standing != Standing::Discarded;
            let trials: Vec<&Trial> = self.trials.iter().filter(kept).collect();
            let failed: Vec<&&Trial> = trials.iter().filter(|trial| trial.status == Status::Failed).collect();
            if let Some(first) = failed.first() {
                state.status = CandidateStatus::Failed;
                state.reason = match trials.len() {
                    1 => first.reason.clone(),
                    all => format!(
                        "{} of {all} trials failed, first in block {}: {}",
                        failed.len(),
                        first.id.block,
                        first.reason
                    ),
                };
            } else if !trials.is_empty() {
                state.status = CandidateStatus::Ok;
            }
        }
    }
}

/// A run in the making: record after record is taken in.
struct Deriving<'a> {
    plan: &'a Plan,
    /// `None` before the first record, and when that did not begin a run.
    run: Option<Run>,
    begun: bool,
    open: Option<OpenTrial>,
}

impl<'a> Deriving<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, run: None, begun: false, open: None }
    }

    fn take(&mut self, record: Record) {
        if !std::mem::replace(&mut self.begun, true) {
            self.run = begin(&record);
            if let Some(run) = &mut self.run {
                run.candidates =
                    self.plan.candidates.iter().map(|candidate| untried(&candidate.name)).collect();
            }
        } else if let Some(run) = &mut self.run {
            if !matches!(record.event, Event::RunResumed {}) {
                // A clock that was set back took no time away.
                run.worked += record.at.duration_since(run.last).as_secs_f64().max(0.0);
            }
            run.last = record.at;
            run.take(record, &mut self.open);
        }
    }

    fn end(self, path: &Path, torn: bool) -> Result<Run, JournalError> {
        let mut run = self.run.ok_or_else(|| JournalError::NoRun { path: path.to_path_buf() })?;
        run.torn = torn;
        run.interrupted = self.open.map(|open| open.trial.id);
        run.trials.shrink_to_fit();
        run.settle_standings();
        run.settle_candidates();
        Ok(run)
    }
}

/// The trial that has begun and not ended.
struct OpenTrial {
    trial: Trial,
    commands: Vec<CommandRecord>,
}

/// The trial that is open, if the record belongs to it.
fn same<'a>(open: &'a mut Option<OpenTrial>, id: Option<&TrialId>) -> Option<&'a mut OpenTrial> {
    open.as_mut().filter(|open| id == Some(&open.trial.id))
}

fn begin(record: &Record) -> Option<Run> {
    let Event::RunStarted { id, title, plan_digest, lab, lab_reason, fidelity, environment, .. } =
        &record.event
    else {
        return None;
    };
    Some(Run {
        header: Header {
            started: record.at,
            id: id.clone(),
            title: title.clone(),
            plan_digest: plan_digest.clone(),
            lab: lab.clone(),
            lab_reason: lab_reason.clone(),
            fidelity: fidelity.clone(),
            environment: environment.clone(),
        },
        candidates: Vec::new(),
        trials: Vec::new(),
        commands: Vec::new(),
        latencies: Vec::new(),
        blocks: Vec::new(),
        cautions: Vec::new(),
        interrupted: None,
        resumed: 0,
        finished: None,
        ending: None,
        worked: 0.0,
        torn: false,
        last: record.at,
    })
}

fn untried(name: &str) -> CandidateState {
    CandidateState {
        name: name.to_owned(),
        status: CandidateStatus::Untried,
        reason: String::new(),
        hint: String::new(),
        dropped: None,
    }
}

fn fresh_trial(id: TrialId, started: Timestamp) -> OpenTrial {
    let trial = Trial {
        id,
        started,
        status: Status::Failed,
        reason: String::new(),
        wall: 0.0,
        standing: Standing::Open,
        observations: Vec::new(),
        facts: Facts::new(),
        cautions: Vec::new(),
        surroundings: None,
    };
    OpenTrial { trial, commands: Vec::new() }
}
