//! Reads the progress of a run from its journal.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::study::{Leader, Outlook, RunFolder, ToCome, TrialsToCome};
use fsverdict_judgement::journal::{JournalFollower, Run, Status, Trial, TrialStanding, UnderwayTrial};
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::procfs::lock_holder;
use fsverdict_linux::host::root::Root;

use super::super::CliError;

/// The version of the JSON form.
const STATUS_SCHEMA: u32 = 1;

/// So many trials under way are listed at most; a journal may say that any number began and did not end.
const LISTED: usize = 20;

/// How far a run has come.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RunProgress {
    schema: u32,
    pub(super) run: String,
    pub(super) title: String,
    pub(super) state: RunActivity,
    /// Why the run started no more blocks.
    pub(super) reason: Option<String>,
    /// The process that writes the journal.
    pub(super) process: Option<u32>,
    pub(super) started: Option<Timestamp>,
    pub(super) last_record: Option<Timestamp>,
    /// The block under way or, between two, the last one; from 1.
    pub(super) block: Option<u32>,
    /// The blocks that count, and how many the plan asks for.
    pub(super) blocks: BlockProgress,
    pub(super) trials: TrialCounts,
    /// The trials that have begun and not ended: the last of them.
    pub(super) underway: Vec<TrialProgress>,
    /// How many earlier ones are left out of that list.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) underway_left_out: usize,
    /// Seconds that the run has been in progress, without interruptions.
    pub(super) wall_seconds: f64,
    /// In simulated time: seconds that the trials took on their devices.
    pub(super) simulated_seconds: Option<f64>,
    pub(super) leaders: Vec<Leader>,
    pub(super) seconds_to_go: Option<ToCome<f64>>,
}

/// The activity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunActivity {
    /// The folder has a plan and no record yet: devices, kernel and datasets are being prepared, or nothing is.
    Preparing,
    /// A process is writing the journal.
    Running,
    /// The trials have ended, and a process still works on the run: faults are examined.
    Examining,
    /// Trials are left and no process of this machine is writing the journal: the run was stopped or killed.
    Stopped,
    Ended,
}

impl RunActivity {
    pub(super) fn is_going_on(self) -> bool {
        matches!(self, Self::Preparing | Self::Running | Self::Examining)
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct BlockProgress {
    pub(super) complete: usize,
    pub(super) least: u32,
    pub(super) most: u32,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct TrialCounts {
    pub(super) ended: usize,
    pub(super) failed: usize,
    /// Trials of blocks that do not count.
    pub(super) discarded: usize,
    pub(super) to_come: TrialsToCome,
}

/// A trial under way.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TrialProgress {
    pub(super) candidate: String,
    pub(super) block: u32,
    /// A phase, `mkfs`, `mount` …; empty while the trial starts.
    pub(super) step: String,
    pub(super) seconds_in_step: f64,
    pub(super) seconds: f64,
}

/// The open folder of a run, and its journal as far as it was read.
pub(super) struct StatusReader {
    folder: RunFolder,
    plan: Plan,
    journal: Option<JournalFollower>,
    outlook: Outlook,
}

impl StatusReader {
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let (folder, plan) = RunFolder::open(path).map_err(CliError::usage)?;
        Ok(StatusReader { folder, plan, journal: None, outlook: Outlook::default() })
    }

    /// Reads the state now: only the records appended since the last call are read.
    pub(super) fn read(&mut self) -> Result<RunProgress, CliError> {
        let grown = match &mut self.journal {
            Some(journal) => journal.read_new().map_err(CliError::failed)?,
            None if self.folder.journal().is_taken() => {
                let journal = JournalFollower::open(&self.plan, &self.folder.journal());
                self.journal = Some(journal.map_err(CliError::failed)?);
                true
            }
            None => false,
        };
        let nothing_recorded = self.progress_without_journal();
        let Some(journal) = &mut self.journal else { return Ok(nothing_recorded) };
        // If the lock's holder cannot be found, no process counts as working on the run.
        let holder = lock_holder(&Root::default(), journal.file()).unwrap_or_default();
        let underway = journal.trials_underway();
        let Some(run) = journal.run() else { return Ok(nothing_recorded) };
        if grown {
            self.outlook = Outlook::of(&self.plan, run);
        }
        let state = match (run.finished.is_some(), holder) {
            (false, Some(_)) => RunActivity::Running,
            (false, None) => RunActivity::Stopped,
            (true, Some(_)) => RunActivity::Examining,
            (true, None) => RunActivity::Ended,
        };
        let now = if state.is_going_on() { Timestamp::now() } else { run.last };
        let mut underway: Vec<TrialProgress> =
            underway.into_iter().map(|trial| trial_progress(trial, now)).collect();
        let gone = underway.iter().map(|trial| (trial.candidate.as_str(), trial.seconds));
        Ok(RunProgress {
            title: run.header.title.clone(),
            state,
            reason: run.finished.clone(),
            process: holder,
            started: Some(run.header.started),
            last_record: Some(run.last),
            block: run.resume_point().or(run.blocks.last()).map(|block| block.block),
            blocks: BlockProgress { complete: run.complete_blocks(), ..nothing_recorded.blocks },
            trials: TrialCounts { to_come: self.outlook.trials(), ..count_trials(run) },
            seconds_to_go: self.outlook.seconds(gone),
            underway_left_out: underway.len().saturating_sub(LISTED),
            underway: underway.split_off(underway.len().saturating_sub(LISTED)),
            wall_seconds: run.worked + seconds_between(run.last, now),
            simulated_seconds: self.outlook.simulated,
            leaders: self.outlook.leaders.clone(),
            ..nothing_recorded
        })
    }

    fn progress_without_journal(&self) -> RunProgress {
        let blocks = self.plan.protocol.blocks;
        RunProgress {
            schema: STATUS_SCHEMA,
            run: self.folder.path().to_string_lossy().into_owned(),
            title: self.plan.title.clone(),
            state: RunActivity::Preparing,
            reason: None,
            process: None,
            started: None,
            last_record: None,
            block: None,
            blocks: BlockProgress { complete: 0, least: blocks.min, most: blocks.max },
            trials: TrialCounts::default(),
            underway: Vec::new(),
            underway_left_out: 0,
            wall_seconds: 0.0,
            simulated_seconds: None,
            leaders: Vec::new(),
            seconds_to_go: None,
        }
    }
}

fn count_trials(run: &Run) -> TrialCounts {
    let count = |which: &dyn Fn(&Trial) -> bool| run.trials.iter().filter(|trial| which(trial)).count();
    TrialCounts {
        ended: run.trials.len(),
        failed: count(&|trial| trial.status == Status::Failed),
        discarded: count(&|trial| trial.standing == TrialStanding::Discarded),
        to_come: TrialsToCome::default(),
    }
}

fn trial_progress(trial: UnderwayTrial, now: Timestamp) -> TrialProgress {
    TrialProgress {
        candidate: trial.id.candidate,
        block: trial.id.block,
        step: trial.step,
        seconds_in_step: seconds_between(trial.step_started, now),
        seconds: seconds_between(trial.started, now),
    }
}

/// A clock that was set back takes no time away.
fn seconds_between(earlier: Timestamp, later: Timestamp) -> f64 {
    later.duration_since(earlier).as_secs_f64().max(0.0)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
