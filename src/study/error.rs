//! Why a run cannot be begun or carried on, or had to be given up.

use std::path::PathBuf;

use crate::host::limits::LimitError;
use crate::journal::JournalError;
use crate::lab::LabError;

use super::folder::RunFolderError;

/// A run cannot be begun or carried on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot read the folder {} of dataset `{dataset}`: {source}\nhint: name another with --set dataset.{dataset}.path=/some/folder", path.display())]
    Dataset { dataset: String, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The device may not be erased, or the image not be made; with what to do.
    #[error("{0}")]
    Disk(String),
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    #[error(transparent)]
    Limits(#[from] LimitError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("this run has not ended: it goes on by itself as it was planned\nhint: leave --more out")]
    NotEnded,
    #[error(
        "no two candidates of this run are left that more blocks could compare\nhint: `fsverdict report` shows what they showed"
    )]
    NobodyLeft,
    #[error(
        "this run is done by several sites, a block at a time\nhint: `fsverdict block RUN --site NAME --block N` does the next, `fsverdict merge RUN` shows the whole"
    )]
    Merged,
    #[error("this run was made in the lab `{0}`, which this version does not have")]
    UnknownLab(String),
    #[error("this run cannot be carried on:\n  {}\nhint: put that back as it was, or begin a new run (`fsverdict run`); `fsverdict report` shows what was measured", .0.join("\n  "))]
    Changed(Vec<String>),
}
