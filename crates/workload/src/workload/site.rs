//! The place and the parameters of an operation.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::dataset::{
    DatasetError, DatasetOrigin, HardLinks, IoFailure, Listing, Manifest, Prepared, Staged, Tree, TreeSource,
    open_directory, open_directory_below, open_path,
};
use fsverdict_calls::CallTrace;
use fsverdict_judgement::plan::{Operation, OperationKind, Pace};

use super::WorkError;
use super::ledger::{LastSeen, Ledger, LedgerEntry, Remains};

#[derive(Debug)]
pub struct Workplace<'a> {
    pub operation: Operation,
    /// The mount point of the filesystem under test.
    pub mount: &'a Path,
    /// The folder (or, for `stream` operations, the file) relative to the mount point.
    pub into: &'a Path,
    pub dataset: &'a Prepared,
    /// The staged copy of the dataset, for datasets that need one.
    pub staged: Option<&'a Staged>,
    pub ledger: &'a mut Ledger,
    /// The share of files that have changed since the generation before, for operations that make generations.
    pub changed: f64,
    /// The share of the filesystem that is to be in use, for operations that fill and empty it.
    pub to: f64,
    /// Bytes of a call, for operations that work in pieces.
    pub piece: u64,
    /// A thread syncs its data after so many calls; 0: only at the end of the phase.
    pub sync_every: u32,
    /// How long nothing is done after each file, for operations that save files.
    pub pause: Duration,
    /// How many threads share the work, for operations that can.
    pub threads: u32,
    /// How many calls of a thread are under way at once, for operations that can; 0: plain calls.
    pub depth: u32,
    /// Whether pauses between calls are kept, for the operation that makes those of a trace again.
    pub pace: Pace,
    /// How many pulls, for the operation that pulls.
    pub pulls: u32,
    /// How many times as much as lies there is written once it is full, for the operation that churns.
    pub rounds: u32,
}

impl Workplace<'_> {
    /// The same place in a subfolder.
    pub(super) fn in_folder<'b>(&'b mut self, folder: &'b Path) -> Workplace<'b> {
        Workplace { into: folder, ledger: self.ledger, ..*self }
    }

    pub fn target_path(&self) -> PathBuf {
        self.mount.join(self.into)
    }

    pub(crate) fn displayed_path(&self) -> String {
        self.target_path().display().to_string()
    }

    pub(crate) fn validate(&self) -> Result<(), WorkError> {
        let operation = self.operation.name();
        let kind = self.dataset.kind;
        if !self.operation.dataset_kinds().contains(&kind) {
            return Err(self.wrong_kind(kind));
        }
        let normal = |component| matches!(component, Component::Normal(_));
        if self.into.as_os_str().is_empty() || !self.into.components().all(normal) {
            return Err(WorkError::BadInto { operation, into: self.into.display().to_string() });
        }
        if self.dataset.needs_staging() {
            self.expected_tree()?;
        }
        Ok(())
    }

    pub(crate) fn wrong_kind(&self, kind: OperationKind) -> WorkError {
        let takes: Vec<&str> = self.operation.dataset_kinds().iter().map(|kind| kind.word()).collect();
        WorkError::WrongKind {
            operation: self.operation.name(),
            dataset: self.dataset.name.clone(),
            kind: kind.word(),
            takes: takes.join(" or "),
        }
    }

    pub(crate) fn io_failure(&self, call: &'static str, errno: Errno) -> WorkError {
        self.io_failure_at(call, self.displayed_path(), errno)
    }

    fn io_failure_at(&self, call: &'static str, path: String, errno: Errno) -> WorkError {
        WorkError::Io { operation: self.operation.name(), failure: IoFailure::new(call, path, errno) }
    }

    pub(crate) fn io_failure_below(&self, failure: IoFailure) -> WorkError {
        WorkError::Io { operation: self.operation.name(), failure: failure.prefix_path(&self.target_path()) }
    }

    pub(crate) fn already_there_error(&self) -> WorkError {
        WorkError::AlreadyThere { operation: self.operation.name(), at: self.displayed_path() }
    }

    pub(crate) fn miscount_error(&self, saw: String, expected: String) -> WorkError {
        WorkError::Miscounted { operation: self.operation.name(), at: self.displayed_path(), saw, expected }
    }

    pub(crate) fn not_written_error(&self) -> WorkError {
        let before = match self.dataset.kind {
            OperationKind::Tree | OperationKind::Folder | OperationKind::Trace => Operation::TreeWrite,
            OperationKind::Flat => Operation::DirectoryFill,
            OperationKind::File => Operation::StreamWrite,
        };
        self.not_written_by_error(before)
    }

    pub(crate) fn not_written_by_error(&self, before: Operation) -> WorkError {
        WorkError::NotWritten {
            operation: self.operation.name(),
            dataset: self.dataset.name.clone(),
            at: self.displayed_path(),
            before: before.name(),
        }
    }

    pub(crate) fn expected_tree(&self) -> Result<&Tree, WorkError> {
        let here = self.ledger.folders.get(self.into).filter(|here| here.dataset == self.dataset.name);
        if let Some(aged) = here.and_then(|here| here.aged.as_ref()) {
            return Ok(&aged.tree);
        }
        match (&self.dataset.origin, self.staged) {
            (DatasetOrigin::Generated { tree, .. }, _) => Ok(tree),
            (DatasetOrigin::Folder { .. }, Some(staged)) => Ok(&staged.tree),
            (DatasetOrigin::Folder { .. }, None) => {
                Err(DatasetError::NotStaged { dataset: self.dataset.name.clone() }.into())
            }
        }
    }

    /// The calls of the dataset.
    pub(crate) fn traced_calls(&self) -> Result<&CallTrace, WorkError> {
        self.dataset.calls.as_deref().ok_or_else(|| self.wrong_kind(self.dataset.kind))
    }

    /// Opens the staged folder, for a dataset that is copied from there.
    pub(crate) fn open_staged(&self) -> Result<Option<OwnedFd>, WorkError> {
        let Some(staged) = self.staged.filter(|_| self.dataset.needs_staging()) else { return Ok(None) };
        open_path(&staged.path).map(Some).map_err(|errno| {
            self.io_failure_at("open the staged folder", staged.path.display().to_string(), errno)
        })
    }

    /// Where the bytes of this generation come from.
    pub(crate) fn source<'b>(
        &'b self,
        staged: Option<&'b OwnedFd>,
        generation: u32,
    ) -> Result<TreeSource<'b>, WorkError> {
        match (&self.dataset.origin, staged) {
            (DatasetOrigin::Generated { content, .. }, _) => {
                Ok(TreeSource::Generated { content, generation })
            }
            (DatasetOrigin::Folder { .. }, Some(root)) => Ok(TreeSource::Folder(root.as_fd())),
            (DatasetOrigin::Folder { .. }, None) => {
                Err(DatasetError::NotStaged { dataset: self.dataset.name.clone() }.into())
            }
        }
    }

    /// Opens the directory above the target, and gives the target's name in it.
    pub(crate) fn open_above(&self, make: bool) -> Result<(OwnedFd, CString), WorkError> {
        let mount = open_path(self.mount).map_err(|errno| {
            self.io_failure_at("open the mount point", self.mount.display().to_string(), errno)
        })?;
        let above = self.into.parent().unwrap_or(Path::new(""));
        let above = open_directory_below(mount.as_fd(), above, make).map_err(|errno| match errno {
            Errno::NOENT => self.not_written_error(),
            errno => self.io_failure("open the directory above", errno),
        })?;
        let name = self.into.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        let name = CString::new(name).map_err(|_| self.io_failure("open", Errno::INVAL))?;
        Ok((above, name))
    }

    /// Whether the content was aged by a history of changes.
    pub fn is_aged(&self) -> bool {
        self.known_entry().aged.is_some()
    }

    pub(crate) fn open_target(&self) -> Result<OwnedFd, WorkError> {
        let (above, name) = self.open_above(false)?;
        open_directory(above.as_fd(), &name).map_err(|errno| match errno {
            Errno::NOENT => self.not_written_error(),
            errno => self.io_failure("open the directory", errno),
        })
    }

    /// Makes the directory to work in; an empty one may be there already.
    pub(crate) fn make_target(&self) -> Result<OwnedFd, WorkError> {
        let (above, name) = self.open_above(true)?;
        let made = rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o755));
        let there = match made {
            Ok(()) => false,
            Err(Errno::EXIST) => true,
            Err(errno) => return Err(self.io_failure("make the directory", errno)),
        };
        let target = open_directory(above.as_fd(), &name).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => self.already_there_error(),
            errno => self.io_failure("open the directory", errno),
        })?;
        if there {
            let unread = |errno| self.io_failure("list the directory", errno);
            Listing::new().for_each_entry(target.as_fd(), unread, |_, _| Err(self.already_there_error()))?;
        }
        Ok(target)
    }

    /// The known content of this folder; by default the dataset as first written, without certainty.
    pub(crate) fn known_entry(&self) -> LedgerEntry {
        let here = self.ledger.folders.get(self.into);
        here.filter(|written| written.dataset == self.dataset.name).cloned().unwrap_or_else(|| LedgerEntry {
            dataset: self.dataset.name.clone(),
            generation: 0,
            remains: Remains::Everything,
            hard_links: HardLinks::MayBeCopies,
            sure: false,
            seen: LastSeen::default(),
            aged: None,
        })
    }

    pub(crate) fn set_entry(&mut self, written: LedgerEntry) {
        self.ledger.folders.insert(self.into.into(), written);
    }

    pub(crate) fn note_created(&mut self) {
        let written = LedgerEntry { generation: 0, remains: Remains::Everything, ..self.known_entry() };
        self.set_entry(LedgerEntry { hard_links: HardLinks::Exact, sure: true, ..written });
    }

    /// Notes that the dataset was written once more over itself.
    pub(crate) fn note_overwritten(&mut self) {
        let known = self.known_entry();
        self.set_entry(LedgerEntry { generation: known.generation + 1, sure: true, ..known });
    }

    pub(crate) fn note_seen(&mut self, seen: LastSeen) {
        let known = self.known_entry();
        self.set_entry(LedgerEntry { remains: Remains::Everything, seen, ..known });
    }

    pub(crate) fn last_seen(&self) -> LastSeen {
        self.known_entry().seen
    }

    /// The possible contents: the generation last written and, if a command may have rewritten it, the first.
    pub(crate) fn possible_manifests(&self) -> Result<Vec<Manifest>, WorkError> {
        let known = self.known_entry();
        let mut possible = vec![known.manifest_of(self.dataset, self.staged, known.generation)?];
        if !known.sure && known.generation > 0 {
            possible.push(known.manifest_of(self.dataset, self.staged, 0)?);
        }
        Ok(possible)
    }

    pub(crate) fn compare_with_expected(&self) -> Result<(), WorkError> {
        let mut first = None;
        for manifest in self.possible_manifests()? {
            match manifest.compare_with(&self.target_path(), self.known_entry().hard_links) {
                Ok(()) => return Ok(()),
                Err(problem) => first = first.or(Some(problem)),
            }
        }
        first.map_or(Ok(()), |problem| Err(WorkError::Wrong { operation: self.operation.name(), problem }))
    }
}
