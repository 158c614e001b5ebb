//! Where an operation works and on what, and the ledger of what earlier phases left there.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::dataset::{
    HardLinks, IoFailure, Kind, Listing, Manifest, Origin, Prepared, Source, Staged, Stopped, Tree,
    open_below, open_directory, open_path,
};

use super::rotation::Generations;
use super::{Operation, WorkError};

/// What lies in a folder of the filesystem under test, as far as built-in operations put it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Name of the dataset.
    pub dataset: String,
    /// How often it was overwritten since it was first written.
    pub generation: u32,
    /// How much of it is left.
    pub remains: Remains,
    /// Whether its hard links are known to be links.
    pub hard_links: HardLinks,
    /// Whether nothing else has worked on the filesystem since.
    pub sure: bool,
    /// What the last reading or listing saw.
    pub(crate) seen: Seen,
}

/// How much of a dataset is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remains {
    /// All of it.
    Everything,
    /// Its directory, empty.
    EmptyDirectory,
    /// Nothing, not even the directory.
    Nothing,
    /// Several generations of it, which share files.
    Generations(Generations),
}

/// What an operation saw on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Sum of the digests of all files read.
    pub(crate) digests: u64,
}

/// What lies where on the filesystem under test: one for each trial, kept across its phases and remounts.
#[derive(Debug, Default)]
pub struct Ledger {
    folders: BTreeMap<PathBuf, Written>,
}

impl Ledger {
    /// Nothing anywhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// A command or adapter has run: it may have changed anything, so that nothing is sure any more.
    pub fn doubt(&mut self) {
        for written in self.folders.values_mut() {
            written.sure = false;
            written.hard_links = HardLinks::MayBeCopies;
        }
    }

    /// A comparison found the dataset, as first written, in `into`.
    pub fn found(&mut self, into: &Path, dataset: &str) {
        let written = Written {
            dataset: dataset.into(),
            generation: 0,
            remains: Remains::Everything,
            hard_links: HardLinks::MayBeCopies,
            sure: true,
            seen: Seen::default(),
        };
        self.folders.insert(into.into(), written);
    }

    /// What is known, by folder below the mount point.
    pub fn written(&self) -> impl Iterator<Item = (&Path, &Written)> {
        self.folders.iter().map(|(into, written)| (into.as_path(), written))
    }
}

/// Where an operation works, and on what.
#[derive(Debug)]
pub struct Site<'a> {
    /// Mount point of the filesystem under test.
    pub mount: &'a Path,
    /// Folder (or, for `stream` operations, file) below it; relative.
    pub into: &'a Path,
    /// The dataset.
    pub dataset: &'a Prepared,
    /// The dataset in a folder; needed for those that say so.
    pub staged: Option<&'a Staged>,
    /// What earlier phases left.
    pub ledger: &'a mut Ledger,
    /// The share of files that have changed since the generation before, for operations that make generations.
    pub changed: f64,
}

impl Site<'_> {
    /// The folder or file worked on.
    pub fn target(&self) -> PathBuf {
        self.mount.join(self.into)
    }

    /// For messages.
    pub(crate) fn shown(&self) -> String {
        self.target().display().to_string()
    }

    /// Refuses what the operation cannot work on.
    pub(crate) fn check(&self, operation: &dyn Operation) -> Result<(), WorkError> {
        let kind = self.dataset.kind();
        if !operation.datasets().contains(&kind) {
            let takes: Vec<&str> = operation.datasets().iter().map(|kind| kind.name()).collect();
            return Err(WorkError::WrongKind {
                operation: operation.name(),
                dataset: self.dataset.name().into(),
                kind: kind.name(),
                takes: takes.join(" or "),
            });
        }
        let normal = |component| matches!(component, Component::Normal(_));
        if self.into.as_os_str().is_empty() || !self.into.components().all(normal) {
            return Err(WorkError::BadInto {
                operation: operation.name(),
                into: self.into.display().to_string(),
            });
        }
        if self.dataset.needs_staging() {
            self.tree()?;
        }
        Ok(())
    }

    /// A failed system call, told from here.
    pub(crate) fn failed(&self, operation: &'static str, call: &'static str, errno: Errno) -> WorkError {
        WorkError::Io { operation, failure: IoFailure::new(call, self.shown(), errno) }
    }

    /// A failure below the target, told from here.
    pub(crate) fn failed_below(&self, operation: &'static str, failure: IoFailure) -> WorkError {
        WorkError::Io { operation, failure: failure.below(&self.target()) }
    }

    pub(crate) fn not_written(&self, operation: &'static str) -> WorkError {
        let before = match self.dataset.kind() {
            Kind::Tree | Kind::Folder => "tree.write",
            Kind::Flat => "directory.fill",
            Kind::File => "stream.write",
        };
        WorkError::NotWritten { operation, dataset: self.dataset.name().into(), at: self.shown(), before }
    }

    /// The tree as it lies in memory.
    pub(crate) fn tree(&self) -> Result<&Tree, WorkError> {
        match (self.dataset.origin(), self.staged) {
            (Origin::Generated { tree, .. }, _) => Ok(tree),
            (Origin::Folder { .. }, Some(staged)) => Ok(staged.tree()),
            (Origin::Folder { .. }, None) => {
                Err(crate::dataset::DatasetError::NotStaged { dataset: self.dataset.name().into() }.into())
            }
        }
    }

    /// Opens the staged folder, for a dataset that is copied from there.
    pub(crate) fn open_staged(&self, operation: &'static str) -> Result<Option<OwnedFd>, WorkError> {
        let Some(staged) = self.staged.filter(|_| self.dataset.needs_staging()) else { return Ok(None) };
        let failed = |errno| WorkError::Io {
            operation,
            failure: IoFailure::new("open the staged folder", staged.path().display().to_string(), errno),
        };
        open_path(staged.path()).map(Some).map_err(failed)
    }

    /// Where the bytes of this generation come from.
    pub(crate) fn source<'b>(
        &'b self,
        staged: Option<&'b OwnedFd>,
        generation: u32,
    ) -> Result<Source<'b>, WorkError> {
        match (self.dataset.origin(), staged) {
            (Origin::Generated { content, .. }, _) => Ok(Source::Generated { content, generation }),
            (Origin::Folder { .. }, Some(root)) => Ok(Source::Folder(root.as_fd())),
            (Origin::Folder { .. }, None) => {
                Err(crate::dataset::DatasetError::NotStaged { dataset: self.dataset.name().into() }.into())
            }
        }
    }

    /// Opens the directory above the target, and gives the target's name in it.
    pub(crate) fn open_above(
        &self,
        operation: &'static str,
        make: bool,
    ) -> Result<(OwnedFd, CString), WorkError> {
        let mount = open_path(self.mount).map_err(|errno| WorkError::Io {
            operation,
            failure: IoFailure::new("open the mount point", self.mount.display().to_string(), errno),
        })?;
        let above = self.into.parent().unwrap_or(Path::new(""));
        let above = open_below(mount.as_fd(), above, make).map_err(|errno| match errno {
            Errno::NOENT => self.not_written(operation),
            errno => self.failed(operation, "open the directory above", errno),
        })?;
        let name = self.into.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        let name = CString::new(name).map_err(|_| self.failed(operation, "open", Errno::INVAL))?;
        Ok((above, name))
    }

    /// Opens the directory worked on, which must be there.
    pub(crate) fn open_target(&self, operation: &'static str) -> Result<OwnedFd, WorkError> {
        let (above, name) = self.open_above(operation, false)?;
        open_directory(above.as_fd(), &name).map_err(|errno| match errno {
            Errno::NOENT => self.not_written(operation),
            errno => self.failed(operation, "open the directory", errno),
        })
    }

    /// Makes the directory to work in; an empty one may be there already.
    pub(crate) fn make_target(&self, operation: &'static str) -> Result<OwnedFd, WorkError> {
        let (above, name) = self.open_above(operation, true)?;
        let made = rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o755));
        let there = match made {
            Ok(()) => false,
            Err(Errno::EXIST) => true,
            Err(errno) => return Err(self.failed(operation, "make the directory", errno)),
        };
        let target = open_directory(above.as_fd(), &name).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => WorkError::AlreadyThere { operation, at: self.shown() },
            errno => self.failed(operation, "open the directory", errno),
        })?;
        if there {
            match Listing::new().each(target.as_fd(), |_, _| Err(())) {
                Ok(()) => {}
                Err(Stopped::Entry(())) => {
                    return Err(WorkError::AlreadyThere { operation, at: self.shown() });
                }
                Err(Stopped::Reading(errno)) => {
                    return Err(self.failed(operation, "list the directory", errno));
                }
            }
        }
        Ok(target)
    }

    /// What is known of the dataset here; as first written, by somebody else, where nothing is.
    pub(crate) fn known(&self) -> Written {
        let here = self.ledger.folders.get(self.into);
        here.filter(|written| written.dataset == self.dataset.name()).cloned().unwrap_or_else(|| Written {
            dataset: self.dataset.name().into(),
            generation: 0,
            remains: Remains::Everything,
            hard_links: HardLinks::MayBeCopies,
            sure: false,
            seen: Seen::default(),
        })
    }

    /// Notes what there is now.
    pub(crate) fn note(&mut self, written: Written) {
        self.ledger.folders.insert(self.into.into(), written);
    }

    /// Notes that the dataset was written here anew.
    pub(crate) fn note_created(&mut self) {
        let written = Written { generation: 0, remains: Remains::Everything, ..self.known() };
        self.note(Written { hard_links: HardLinks::Exact, sure: true, ..written });
    }

    /// Notes that the dataset was written once more over itself.
    pub(crate) fn note_overwritten(&mut self) {
        let known = self.known();
        self.note(Written { generation: known.generation + 1, sure: true, ..known });
    }

    /// Notes what the operation saw.
    pub(crate) fn note_seen(&mut self, seen: Seen) {
        let known = self.known();
        self.note(Written { remains: Remains::Everything, seen, ..known });
    }

    /// What the last operation saw here.
    pub(crate) fn seen(&self) -> Seen {
        self.known().seen
    }

    /// What may lie here: the generation last written and, where a command may have written again, the first.
    pub(crate) fn possible(&self) -> Result<Vec<Manifest>, WorkError> {
        let Written { generation, sure, .. } = self.known();
        let mut possible = vec![Manifest::of(self.dataset, self.staged, generation)?];
        if !sure && generation > 0 {
            possible.push(Manifest::of(self.dataset, self.staged, 0)?);
        }
        Ok(possible)
    }

    /// Compares what lies here with what must.
    pub(crate) fn compare(&self, operation: &'static str) -> Result<(), WorkError> {
        let mut first = None;
        for manifest in self.possible()? {
            match manifest.compare(&self.target(), self.known().hard_links) {
                Ok(()) => return Ok(()),
                Err(problem) => first = first.or(Some(problem)),
            }
        }
        first.map_or(Ok(()), |problem| Err(WorkError::Wrong { operation, problem }))
    }
}
