//! Why a run cannot be begun or carried on.

use std::path::PathBuf;

use crate::journal::JournalError;
use crate::lab::LabError;

use super::folder::FolderError;

/// A run cannot be begun or carried on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The folder of a dataset cannot be read.
    #[error("cannot read the folder {} of dataset `{dataset}`: {source}\nhint: name another with --set dataset.{dataset}.path=/some/folder", path.display())]
    Dataset {
        /// The dataset.
        dataset: String,
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No lab can be used.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The device may not be erased, or the image not be made; with what to do.
    #[error("{0}")]
    Disk(String),
    /// The run's folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The journal cannot be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It was made in a lab this version does not have.
    #[error("this run was made in the lab `{0}`, which this version does not have")]
    UnknownLab(String),
    /// Its trials would not be comparable with those there are.
    #[error("this run cannot be carried on:\n  {}\nhint: put that back as it was, or begin a new run (`fsverdict run`); `fsverdict report` shows what was measured", .0.join("\n  "))]
    Changed(Vec<String>),
}
