//! Why a run cannot be packed, or a pack not be read.

use std::path::PathBuf;

use crate::journal::JournalError;

/// A pack cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot write {}: {source}\nhint: --output FILE names another, which must not be there yet", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error(
        "a name that is to be replaced is also a word of plans or journals: {0}\nhint: --with-names packs the run as it is"
    )]
    Name(serde_json::Error),
    #[error("the patterns by which names are found do not compile\nhint: please report this")]
    Patterns,
    #[error("{} is not a pack of fsverdict, or damaged: {reason}\nhint: have it sent again, or made again by `fsverdict pack RUN`", path.display())]
    NotAPack { path: PathBuf, reason: String },
}
