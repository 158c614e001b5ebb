//! The request of a run, and its outcome.

use crate::fleet::{Fleet, Merged};
use crate::study::{FolderRequest, RunFolder};
use fsverdict_judgement::journal::{JournalError, Run};
use fsverdict_judgement::plan::Plan;

/// A run to be carried out. The plan was read and checked, and the user has confirmed it.
pub struct RunRequest {
    pub plan: Plan,
    /// The folder for the run's plan, journal and reports.
    pub folder: FolderRequest,
    pub place: RunPlace,
    /// The number of trials that run at once; by default as many as there is room for, in simulated time.
    pub jobs: Option<usize>,
    /// The identities of the devices that may be erased (`--erase`).
    pub erase: Vec<String>,
    /// Whether the run is pointless if only one of its candidates can be tried here: it answers a question between them.
    pub needs_rivals: bool,
}

/// Where the blocks of a run are conducted.
pub enum RunPlace {
    /// On this machine.
    Here,
    /// At the sites of an inventory that the user has named.
    Sites(Fleet),
}

/// A run to be continued. Its plan was checked, and the user has confirmed it.
pub struct ResumeRequest {
    pub folder: RunFolder,
    pub plan: Plan,
    /// An inventory that the user has named now; otherwise the run continues where it was begun.
    pub fleet: Option<Fleet>,
    /// The number of blocks to add to a run that has ended.
    pub more: Option<u32>,
    pub jobs: Option<usize>,
    pub erase: Vec<String>,
}

impl ResumeRequest {
    /// The request that begins this run here, in its folder.
    pub(super) fn into_run(self) -> RunRequest {
        let ResumeRequest { folder, plan, jobs, erase, .. } = self;
        let folder = FolderRequest::Named(folder.path().to_owned());
        RunRequest { plan, folder, place: RunPlace::Here, jobs, erase, needs_rivals: false }
    }
}

/// A run that was carried out, for the caller to present.
pub struct RunOutcome {
    pub folder: RunFolder,
    pub plan: Plan,
    pub result: RunResult,
}

impl RunOutcome {
    /// Reads the run of this folder as it was recorded.
    pub(super) fn read(folder: RunFolder, plan: Plan) -> Result<Self, JournalError> {
        let run = Run::read_in_folder(&plan, &folder.journal())?;
        Ok(RunOutcome { folder, plan, result: RunResult::Here(Box::new(run)) })
    }
}

/// The run as it was recorded.
pub enum RunResult {
    Here(Box<Run>),
    Sites {
        merged: Box<Merged>,
        /// A sentence on where the logs of blocks are.
        log_place: String,
    },
}

impl RunResult {
    /// The run with all trials, of every site.
    pub fn run(&self) -> &Run {
        match self {
            RunResult::Here(run) => run,
            RunResult::Sites { merged, .. } => &merged.run,
        }
    }

    pub fn into_run(self) -> Run {
        match self {
            RunResult::Here(run) => *run,
            RunResult::Sites { merged, .. } => merged.run,
        }
    }
}
