//! From records to the run: derived anew each time, never stored.
//!
//! A block may be repeated, a trial interrupted and begun again; this is where it is decided which of them count.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::run::{BlockState, CandidateState, CandidateStatus, Header, Run, Standing, Trial};
use super::{Event, Facts, Journal, JournalError, Record, Status, TrialId};
use crate::plan::Plan;

impl Run {
    /// Derives the run from its journal.
    ///
    /// # Errors
    /// [`JournalError::NoRun`] when the journal does not begin with the start of a run.
    pub fn derive(plan: &Plan, journal: &Journal) -> Result<Self, JournalError> {
        let mut records = journal.records.iter();
        let mut run = records
            .next()
            .and_then(begin)
            .ok_or_else(|| JournalError::NoRun { path: journal.path.clone() })?;
        run.torn = journal.torn;
        run.candidates = plan.candidates.iter().map(|candidate| untried(&candidate.name)).collect();
        let mut open: Option<Trial> = None;
        for record in records {
            run.last = record.at;
            run.take(record, &mut open);
        }
        run.interrupted = open.map(|trial| trial.id);
        run.settle_standings();
        run.settle_candidates();
        Ok(run)
    }

    fn take(&mut self, record: &Record, open: &mut Option<Trial>) {
        match &record.event {
            Event::TrialStarted {} => *open = record.trial.clone().map(|id| fresh_trial(id, record.at)),
            Event::TrialFinished { status, reason, wall } => {
                // The end is only believed of the trial that is open: anything else has lost its observations.
                if let Some(mut trial) = open.take_if(|trial| record.trial.as_ref() == Some(&trial.id)) {
                    trial.status = *status;
                    trial.reason.clone_from(reason);
                    trial.wall = *wall;
                    self.end(trial);
                }
            }
            Event::Observation(observation) => {
                if let Some(trial) = same(open, record) {
                    trial.observations.push(observation.clone());
                }
            }
            Event::Facts { facts } => {
                if let Some(trial) = same(open, record) {
                    trial.facts.extend(facts.clone());
                }
            }
            Event::Caution(caution) => {
                // What the conductor notices after a trial's end still belongs to that trial.
                let owner = match same(open, record) {
                    Some(trial) => Some(trial),
                    None => self.trials.iter_mut().rfind(|trial| record.trial.as_ref() == Some(&trial.id)),
                };
                match owner {
                    Some(trial) => trial.cautions.push(caution.clone()),
                    None => self.cautions.push(caution.clone()),
                }
            }
            Event::CandidateSkipped { candidate, reason, hint } => {
                let state = self.candidate(candidate);
                state.status = CandidateStatus::Skipped;
                state.reason.clone_from(reason);
                state.hint.clone_from(hint);
            }
            Event::CandidateDropped { candidate, reason } => {
                self.candidate(candidate).dropped = Some(reason.clone());
            }
            Event::BlockStarted { block, attempt, order } => self.blocks.push(BlockState {
                block: *block,
                attempt: *attempt,
                order: order.clone(),
                done: Vec::new(),
                finished: false,
                invalid: None,
            }),
            Event::BlockFinished { block, attempt, invalid } => {
                if let Some(found) = self.blocks.iter_mut().rfind(|state| state.is(*block, *attempt)) {
                    found.finished = true;
                    found.invalid.clone_from(invalid);
                }
            }
            Event::RunResumed {} => {
                self.resumed += 1;
                self.finished = None;
            }
            Event::RunFinished { reason } => self.finished = Some(reason.clone()),
            Event::RunStarted { .. } | Event::StepStarted { .. } | Event::Command(_) => {}
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

/// The trial that is open, if the record belongs to it.
fn same<'a>(open: &'a mut Option<Trial>, record: &Record) -> Option<&'a mut Trial> {
    open.as_mut().filter(|trial| record.trial.as_ref() == Some(&trial.id))
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
        blocks: Vec::new(),
        cautions: Vec::new(),
        interrupted: None,
        resumed: 0,
        finished: None,
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

fn fresh_trial(id: TrialId, started: Timestamp) -> Trial {
    Trial {
        id,
        started,
        status: Status::Failed,
        reason: String::new(),
        wall: 0.0,
        standing: Standing::Open,
        observations: Vec::new(),
        facts: Facts::new(),
        cautions: Vec::new(),
    }
}
