//! Errors that keep a run from beginning or continuing, or that end it.

use std::path::PathBuf;

use fsverdict_faults::FaultError;
use fsverdict_judgement::journal::JournalError;
use fsverdict_lab::lab::LabError;
use fsverdict_linux::host::limits::LimitError;
use fsverdict_text::{Hinted, Reason};

use super::folder::RunFolderError;

/// Why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot read the folder {} of dataset `{dataset}`: {source}", path.display())]
    Dataset { dataset: String, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The device may not be erased, or the image cannot be created.
    #[error("{}", .0.what)]
    Disk(Reason),
    #[error(transparent)]
    Faults(#[from] FaultError),
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    #[error(transparent)]
    Limits(#[from] LimitError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("this run has not ended: it goes on by itself as it was planned")]
    NotEnded,
    #[error("no two candidates of this run are left that more blocks could compare")]
    NobodyLeft,
    #[error("this run is done by several sites, a block at a time")]
    Merged,
    #[error("this run was made in the lab `{0}`, which this version does not have")]
    UnknownLab(String),
    #[error("this run cannot be carried on:\n  {}", .0.join("\n  "))]
    Changed(Vec<String>),
}

impl SessionError {
    /// Whether this machine or the folder of the run caused the error, and not a candidate.
    pub fn is_of_this_machine(&self) -> bool {
        match self {
            SessionError::Faults(error) => error.is_of_this_machine(),
            SessionError::Lab(_)
            | SessionError::Folder(_)
            | SessionError::Limits(_)
            | SessionError::Journal(_) => true,
            SessionError::Dataset { .. }
            | SessionError::Disk(_)
            | SessionError::NotEnded
            | SessionError::NobodyLeft
            | SessionError::Merged
            | SessionError::UnknownLab(_)
            | SessionError::Changed(_) => false,
        }
    }
}

impl Hinted for SessionError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            SessionError::Dataset { dataset, .. } => format!("name another with --set dataset.{dataset}.path=/some/folder"),
            SessionError::NotEnded => "leave --more out".to_owned(),
            SessionError::NobodyLeft => "`fsverdict report` shows what they showed".to_owned(),
            SessionError::Merged => "`fsverdict block RUN --site NAME --block N` does the next, `fsverdict merge RUN` shows the whole".to_owned(),
            SessionError::Changed(_) => "put that back as it was, or begin a new run (`fsverdict run`); `fsverdict report` shows what was measured".to_owned(),
            SessionError::Lab(error) => return error.hint(),
            SessionError::Disk(reason) => return reason.hint(),
            SessionError::Faults(error) => return error.hint(),
            SessionError::Folder(error) => return error.hint(),
            SessionError::Limits(error) => return error.hint(),
            SessionError::Journal(error) => return error.hint(),
            SessionError::UnknownLab(_) => return None,
        })
    }
    fn reason(&self) -> Reason {
        match self {
            SessionError::Lab(error) => error.reason(),
            SessionError::Faults(error) => error.reason(),
            SessionError::Disk(reason) => reason.clone(),
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}
