//! Power-cut tests: repeats each candidate's first trial with a log of its writes, computes states of the device from
//! it, and examines each in a guest.

mod examine;
mod image;
mod kept;
mod minimise;
mod name;
mod record;
mod record_files;
mod script;
mod script_text;
mod several;
mod smaller;
mod states;
mod summary;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use fsverdict_disk::crash::LossRule;
use fsverdict_disk::device::Model;
use fsverdict_folders::{FolderFile, FolderHandle};
use fsverdict_judgement::journal::{PowerCuts, StateFinding};
use fsverdict_judgement::plan::{Candidate, Faults, Operation, Phase, PhaseWork, Plan};
use fsverdict_lab::lab::{Attachments, ChosenLab};
use fsverdict_lab::trial::{Drawn, are_drawn, draw_circumstances, sequence_bounds};
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::workload::SequenceWork;

use crate::error::FaultError;
use crate::guest_batches::{ExaminationTime, is_enough};
use examine::CutStates;
pub(crate) use image::{finish_all, new_output, open_file, unwritten_image};
use kept::KeptFindings;
use minimise::Narrowed;
pub(crate) use record::CutRecord;
use summary::summarise;

pub use minimise::TRIED_IN;
pub use name::CutName;
pub use smaller::MinimisedState;

/// The folder of the logs within a run's.
pub const FOLDER: &str = "cuts";

/// A plan in its lab, while its faults are tested.
pub struct PowerCutting<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) faults: Faults,
    pub(crate) choice: Arc<ChosenLab>,
    pub(crate) attachments: Attachments,
    /// The folder of the logs.
    pub(crate) folder: FolderHandle,
    /// Where less than the plan's work is done.
    narrowed: Narrowed,
    /// Where all is done in the circumstances of one trial, from 0.
    of_trial: Option<u32>,
    /// The time for the candidate that is examined.
    pub(crate) time: ExaminationTime,
}

/// How far the cuts of a candidate have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutProgress {
    /// Which of so many trials, from 0.
    pub part: u32,
    pub parts: u32,
    /// States of it that were looked at, of so many.
    pub done: usize,
    pub all: usize,
}

/// A state, as it is told to people.
#[derive(Debug)]
pub struct WrittenState {
    /// Seconds of the device's clock at which power was cut.
    pub at_s: f64,
    /// Where the image of each of its devices is.
    pub images: Vec<PathBuf>,
    /// The expected content, one line per file.
    pub must: Vec<String>,
}

impl<'a> PowerCutting<'a> {
    /// Prepares the faults of a plan for the run in this folder. `claim` is called once the plan is known to have faults: it chooses
    /// the lab and attaches the modelled devices.
    ///
    /// # Errors
    /// When the plan has no faults, the folder cannot be used, or `claim` fails.
    pub fn new<E: From<FaultError>>(
        plan: &'a Plan,
        run: &FolderHandle,
        claim: impl FnOnce() -> Result<(ChosenLab, Attachments), E>,
    ) -> Result<Self, E> {
        let faults = plan.faults.ok_or_else(|| {
            FaultError::Refused(Reason::new(
                "the plan of this run has no [faults]",
                "[faults] power_cuts = 500, say, or rot = 200",
            ))
        })?;
        let (choice, attachments) = claim()?;
        let folder =
            run.open_or_create_subfolder(FOLDER).map_err(|error| file_error(&run.path_of(FOLDER), error))?;
        let choice = Arc::new(choice);
        Ok(PowerCutting {
            plan,
            faults,
            choice,
            attachments,
            folder,
            narrowed: Narrowed::default(),
            of_trial: None,
            time: ExaminationTime::default(),
        })
    }

    /// Limits the time for the next candidate. The states examined until then count if there are enough of them.
    pub fn set_time(&mut self, time: ExaminationTime) {
        self.time = time;
    }

    pub(crate) fn is_time_up(&self) -> bool {
        self.time.is_up()
    }

    /// Checks that the states examined until the deadline say something of the candidate.
    pub(crate) fn check_states_examined(
        &self,
        candidate: &Candidate,
        examined: usize,
        chosen: usize,
        is_excluded: bool,
    ) -> Result<(), FaultError> {
        if is_enough(examined, chosen, is_excluded) {
            return Ok(());
        }
        Err(FaultError::Refused(Reason::new(
            format!("the time was up after {examined} of {chosen} states of {}", candidate.name),
            "a longer --for examines more; `fsverdict crash RUN` examines them without a limit",
        )))
    }

    /// Examines a candidate's states after power cuts; `tell` reports progress. Findings of an interrupted run are
    /// reused, unless `again` is set.
    pub fn examine_power_cuts(
        &self,
        candidate: &Candidate,
        again: bool,
        tell: &(dyn Fn(CutProgress) + Sync),
    ) -> Result<PowerCuts, FaultError> {
        if let Some(reason) = self.choice.lab.find_obstacle(candidate) {
            return Err(FaultError::Refused(reason));
        }
        let findings_file = KeptFindings::open_file(&self.findings_file(candidate), again)?;
        let (parts, mut traces) = (self.parts(), Vec::new());
        let mut chosen = 0;
        for part in 0..parts {
            if self.is_time_up() {
                break;
            }
            if let Some(trace) = findings_file.finished_trace(part) {
                traces.push(trace);
                continue;
            }
            let record = match findings_file.has_begun(part).then(|| self.read_record(candidate, part)) {
                Some(Ok(record)) => record,
                _ => self.record_part(candidate, part)?,
            };
            let log = self.read_log(candidate, part)?;
            let states = self.choose_states(&log, candidate, &record)?;
            chosen += states.len();
            let looked = CutStates { candidate, part, states: &states, record: &record, log: &log };
            findings_file.begin_part(part)?;
            self.examine_states(&looked, &findings_file, &|done, all| {
                tell(CutProgress { part, parts, done, all });
            })?;
            let is_of_part = |finding: &&StateFinding| {
                finding.state.parse::<CutName>().is_ok_and(|name| name.part == part)
            };
            let examined = findings_file.findings().iter().filter(is_of_part).count();
            if self.time.deadline.is_some() && examined < states.len() {
                traces.push(record.trace);
                break;
            }
            let has_loss = findings_file.end_part(part, &record.trace)?;
            if self.parts_of_trial() > 1 && !has_loss {
                // No image of this part will be requested, and there are many parts.
                drop(log);
                self.remove_part_files(candidate, part)?;
            }
            traces.push(record.trace);
        }
        let findings = findings_file.findings();
        let examined = findings.len();
        let lost = findings.iter().filter(|finding| finding.outcome.is_loss());
        let lost =
            lost.filter_map(|finding| Some(self.trial_number(finding.state.parse::<CutName>().ok()?.part)));
        let several = self.faults.trials > 1;
        let trials_lost = lost.filter(|_| several).collect::<BTreeSet<u32>>().len() as u32;
        let trials = if several { self.faults.trials } else { 0 };
        let cuts = summarise(candidate, findings, traces.join("+"));
        let cuts = PowerCuts { accepted: self.faults.accept_loss, trials, trials_lost, ..cuts };
        if self.time.deadline.is_some() {
            self.check_states_examined(candidate, examined, chosen.max(1), cuts.why_out().is_some())?;
        }
        Ok(cuts)
    }

    /// Removes the findings file: the findings are in the journal.
    pub fn remove_leftovers(&self, candidate: &Candidate) -> Result<(), FaultError> {
        remove_file(&self.findings_file(candidate))
    }

    /// How many recordings there are of a candidate, of all its trials.
    fn parts(&self) -> u32 {
        self.parts_of_trial().saturating_mul(self.faults.trials)
    }

    /// Which trial of the candidate a part belongs to, from 0.
    fn trial_number(&self, part: u32) -> u32 {
        self.of_trial.unwrap_or(part / self.parts_of_trial().max(1))
    }

    /// Which part of its trial's work it is, from 0.
    fn part_of_trial(&self, part: u32) -> u32 {
        part % self.parts_of_trial().max(1)
    }

    /// Where a part is to differ from the plan: as in the block of its trial, but for the size of its device, of which images are made.
    /// Nothing where the plan wants one trial: that is its own.
    fn drawn_device(&self, part: u32) -> Option<Drawn> {
        let simulated = self.choice.lab.side_by_side().is_some();
        let drawn = (self.faults.trials > 1 && are_drawn(self.plan, simulated))
            .then(|| draw_circumstances(self.plan, self.trial_number(part) + 1))?;
        Some(Drawn { size: 1.0, ..drawn })
    }

    /// How many recordings it takes to do all that is to be cut once.
    fn parts_of_trial(&self) -> u32 {
        if self.narrowed.only.is_some() {
            return 1;
        }
        self.sequences_phase()
            .map_or(1, |phase| SequenceWork::count_parts(sequence_bounds(phase, self.plan.protocol.seed)))
    }

    /// The phase of sequences, if there is one.
    fn sequences_phase(&self) -> Option<&Phase> {
        let is_it = |phase: &&Phase| phase.work == PhaseWork::Operation(Operation::Sequences);
        self.plan.phases.iter().find(is_it)
    }

    /// Returns the rule of which writes a power cut may lose on the first device.
    fn loss_rule_of_first_device(&self, candidate: &Candidate) -> Result<LossRule, FaultError> {
        self.loss_rule_of_device(candidate, 1)
    }

    /// Returns the rule of which writes a power cut may lose on a device; the first device has the number 1.
    fn loss_rule_of_device(
        &self,
        candidate: &Candidate,
        device_number: usize,
    ) -> Result<LossRule, FaultError> {
        let models = self.plan.models_of(candidate);
        let name = models.get(device_number.saturating_sub(1)).map_or("", |model| model.name);
        let rule = Model::find(name).map(|model| LossRule::from_model(&model));
        let rule = rule.map_err(|error| FaultError::Refused(error.reason()))?;
        Ok(match self.faults {
            Faults { keeps_all: true, .. } => rule.nothing_lost(),
            Faults { ignores_flushes: true, .. } => rule.flushes_ignored(),
            _ => rule,
        })
    }
}

/// An error with a file in a run's folder, with its path.
pub(crate) fn file_error(path: &std::path::Path, error: std::io::Error) -> FaultError {
    FaultError::RunFile { path: path.to_owned(), source: error }
}

/// Removes a file if it is there.
pub(crate) fn remove_file(file: &FolderFile) -> Result<(), FaultError> {
    file.remove().map(drop).map_err(|error| file_error(&file.path(), error))
}

pub(crate) fn to_fault_error(error: impl std::fmt::Display) -> FaultError {
    FaultError::Refused(Reason::plain(error.to_string()))
}
