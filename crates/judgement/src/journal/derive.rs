//! Derives the state of a run from the records of its journal; the state is never stored. Trials may overlap: each
//! record names its trial.
//!
//! A block may be repeated, and a trial may be interrupted and restarted; this file decides which of them count.

mod fold;
mod open_trial;
mod settle;

pub use fold::Fold;
pub use open_trial::UnderwayTrial;

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::path::Path;

use super::reader::{Scanned, opened_in_folder, read_each, scan_file, scan_lines};
use super::run::{BlockState, CandidateState, CandidateStatus, Latencies, Run};
use super::trial::{Trial, TrialCommands};
use super::{
    Caution, CommandRecord, DeviceEvent, Event, Journal, JournalError, Observation, Record, Status, TrialId,
};
use crate::plan::Plan;
use fsverdict_folders::FolderFile;
use open_trial::{OpenTrial, OpenTrials, find_open};

/// The index of the latencies of each candidate, phase and call among those of the run.
type LatencyPlaces = HashMap<[String; 3], usize>;

/// How many of the last ended trials are searched for the one that a caution belongs to.
const RECENT_TRIALS: usize = 5000;

impl Run {
    /// Derives the run from its journal.
    pub fn derive(plan: &Plan, journal: &Journal) -> Result<Self, JournalError> {
        let mut fold = Fold::new(plan);
        for record in &journal.records {
            fold.add_record(record.clone());
        }
        fold.finish_run(&journal.path, journal.torn)
    }

    /// Derives the run from the journal in its folder, record by record, so that a long journal need not fit into
    /// memory.
    pub fn read_in_folder(plan: &Plan, place: &FolderFile) -> Result<Self, JournalError> {
        let (path, mut fold) = (place.path(), Fold::new(plan));
        let file = opened_in_folder(place)?;
        let torn = scan_file(&path, &file, Scanned::default(), |record| fold.add_record(record))?.torn;
        fold.finish_run(&path, torn)
    }

    /// As [`read_in_folder`](Self::read_in_folder), for the journal at `path`, which the caller named.
    pub fn read(plan: &Plan, path: &Path) -> Result<Self, JournalError> {
        let mut fold = Fold::new(plan);
        let torn = read_each(path, |record| fold.add_record(record))?;
        fold.finish_run(path, torn)
    }

    /// As [`read_in_folder`](Self::read_in_folder), for a journal from any source of lines; `path` only appears in
    /// errors.
    pub fn read_from(plan: &Plan, path: &Path, lines: impl BufRead) -> Result<Self, JournalError> {
        let mut fold = Fold::new(plan);
        let torn = scan_lines(path, lines, |record| fold.add_record(record))?.torn;
        fold.finish_run(path, torn)
    }

    fn apply_record(&mut self, record: Record, open: &mut OpenTrials, places: &mut LatencyPlaces) {
        let Record { at, trial: id, event } = record;
        match event {
            Event::TrialStarted {} => {
                if let Some(id) = id {
                    open.insert(id.clone(), OpenTrial::new(id, at));
                }
            }
            Event::Command(command) => {
                if let Some(open) = find_open(open, id.as_ref()) {
                    open.commands.push(command);
                }
            }
            Event::TrialFinished { status, reason, hint, wall } => {
                // A trial's end counts only if the trial is open; otherwise its observations are lost.
                if let Some(mut open) = id.and_then(|id| open.remove(&id)) {
                    open.begin_step("", at);
                    let OpenTrial { trial, commands, .. } = open;
                    self.keep_commands(&trial.id, status, commands);
                    self.add_ended_trial(Trial { status, reason, hint, wall, ..trial });
                }
            }
            Event::Observation(observation) => {
                if let Some(OpenTrial { trial, .. }) = find_open(open, id.as_ref()) {
                    add_observation(trial, observation);
                }
            }
            Event::Facts { facts, learnt } => {
                if let Some(OpenTrial { trial, .. }) = find_open(open, id.as_ref()) {
                    trial.learnt.add(learnt);
                    trial.facts.extend(facts);
                }
            }
            Event::Caution(caution) => match find_open(open, id.as_ref()) {
                Some(open) => open.trial.cautions.push(caution),
                None => self.add_late_caution(id.as_ref(), caution),
            },
            Event::CandidateSkipped { candidate, reason, hint } => {
                self.skip_candidate(&candidate, reason, hint);
            }
            Event::CandidateDropped { candidate, reason } => {
                self.candidate(&candidate).dropped = Some(reason);
            }
            Event::BlockStarted { block, attempt, order, place } => self.blocks.push(BlockState {
                block,
                attempt,
                order,
                place,
                done: Vec::new(),
                finished: false,
                invalid: None,
            }),
            Event::Surroundings(seen) => {
                if let Some(OpenTrial { trial, .. }) = find_open(open, id.as_ref()) {
                    trial.surroundings = Some(seen);
                }
            }
            Event::BlockFinished { block, attempt, invalid } => {
                self.add_latencies(block, attempt, invalid.is_none(), places);
                if let Some(state) = self.blocks.iter_mut().rfind(|state| state.is_attempt(block, attempt)) {
                    state.finished = true;
                    state.invalid = invalid;
                }
            }
            Event::RunResumed { more } => {
                // Trials that were in progress ended with the conductor, and start again.
                open.clear();
                self.resume(more);
            }
            Event::RunFinished { reason, ending } => {
                self.finished = Some(reason);
                self.ending = ending;
            }
            Event::StepStarted { step } => {
                if let Some(open) = find_open(open, id.as_ref()) {
                    open.begin_step(&step, at);
                }
            }
            Event::PowerCut(cuts) => {
                self.power_cuts.retain(|known| known.candidate != cuts.candidate);
                self.power_cuts.push(cuts);
            }
            Event::Rotten(rotten) => {
                self.rotten.retain(|known| known.candidate != rotten.candidate);
                self.rotten.push(rotten);
            }
            Event::Device(DeviceEvent::ForeignWrite { device, found }) => {
                self.foreign_write = Some((device, found));
            }
            Event::RunStarted { .. }
            | Event::ClockJumped { .. }
            | Event::Device(_)
            | Event::Saved { .. }
            | Event::Promised { .. }
            | Event::Sequences { .. }
            | Event::AfterCut(_)
            | Event::AfterRot(_) => {}
        }
    }

    fn skip_candidate(&mut self, candidate: &str, reason: String, hint: String) {
        let state = self.candidate(candidate);
        state.status = CandidateStatus::Skipped;
        state.ended_from_outside = false;
        (state.reason, state.hint) = (reason, hint);
    }

    /// Adds a caution that the conductor recorded outside of a trial: it belongs to the trial `id` if that ended lately,
    /// and to the run otherwise.
    fn add_late_caution(&mut self, id: Option<&TrialId>, caution: Caution) {
        let mut latest = self.trials.iter_mut().rev().take(RECENT_TRIALS);
        match latest.find(|trial| id == Some(&trial.id)) {
            Some(trial) => trial.cautions.push(caution),
            None => self.cautions.push(caution),
        }
    }

    /// Continues the run, by so many `more` blocks if the resumption names a number.
    fn resume(&mut self, more: Option<u32>) {
        if let Some(more) = more {
            let complete = u32::try_from(self.complete_blocks()).unwrap_or(u32::MAX);
            self.extended_to = Some(complete.saturating_add(more));
        }
        self.resumed += 1;
        self.foreign_write = None;
        self.reopen();
        self.finished = None;
        self.ending = None;
    }

    /// Trials that were killed in the last block are tried again in it. Those in earlier blocks are not, because a
    /// trial must be compared with trials of the same time.
    fn reopen(&mut self) {
        let killed: Vec<String> = self.killed_in_last_block().map(str::to_owned).collect();
        let Some(block) = self.blocks.last_mut().filter(|_| !killed.is_empty()) else { return };
        block.finished = false;
        block.done.retain(|name| !killed.contains(name));
        for name in killed {
            self.candidate(&name).dropped = None;
        }
    }

    /// Adds up the latencies of a block that has ended, from the last trial of each candidate, and drops histograms and
    /// time series, which make up most of a journal.
    fn add_latencies(&mut self, block: u32, attempt: u32, valid: bool, places: &mut LatencyPlaces) {
        let mut counted_kinds: Vec<&str> = Vec::new();
        let trials = self
            .trials
            .iter_mut()
            .rev()
            .filter(|trial| (trial.id.block, trial.id.attempt) == (block, attempt));
        for Trial { id, status, observations, .. } in trials {
            let counts = valid && *status == Status::Ok && !counted_kinds.contains(&id.candidate.as_str());
            counted_kinds.push(&id.candidate);
            for observation in observations {
                // Reports plot one trial of each candidate, so the time series of later blocks need not stay in memory.
                if block > 1 {
                    observation.unwritten = Vec::new();
                    observation.course = None;
                    observation.computation = None;
                }
                for histogram in std::mem::take(&mut observation.histograms).into_iter().filter(|_| counts) {
                    let key = [id.candidate.clone(), observation.phase.clone(), histogram.call.clone()];
                    let at = *places.entry(key).or_insert_with_key(|[candidate, phase, call]| {
                        self.latencies.push(Latencies {
                            candidate: candidate.clone(),
                            phase: phase.clone(),
                            call: call.clone(),
                            counts: BTreeMap::new(),
                        });
                        self.latencies.len() - 1
                    });
                    for (nanoseconds, calls) in histogram.buckets {
                        let count = self.latencies[at].counts.entry(nanoseconds).or_default();
                        *count = count.saturating_add(calls);
                    }
                }
            }
        }
    }

    /// Keeps the commands of one trial per candidate: commands are many, and much alike between trials.
    fn keep_commands(&mut self, trial: &TrialId, status: Status, commands: Vec<CommandRecord>) {
        let trial_commands = TrialCommands { trial: trial.clone(), status, commands };
        match self.commands.iter_mut().find(|kept| kept.trial.candidate == trial.candidate) {
            None => self.commands.push(trial_commands),
            Some(kept) if kept.status == Status::Ok && trial_commands.status == Status::Failed => {
                *kept = trial_commands;
            }
            Some(_) => {}
        }
    }

    fn add_ended_trial(&mut self, mut trial: Trial) {
        trial.observations.shrink_to_fit();
        let id = &trial.id;
        if let Some(block) = self.blocks.iter_mut().rfind(|state| state.is_attempt(id.block, id.attempt))
            && !block.done.contains(&id.candidate)
        {
            block.done.push(id.candidate.clone());
        }
        self.trials.push(trial);
    }

    /// The state of a candidate; adds one if the plan does not name it, as after an edit of the plan.
    fn candidate(&mut self, name: &str) -> &mut CandidateState {
        let at = self.candidates.iter().position(|state| state.name == name).unwrap_or_else(|| {
            self.candidates.push(untried_candidate(name));
            self.candidates.len() - 1
        });
        &mut self.candidates[at]
    }
}

/// Adds an observation to those of its trial; a phase that is observed in several records has one.
fn add_observation(trial: &mut Trial, observation: Observation) {
    match trial.observations.iter_mut().find(|known| known.phase == observation.phase) {
        Some(known) => known.add(observation),
        None => trial.observations.push(observation),
    }
}

fn untried_candidate(name: &str) -> CandidateState {
    CandidateState {
        name: name.to_owned(),
        status: CandidateStatus::Untried,
        reason: String::new(),
        hint: String::new(),
        dropped: None,
        ended_from_outside: false,
    }
}
