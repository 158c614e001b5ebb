//! `tree.read` and `tree.remove`: walking a tree as a program does that does not know it, in the order the
//! filesystem lists it.
//!
//! The walk keeps one descriptor per level and the names of directories still to visit in one arena; it allocates
//! nothing for a file.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::dataset::{IoFailure, Listing, TRANSFER, open_directory, read_some, stat_entry, type_of};

use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{LastSeen, LedgerEntry, Remains};
use super::{OperationResult, WorkError, Workplace};

/// How often a directory is read again for entries the filesystem had not shown before.
const PASSES: u8 = 4;

pub(super) trait Visitor {
    /// The verb of [`visit_file`](Self::visit_file), for messages.
    const VERB: &'static str;

    fn visit_file(&mut self, directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<(), Errno>;

    /// Called after the content of a directory has been visited.
    fn leave_directory(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno>;
}

struct WalkLevel {
    directory: OwnedFd,
    /// Where the names of its subdirectories begin in the arena.
    start: usize,
    /// Where the one being visited begins, and where the next.
    current: usize,
    next: usize,
    /// How often the current one was visited.
    passes: u8,
}

struct Walk<'a, V> {
    visitor: &'a mut V,
    listing: Listing,
    /// NUL-terminated names of subdirectories, level after level.
    names: Vec<u8>,
    levels: Vec<WalkLevel>,
}

/// Visits all below `root`; the paths of failures are relative to it.
pub(super) fn walk_tree<V: Visitor>(root: OwnedFd, visitor: &mut V) -> Result<(), IoFailure> {
    let mut walk = Walk { visitor, listing: Listing::new(), names: Vec::new(), levels: Vec::new() };
    walk.enter_directory(root)?;
    while let Some(level) = walk.levels.last_mut() {
        if level.next == walk.names.len() {
            let start = level.start;
            walk.levels.pop();
            walk.names.truncate(start);
            walk.leave_current()?;
            continue;
        }
        level.current = level.next;
        level.next += name_at(&walk.names, level.current).count_bytes() + 1;
        level.passes = 0;
        walk.enter_next_directory()?;
    }
    Ok(())
}

fn name_at(names: &[u8], at: usize) -> &CStr {
    names.get(at..).and_then(|rest| CStr::from_bytes_until_nul(rest).ok()).unwrap_or_default()
}

impl<V: Visitor> Walk<'_, V> {
    /// Visits the files of a directory and remembers its subdirectories.
    fn enter_directory(&mut self, directory: OwnedFd) -> Result<(), IoFailure> {
        let start = self.names.len();
        let (visitor, names) = (&mut *self.visitor, &mut self.names);
        let unread = |errno| ("list", String::new(), errno);
        let read = self.listing.for_each_entry(directory.as_fd(), unread, |name, kind| {
            let trouble =
                |call: &'static str| move |errno| (call, name.to_string_lossy().into_owned(), errno);
            let kind = match kind {
                // Some filesystems do not return an entry's type when they list it.
                FileType::Unknown => stat_entry(directory.as_fd(), name)
                    .map(|status| type_of(&status))
                    .map_err(trouble("look at"))?,
                kind => kind,
            };
            if kind == FileType::Directory {
                names.extend_from_slice(name.to_bytes_with_nul());
                return Ok(());
            }
            visitor.visit_file(directory.as_fd(), name, kind).map_err(trouble(V::VERB))
        });
        read.map_err(|(call, name, errno)| self.walk_failure(call, &name, errno))?;
        self.levels.push(WalkLevel { directory, start, current: start, next: start, passes: 0 });
        Ok(())
    }

    /// Goes into the current subdirectory of the deepest level.
    fn enter_next_directory(&mut self) -> Result<(), IoFailure> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        level.passes += 1;
        let opened = open_directory(level.directory.as_fd(), name_at(&self.names, level.current));
        match opened {
            Ok(directory) => self.enter_directory(directory),
            Err(errno) => Err(self.walk_failure("open the directory", "", errno)),
        }
    }

    /// Takes leave of the current subdirectory of the deepest level.
    fn leave_current(&mut self) -> Result<(), IoFailure> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        match self.visitor.leave_directory(level.directory.as_fd(), name_at(&self.names, level.current)) {
            Ok(()) => Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) if level.passes < PASSES => self.enter_next_directory(),
            Err(errno) => Err(self.walk_failure("leave the directory", "", errno)),
        }
    }

    fn walk_failure(&self, call: &'static str, name: &str, errno: Errno) -> IoFailure {
        let mut path = String::new();
        for level in self.levels.iter().filter(|level| level.next > level.start) {
            path.push_str(&name_at(&self.names, level.current).to_string_lossy());
            path.push('/');
        }
        path.push_str(name);
        IoFailure::new(call, path, errno)
    }
}

pub(super) struct WalkReader {
    latency: LatencyRecorder,
    buffer: Vec<u8>,
    pub(super) seen: LastSeen,
}

impl WalkReader {
    pub(super) fn new() -> Result<Self, WorkError> {
        let latency = LatencyRecorder::new("read_file")?;
        Ok(WalkReader { latency, buffer: vec![0; TRANSFER], seen: LastSeen::default() })
    }

    pub(super) fn latency(&self) -> &LatencyRecorder {
        &self.latency
    }
}

impl Visitor for WalkReader {
    const VERB: &'static str = "read";

    fn visit_file(&mut self, directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<(), Errno> {
        if kind != FileType::RegularFile {
            return Ok(());
        }
        let start = Instant::now();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
        let mut count = read_some(file.as_fd(), &mut self.buffer)?;
        let mut bytes = count as u64;
        // Less than was asked for is the end of a regular file.
        let digest = if count < self.buffer.len() {
            xxh3_64(&self.buffer[..count])
        } else {
            let mut digest = Xxh3::new();
            while count > 0 {
                digest.update(&self.buffer[..count]);
                count = read_some(file.as_fd(), &mut self.buffer)?;
                bytes += count as u64;
            }
            digest.digest()
        };
        drop(file);
        self.latency.record_since(start);
        self.seen.files += 1;
        self.seen.bytes += bytes;
        self.seen.digests = self.seen.digests.wrapping_add(digest);
        Ok(())
    }

    fn leave_directory(&mut self, _: BorrowedFd<'_>, _: &CStr) -> Result<(), Errno> {
        Ok(())
    }
}

pub(crate) fn read_tree(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let root = site.open_target()?;
    let mut reader = WalkReader::new()?;
    walk_tree(root, &mut reader).map_err(|failure| site.io_failure_below(failure))?;
    let WalkReader { latency, seen, .. } = reader;
    site.note_seen(seen);
    let calls = to_recorded_calls(&[&latency]);
    Ok(OperationResult {
        logical_bytes: seen.bytes,
        files: seen.files,
        held: None,
        read_besides: 0,
        calls,
        main_call: "read_file",
    })
}

/// Verifies the data that were read on the way.
pub(crate) fn verify_read(site: &Workplace<'_>) -> Result<(), WorkError> {
    let read = site.last_seen();
    let mut expected = None;
    for manifest in site.possible_manifests()? {
        let (bytes, digests) = manifest.sum_digests();
        let must = LastSeen { files: manifest.totals().files, bytes, digests };
        if must == read {
            return Ok(());
        }
        expected = expected.or(Some(must));
    }
    // A mismatch is located by another comparison; if that finds none, the first read was wrong.
    site.compare_with_expected()?;
    let shown = |seen: LastSeen| {
        format!("{} files, {} bytes, sum of digests {:016x}", seen.files, seen.bytes, seen.digests)
    };
    Err(site.miscount_error(shown(read), shown(expected.unwrap_or_default())))
}

struct Remover {
    file: LatencyRecorder,
    directory: LatencyRecorder,
    files: u64,
}

impl Visitor for Remover {
    const VERB: &'static str = "remove";

    fn visit_file(&mut self, directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<(), Errno> {
        let start = Instant::now();
        rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
        self.file.record_since(start);
        self.files += u64::from(kind == FileType::RegularFile);
        Ok(())
    }

    fn leave_directory(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let start = Instant::now();
        rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
        self.directory.record_since(start);
        Ok(())
    }
}

/// Removes all content of the site.
pub(crate) fn remove_tree(site: &Workplace<'_>) -> Result<OperationResult, WorkError> {
    let (above, name) = site.open_above(false)?;
    let mut remover = Remover {
        file: LatencyRecorder::new("unlink")?,
        directory: LatencyRecorder::new("rmdir")?,
        files: 0,
    };
    let mut passes = 0;
    loop {
        let root = site.open_target()?;
        walk_tree(root, &mut remover).map_err(|failure| site.io_failure_below(failure))?;
        passes += 1;
        match remover.leave_directory(above.as_fd(), &name) {
            Ok(()) => break,
            Err(Errno::NOTEMPTY | Errno::EXIST) if passes < PASSES => {}
            Err(errno) => return Err(site.io_failure("remove", errno)),
        }
    }
    let calls = to_recorded_calls(&[&remover.file, &remover.directory]);
    Ok(OperationResult {
        logical_bytes: 0,
        files: remover.files,
        held: None,
        read_besides: 0,
        calls,
        main_call: "unlink",
    })
}

pub(crate) fn remove_and_note(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let result = remove_tree(site)?;
    let known = site.known_entry();
    site.set_entry(LedgerEntry { remains: Remains::Nothing, sure: true, aged: None, ..known });
    Ok(result)
}
