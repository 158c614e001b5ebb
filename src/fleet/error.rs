//! Errors of runs that several sites share: a block cannot be conducted, or blocks cannot be merged.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::study::{RunFolderError, SessionError};
use fsverdict_judgement::journal::JournalError;
use fsverdict_text::{Hinted, Reason, TextError, quoted};

/// A file that is not a complete block, and why it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredFile {
    /// The path below the run's folder.
    pub path: PathBuf,
    pub why: Reason,
}

/// Why a run of several sites cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("{} holds a run that one machine did by itself: there is nothing to merge", .0.display())]
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
        "the clock of this machine says that it is {0}, which cannot be: no block that is done or merged by it would be believed"
    )]
    Clock(jiff::Timestamp),
    #[error(
        "block {block} of site {site} is there already, but was done for another run of this plan ({other})"
    )]
    OfOtherRun { site: String, block: u32, other: String },
    #[error("block {block} of site {site} is being done by another process")]
    UnderWay { site: String, block: u32 },
    #[error("{} holds another run: its plan has the digest {found}, and this one {wanted}", quoted(&path.to_string_lossy()))]
    OtherRun { path: PathBuf, found: String, wanted: String },
    #[error("{}: {reason}", quoted(&path.to_string_lossy()))]
    Inventory { path: PathBuf, reason: String },
    /// The errors in an inventory, each with its place.
    #[error(transparent)]
    Sites(#[from] TextError),
    /// An error of Slurm, ssh or rsync, with their output.
    #[error("{}", .0.what)]
    Engine(Reason),
    #[error("these blocks do not belong together:\n  {}", .0.join("\n  "))]
    Mixed(Vec<String>),
    /// The block was not begun, because it could not be merged.
    #[error("this block would be no part of the run:\n  {}", .0.join("\n  "))]
    Misfit(Vec<String>),
    #[error("{} is in the way: it is not what a run puts there", quoted(&.0.to_string_lossy()))]
    InTheWay(PathBuf),
    #[error(
        "the run in {run} was begun at several sites, and no inventory of it is kept in {state}: hosts and programs are never taken from the folder of a run",
        run = quoted(&run.to_string_lossy()),
        state = state.as_ref().map_or("no home".to_owned(), |state| quoted(&state.to_string_lossy()))
    )]
    NoInventory { run: PathBuf, state: Option<PathBuf> },
    /// The part of the block that was done does not count.
    #[error("{source}")]
    Interrupted { site: String, block: u32, source: Box<SessionError> },
    #[error(
        "there is nothing to merge in {run}: no site has a whole block",
        run = quoted(&run.to_string_lossy())
    )]
    Nothing { run: PathBuf, left: Vec<IgnoredFile> },
}

impl Hinted for FleetError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            FleetError::NotShared(it) => format!("`fsverdict report {}` shows it; `fsverdict block` begins one that several share", quoted(&it.to_string_lossy())),
            FleetError::UnderWay { .. } => "wait for it; a process that was ended holds nothing".to_owned(),
            FleetError::Clock(_) => "`date` shows the clock; set it, or have a time server set it".to_owned(),
            FleetError::OfOtherRun { .. } => "move the old run's folder away there, or name another folder for this run (`folder` in the inventory, or --out)".to_owned(),
            FleetError::OtherRun { .. } => "--out DIR names another folder".to_owned(),
            FleetError::Inventory { .. } => "docs/guides/several-machines.md shows an inventory".to_owned(),
            FleetError::Mixed(_) => "which of them is right is yours to say: `fsverdict merge --without SITE` leaves out a site, and so, for further blocks too, does moving its folder out of sites/".to_owned(),
            FleetError::Misfit(_) => "put that back as it was; or, where the others are wrong, move their folders out of sites/".to_owned(),
            FleetError::InTheWay(_) => "look at what it is, and remove it".to_owned(),
            FleetError::NoInventory { run, .. } => format!("`fsverdict resume {run} --on {{ssh,slurm}} --sites SITES.toml` names them", run = quoted(&run.to_string_lossy())),
            FleetError::Interrupted { site, block, .. } => format!("then the same command does block {block} of site {site} again, from its beginning"),
            FleetError::Nothing { run, .. } => format!("`fsverdict block {run} --site NAME --block 1` makes one", run = quoted(&run.to_string_lossy())),
            FleetError::Folder(error) => return error.hint(),
            FleetError::Journal(error) => return error.hint(),
            FleetError::Session(error) => return error.hint(),
            FleetError::Engine(reason) => return reason.hint(),
            FleetError::Io { source, .. } => return source.hint(),
            FleetError::Sites(_) => return None,
        })
    }

    fn reason(&self) -> Reason {
        match self {
            FleetError::Session(error) => error.reason(),
            FleetError::Sites(error) => error.reason(),
            FleetError::Interrupted { source, .. } => {
                source.reason().and_hint(self.hint().unwrap_or_default())
            }
            FleetError::Nothing { left, .. } => {
                let file_reasons =
                    left.iter().map(|left| left.why.clone().after(format!("  {}: ", left.path.display())));
                let reasons = Reason::all([Reason::plain(self)].into_iter().chain(file_reasons));
                reasons.and_hint(self.hint().unwrap_or_default())
            }
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}

impl FleetError {
    /// Whether the request is wrong, so that the user has to change it.
    pub fn is_of_request(&self) -> bool {
        matches!(
            self,
            FleetError::Inventory { .. }
                | FleetError::Sites(_)
                | FleetError::Folder(_)
                | FleetError::NoInventory { .. }
                | FleetError::NotShared(_)
                | FleetError::OtherRun { .. }
        )
    }

    /// The opened file or folder at this path; `None` if there is none.
    pub(super) fn if_exists<T>(path: &Path, opened: io::Result<T>) -> Result<Option<T>, Self> {
        match opened {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            opened => opened.map(Some).map_err(Self::io_error(path)),
        }
    }

    /// Returns a function for `map_err` that adds the path of the file to an error.
    pub(super) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| FleetError::Io { path, source }
    }
}
