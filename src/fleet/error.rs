//! Why a block cannot be done here, or blocks not be merged.

use std::path::PathBuf;

use crate::journal::JournalError;
use crate::plan::quoted;
use crate::study::{RunFolderError, SessionError};

/// A run of several sites cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(
        "`{0}` cannot be the name of a site\nhint: letters, digits, `.`, `-` and `_`, at most 64, the first of them a letter or digit"
    )]
    SiteName(String),
    #[error(
        "{} holds a run that one machine did by itself: there is nothing to merge\nhint: `fsverdict report {}` shows it; `fsverdict block` begins one that several share",
        .0.display(),
        quoted(&.0.to_string_lossy())
    )]
    NotShared(PathBuf),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Folder(#[from] RunFolderError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(
        "block {block} of site {site} is being done by another process\nhint: wait for it; a process that was ended holds nothing"
    )]
    UnderWay { site: String, block: u32 },
    #[error("{} holds another run: its plan has the digest {found}, and this one {wanted}\nhint: --out DIR names another folder", path.display())]
    OtherRun { path: PathBuf, found: String, wanted: String },
    #[error("{}: {reason}\nhint: docs/several-machines.md shows an inventory", path.display())]
    Inventory { path: PathBuf, reason: String },
    /// Slurm, ssh or rsync; with what they said.
    #[error("{0}")]
    Engine(String),
    #[error("these blocks do not belong together:\n  {}\nhint: `fsverdict merge --without SITE` leaves out a site", .0.join("\n  "))]
    Mixed(Vec<String>),
    /// What was begun of it counts for nothing.
    #[error(
        "{source}\nhint: then the same command does block {block} of site {site} again, from its beginning"
    )]
    Interrupted { site: String, block: u32, source: SessionError },
    #[error("there is nothing to merge in {}: no site has a whole block\nhint: `fsverdict block {} --site NAME --block 1` makes one", .0.display(), .0.display())]
    Nothing(PathBuf),
}

impl FleetError {
    /// For `map_err` of what is done to a file.
    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| FleetError::Io { path, source }
    }
}
