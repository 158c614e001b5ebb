//! `age.pull` and `age.churn`: a tree through a history of changes, with the calls by which programs make them.
//!
//! A pull acts on a working tree like git(1): objects are written under a temporary name, linked to the final one and
//! unlinked from the temporary one; changed files are unlinked and created; the index is written to a second file and
//! renamed. Paths are relative to the tree's root, like git's. Each pull is synced.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{
    AgedFile, AgedTree, Body, Content, CreatedFile, DatasetOrigin, IoFailure, Pull, Pulled,
};
use fsverdict_judgement::plan::OperationKind;

use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{AgedDataset, LedgerEntry, Remains};
use super::space::{Fullness, is_full};
use super::{OperationResult, WorkError, Workplace};

/// How many files are written between two looks at how full the filesystem is.
const LOOK_AFTER: u32 = 32;

/// The tree as it is being changed.
struct AgingSite<'a> {
    root: OwnedFd,
    content: &'a Content,
    /// How often all of it was overwritten before.
    generation: u32,
    aged: AgedTree,
    path: Vec<u8>,
    bytes: u64,
    files: u64,
}

/// Brings the tree so many pulls further.
pub(crate) fn pull_changes(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let mut latency = LatencyRecorder::new("pull")?;
    let mut aging = AgingSite::from_workplace(site)?;
    for _ in 0..site.pulls {
        let start = Instant::now();
        let pull = aging.aged.pull_changes(site.changed);
        aging.apply_pull(pull).map_err(|failure| site.io_failure_below(failure))?;
        rustix::fs::syncfs(&aging.root).map_err(|errno| site.io_failure("sync the filesystem", errno))?;
        latency.record_since(start);
    }
    aging.into_result(site, &latency, "pull")
}

/// Fills the filesystem with files that come, and lets them come and go.
pub(crate) fn churn_files(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let mut latency = LatencyRecorder::new("write_file")?;
    let mut aging = AgingSite::from_workplace(site)?;
    // Bytes that are still to be written once it is full.
    let mut bytes_left: Option<u64> = None;
    while bytes_left != Some(0) {
        let (before, mut full) = (aging.bytes, false);
        for _ in 0..LOOK_AFTER {
            let start = Instant::now();
            let CreatedFile { made, file } = aging.aged.create_file();
            let written = made.map_or(Ok(()), |number| aging.make_directory(number));
            match written.and_then(|()| aging.write_file(&file)) {
                Ok(()) => latency.record_since(start),
                Err(failure) => {
                    let error = site.io_failure_below(failure);
                    if !is_full(&error) {
                        return Err(error);
                    }
                    full = true;
                    aging.give_up(&file).map_err(|failure| site.io_failure_below(failure))?;
                    break;
                }
            }
        }
        let now = Fullness::measure(site)?;
        let written = aging.bytes - before;
        bytes_left = match bytes_left {
            Some(left) => Some(left.saturating_sub(written.max(1))),
            None if full || now.share >= site.to => {
                Some(aging.aged.total_bytes().saturating_mul(u64::from(site.rounds)))
            }
            None => None,
        };
        let over = ((now.share - site.to).max(0.0) * now.bytes as f64) as u64;
        // Where nothing goes in any more, room for as much as was to be written.
        let goes = if full { over.max(now.bytes / 64) } else { over };
        aging.remove_some(goes).map_err(|failure| site.io_failure_below(failure))?;
    }
    aging.into_result(site, &latency, "write_file")
}

impl<'a> AgingSite<'a> {
    fn from_workplace(site: &Workplace<'a>) -> Result<Self, WorkError> {
        let DatasetOrigin::Generated { tree, content } = &site.dataset.origin else {
            return Err(site.wrong_kind(OperationKind::Tree));
        };
        let known = site.known_entry();
        if known.remains != Remains::Everything {
            return Err(site.not_written_error());
        }
        let begun = match &known.aged {
            Some(aged) => Some(AgedTree::clone(&aged.state)),
            None => AgedTree::from_tree(tree, content.seed()),
        };
        let aged = begun.ok_or_else(|| WorkError::Linked { operation: site.operation.name() })?;
        let root = site.open_target()?;
        let (path, generation) = (Vec::new(), known.generation);
        Ok(AgingSite { root, content, generation, aged, path, bytes: 0, files: 0 })
    }

    fn apply_pull(&mut self, pull: Pull) -> Result<(), IoFailure> {
        for number in pull.made {
            self.make_directory(number)?;
        }
        for object in &pull.objects {
            self.write_as(object, b".tmp")?;
            self.timed_call("link", object, |root, path, beside| {
                rustix::fs::linkat(root, beside, root, path, AtFlags::empty())?;
                rustix::fs::unlinkat(root, beside, AtFlags::empty())
            })?;
        }
        for file in &pull.removed {
            self.remove_file(file)?;
        }
        for Pulled { file, was_there } in &pull.written {
            if *was_there {
                self.remove_file(file)?;
            }
            self.write_file(file)?;
        }
        if let Some(index) = &pull.index {
            self.write_as(index, b".lock")?;
            self.timed_call("rename", index, |root, path, beside| {
                rustix::fs::renameat(root, beside, root, path)
            })?;
        }
        Ok(())
    }

    fn make_directory(&mut self, number: u32) -> Result<(), IoFailure> {
        self.path.clear();
        self.path.extend_from_slice(self.aged.directory_path(number));
        self.path.push(0);
        let made = to_c_string(&self.path)
            .and_then(|path| rustix::fs::mkdirat(&self.root, path, Mode::from_raw_mode(0o755)));
        made.map_err(|errno| self.failure_of("make the directory", errno))
    }

    fn write_file(&mut self, file: &AgedFile) -> Result<(), IoFailure> {
        self.write_as(file, b"")
    }

    /// Writes a file under its name with this ending.
    fn write_as(&mut self, file: &AgedFile, ending: &[u8]) -> Result<(), IoFailure> {
        self.aged.path_into(file, &mut self.path);
        self.path.extend_from_slice(ending);
        self.path.push(0);
        let body = Body { identity: file.identity, generation: self.generation, size: file.size };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = to_c_string(&self.path).and_then(|path| {
            let made = rustix::fs::openat(&self.root, path, flags, Mode::from_raw_mode(0o644))?;
            self.content.write_all(made.as_fd(), &body)
        });
        written.map_err(|errno| self.failure_of("write", errno))?;
        self.bytes += file.size;
        self.files += 1;
        Ok(())
    }

    /// Times a call with the path of a file and the path of its temporary file.
    fn timed_call(
        &mut self,
        verb: &'static str,
        file: &AgedFile,
        call: impl FnOnce(&OwnedFd, &CStr, &CStr) -> Result<(), Errno>,
    ) -> Result<(), IoFailure> {
        let mut beside = std::mem::take(&mut self.path);
        self.aged.path_into(file, &mut self.path);
        self.path.push(0);
        let called = to_c_string(&self.path).and_then(|path| call(&self.root, path, to_c_string(&beside)?));
        beside.clear();
        called.map_err(|errno| self.failure_of(verb, errno))
    }

    fn remove_file(&mut self, file: &AgedFile) -> Result<(), IoFailure> {
        self.aged.path_into(file, &mut self.path);
        self.path.push(0);
        let removed =
            to_c_string(&self.path).and_then(|path| rustix::fs::unlinkat(&self.root, path, AtFlags::empty()));
        removed.map_err(|errno| self.failure_of("remove", errno))
    }

    /// Removes the file born last, as far as it was written.
    fn give_up(&mut self, file: &AgedFile) -> Result<(), IoFailure> {
        self.aged.undo_creation();
        self.remove_file(file)
            .or_else(|failure| if failure.errno == Errno::NOENT { Ok(()) } else { Err(failure) })
    }

    /// Removes files until so many bytes of them are gone, or none is left.
    fn remove_some(&mut self, bytes: u64) -> Result<(), IoFailure> {
        let mut gone = 0;
        while gone < bytes
            && let Some(file) = self.aged.delete_file()
        {
            self.remove_file(&file)?;
            gone += file.size.max(1);
        }
        Ok(())
    }

    fn failure_of(&self, call: &'static str, errno: Errno) -> IoFailure {
        let path = self.path.strip_suffix(&[0]).unwrap_or(&self.path);
        IoFailure::new(call, String::from_utf8_lossy(path).into_owned(), errno)
    }

    fn into_result(
        self,
        site: &mut Workplace<'_>,
        latency: &LatencyRecorder,
        main_call: &'static str,
    ) -> Result<OperationResult, WorkError> {
        let bytes_held = Some(self.aged.total_bytes());
        let tree = self.aged.to_tree().ok_or_else(|| site.io_failure("lay out the tree", Errno::FBIG))?;
        let known = site.known_entry();
        let aged = Some(AgedDataset { state: Arc::new(self.aged), tree: Arc::new(tree) });
        site.set_entry(LedgerEntry { remains: Remains::Everything, sure: true, aged, ..known });
        let calls = to_recorded_calls(&[latency]);
        Ok(OperationResult {
            logical_bytes: self.bytes,
            files: self.files,
            read_besides: 0,
            held: bytes_held,
            calls,
            main_call,
        })
    }
}

fn to_c_string(path: &[u8]) -> Result<&CStr, Errno> {
    CStr::from_bytes_with_nul(path).map_err(|_| Errno::INVAL)
}
