//! `tree.read` with several threads: an idle thread takes the next found directory, and reads its files.

use std::collections::VecDeque;
use std::convert::identity;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use rustix::fs::FileType;

use crate::dataset::{IoFailure, Listing, open_directory_below, stat_entry, type_of};

use super::hands::with_hands;
use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::LastSeen;
use super::walk::{Visitor, WalkReader};
use super::{OperationResult, WorkError, Workplace};

/// The unread directories, and the number of those being read, which may have more subdirectories.
#[derive(Default)]
struct FoundDirectories {
    waiting: VecDeque<PathBuf>,
    being_read: usize,
    failed: bool,
}

struct DirectoryQueue {
    found: Mutex<FoundDirectories>,
    changed: Condvar,
}

impl DirectoryQueue {
    fn lock_queue(&self) -> MutexGuard<'_, FoundDirectories> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory; `None` once all were read or a thread failed.
    fn next(&self) -> Option<PathBuf> {
        let mut queue = self.lock_queue();
        loop {
            if queue.failed {
                return None;
            }
            if let Some(next) = queue.waiting.pop_front() {
                queue.being_read += 1;
                return Some(next);
            }
            if queue.being_read == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add_directory(&self, directory: PathBuf) {
        self.lock_queue().waiting.push_back(directory);
        self.changed.notify_one();
    }

    fn is_read(&self, well: bool) {
        let mut queue = self.lock_queue();
        queue.being_read -= 1;
        queue.failed |= !well;
        drop(queue);
        self.changed.notify_all();
    }
}

pub(super) fn read_tree(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let root = site.open_target()?;
    let queue = DirectoryQueue { found: Mutex::default(), changed: Condvar::new() };
    queue.add_directory(PathBuf::new());
    let totals = Mutex::new((LatencyRecorder::new("read_file")?, LastSeen::default()));
    with_hands(site.threads, "read_file", |_| {
        let mut reader = WalkReader::new()?;
        while let Some(directory) = queue.next() {
            let read = read_directory(&root, &directory, &queue, &mut reader);
            queue.is_read(read.is_ok());
            read.map_err(|failure| site.io_failure_below(failure))?;
        }
        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.0.merge_with(reader.latency());
        totals.1.files += reader.seen.files;
        totals.1.bytes += reader.seen.bytes;
        totals.1.digests = totals.1.digests.wrapping_add(reader.seen.digests);
        Ok(reader.seen.bytes)
    })?;
    let (latency, seen) = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    site.note_seen(seen);
    Ok(OperationResult {
        logical_bytes: seen.bytes,
        read_besides: 0,
        files: seen.files,
        held: None,
        calls: to_recorded_calls(&[&latency]),
        main_call: "read_file",
    })
}

fn read_directory(
    root: &OwnedFd,
    path: &Path,
    queue: &DirectoryQueue,
    reader: &mut WalkReader,
) -> Result<(), IoFailure> {
    let failed = |call: &'static str| move |errno| IoFailure::new(call, path.display().to_string(), errno);
    let here = open_directory_below(root.as_fd(), path, false).map_err(failed("open the directory"))?;
    let read = Listing::new().for_each_entry(here.as_fd(), identity, |name, kind| {
        let kind = match kind {
            FileType::Unknown => type_of(&stat_entry(here.as_fd(), name)?),
            kind => kind,
        };
        if kind == FileType::Directory {
            queue.add_directory(path.join(OsStr::from_bytes(name.to_bytes())));
            return Ok(());
        }
        reader.visit_file(here.as_fd(), name, kind)
    });
    read.map_err(failed("read"))
}
