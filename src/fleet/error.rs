//! Why a block cannot be done here, or blocks not be merged.

use std::path::PathBuf;

use crate::journal::JournalError;
use crate::plan::quoted;
use crate::study::{RunFolderError, SessionError};

use super::left::Left;

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
    #[error("{}: {source}", quoted(&path.to_string_lossy()))]
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
    #[error("{} holds another run: its plan has the digest {found}, and this one {wanted}\nhint: --out DIR names another folder", quoted(&path.to_string_lossy()))]
    OtherRun { path: PathBuf, found: String, wanted: String },
    #[error("{}: {reason}\nhint: docs/several-machines.md shows an inventory", quoted(&path.to_string_lossy()))]
    Inventory { path: PathBuf, reason: String },
    /// Slurm, ssh or rsync; with what they said.
    #[error("{0}")]
    Engine(String),
    #[error("these blocks do not belong together:\n  {}\nhint: which of them is right is yours to say: `fsverdict merge --without SITE` leaves out a site, and so, for further blocks too, does moving its folder out of sites/", .0.join("\n  "))]
    Mixed(Vec<String>),
    /// A block that has not been begun.
    #[error("this block would be no part of the run:\n  {}\nhint: put that back as it was; or, where the others are wrong, move their folders out of sites/", .0.join("\n  "))]
    Misfit(Vec<String>),
    #[error("{} is in the way: it is not what a run puts there\nhint: look at what it is, and remove it", quoted(&.0.to_string_lossy()))]
    InTheWay(PathBuf),
    #[error(
        "the run in {run} was begun at several sites, and no inventory of it is kept in {state}: hosts and programs are never taken from the folder of a run\nhint: `fsverdict resume {run} --on {{ssh,slurm}} --sites SITES.toml` names them",
        run = quoted(&run.to_string_lossy()),
        state = state.as_ref().map_or("no home".to_owned(), |state| quoted(&state.to_string_lossy()))
    )]
    NoInventory { run: PathBuf, state: Option<PathBuf> },
    /// What was begun of it counts for nothing.
    #[error(
        "{source}\nhint: then the same command does block {block} of site {site} again, from its beginning"
    )]
    Interrupted { site: String, block: u32, source: SessionError },
    #[error(
        "there is nothing to merge in {run}: no site has a whole block{}\nhint: `fsverdict block {run} --site NAME --block 1` makes one",
        left.iter().map(|left| format!("\n  {}: {}", left.path.display(), left.why)).collect::<String>(),
        run = quoted(&run.to_string_lossy())
    )]
    Nothing { run: PathBuf, left: Vec<Left> },
}

impl FleetError {
    /// For `map_err` of what is done to a file.
    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| FleetError::Io { path, source }
    }
}
