//! Why a candidate cannot be tested against faults.

use std::path::PathBuf;

use fsverdict_lab::lab::LabError;
use fsverdict_text::{Hinted, Reason};

/// A candidate cannot be tested against faults.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A file in the folder of the run cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    RunFile { path: PathBuf, source: std::io::Error },
    /// The plan, the record of the trial or the candidate does not allow it.
    #[error("{}", .0.what)]
    Refused(Reason),
}

impl FaultError {
    /// Whether the cause is this machine or the folder of the run, and not the candidate.
    pub fn is_of_this_machine(&self) -> bool {
        matches!(self, FaultError::Lab(_) | FaultError::RunFile { .. })
    }
}

impl Hinted for FaultError {
    fn hint(&self) -> Option<String> {
        match self {
            FaultError::Lab(error) => error.hint(),
            FaultError::RunFile { source, .. } => source.hint(),
            FaultError::Refused(reason) => reason.hint(),
        }
    }

    fn reason(&self) -> Reason {
        match self {
            FaultError::Lab(error) => error.reason(),
            FaultError::Refused(reason) => reason.clone(),
            FaultError::RunFile { .. } => Reason::new(self, self.hint().unwrap_or_default()),
        }
    }
}
