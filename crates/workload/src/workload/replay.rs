//! `trace.replay` and `device.replay`: the calls of a trace, made again in their order.
//!
//! Names are numbers of the trace; contents are derived from the file and the offset. Threads share calls that only
//! move bytes; calls that create, rename or remove files keep their order, in one thread.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, Content, IoFailure, Listing, open_directory, stat_entry};
use fsverdict_judgement::plan::{CallTrace, CallWork, OpenFlags, Pace, TracedCall};

use super::hands::with_hands;
use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{LedgerEntry, Remains};
use super::page_buffer::PageBuffer;
use super::pieces::content_of;
use super::positioned::{read_at, write_at};
use super::{OperationResult, WorkError, Workplace};

/// The alignment of direct I/O: a page, which suffices for every device here.
const PAGE: u64 = 4096;
/// Contents of a file do not depend on how large it is.
pub(super) const ENDLESS: u64 = 1 << 60;
/// Directories that are kept open at once.
const KEPT_OPEN: usize = 256;

/// Why a call of a trace could not be made.
pub(super) type CallFailure = (&'static str, Errno);

pub(crate) fn replay_trace(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let known = site.known_entry();
    if known.remains != Remains::Everything || known.generation > 0 {
        return Err(site.not_written_error());
    }
    let root = site.open_target()?;
    let trace = site.traced_calls()?;
    let mut replayer = Replayer::new(trace, content_of(site)?, root.as_fd(), site.pace)?;
    let failed = |at: usize, (call, errno): CallFailure| WorkError::Io {
        operation: site.operation.name(),
        failure: IoFailure::new(
            call,
            format!("{}, at call {} of the trace", site.displayed_path(), at + 1),
            errno,
        ),
    };
    let alone = if site.threads > 1 {
        // Only opened files are shared, so that all are opened before.
        trace.calls().iter().take_while(|call| matches!(call.work, CallWork::Open { .. })).count()
    } else {
        trace.calls().len()
    };
    for (at, call) in trace.calls().iter().enumerate().take(alone) {
        replayer.make_call(call).map_err(|failure| failed(at, failure))?;
    }
    let rest: Vec<(usize, &TracedCall)> = trace.calls().iter().enumerate().skip(alone).collect();
    let (latency, shared) = (&replayer, site.threads);
    let moved = with_hands(if rest.is_empty() { 1 } else { shared }, "call", |hand| {
        let mut mover = Mover::new(latency.content)?;
        for (at, call) in hand.items_of_hand(&rest) {
            pause_before(latency.pace, call);
            let start = Instant::now();
            latency.move_bytes(&mut mover, call.work).map_err(|failure| failed(*at, failure))?;
            hand.latency.record_since(start);
        }
        Ok(mover.read + mover.written)
    })?;
    let mut calls = replayer.calls;
    calls.merge_with(&moved.latency);
    let totals = trace.totals();
    let calls = to_recorded_calls(&[
        &calls,
        &replayer.mover.reads,
        &replayer.mover.writes,
        &replayer.mover.syncs,
        &replayer.names,
    ]);
    site.set_entry(LedgerEntry { remains: Remains::Replayed, sure: true, ..known });
    Ok(OperationResult {
        logical_bytes: totals.written,
        read_besides: totals.read,
        files: totals.files,
        held: None,
        calls,
        main_call: "call",
    })
}

/// The requests of a trace on a device without a filesystem, of which its one file is all.
pub(super) fn replay_on(
    device: &OwnedFd,
    trace: &CallTrace,
    content: &Content,
    pace: Pace,
    threads: u32,
) -> Result<(LatencyRecorder, u64, u64), Result<WorkError, CallFailure>> {
    let requests: Vec<&TracedCall> =
        trace.calls().iter().filter(|call| !matches!(call.work, CallWork::Open { .. })).collect();
    let first_failure = std::sync::Mutex::new(None);
    let moved = with_hands(threads, "call", |hand| {
        let mut mover = Mover::new(content)?;
        for call in hand.items_of_hand(&requests) {
            pause_before(pace, call);
            let start = Instant::now();
            if let Err(failure) = mover.apply_to_file(device.as_fd(), 0, call.work) {
                if let Ok(mut first) = first_failure.lock() {
                    *first = Some(failure);
                }
                return Err(WorkError::Thread { reason: failure.1.to_string() });
            }
            hand.latency.record_since(start);
        }
        Ok(mover.read + mover.written)
    });
    let totals = trace.totals();
    match (moved, first_failure.into_inner().ok().flatten()) {
        (Ok(moved), _) => Ok((moved.latency, totals.read, totals.written)),
        (Err(_), Some(failure)) => Err(Err(failure)),
        (Err(error), None) => Err(Ok(error)),
    }
}

/// Whether all calls are of whole pages, as they must be past the kernel's cache.
pub(super) fn of_whole_pages(trace: &CallTrace) -> bool {
    trace.calls().iter().all(|call| match call.work {
        CallWork::Read { offset, length, .. } | CallWork::Write { offset, length, .. } => {
            offset % PAGE == 0 && length % PAGE == 0
        }
        _ => true,
    })
}

fn pause_before(pace: Pace, call: &TracedCall) {
    if pace == Pace::Recorded && call.pause_us > 0 {
        std::thread::sleep(Duration::from_micros(call.pause_us));
    }
}

/// Calls that move bytes, and their latencies.
pub(super) struct Mover<'a> {
    content: &'a Content,
    buffer: PageBuffer,
    reads: LatencyRecorder,
    writes: LatencyRecorder,
    pub(super) syncs: LatencyRecorder,
    pub(super) read: u64,
    pub(super) written: u64,
}

impl<'a> Mover<'a> {
    fn new(content: &'a Content) -> Result<Self, WorkError> {
        Ok(Mover {
            content,
            buffer: PageBuffer::default(),
            reads: LatencyRecorder::new("read")?,
            writes: LatencyRecorder::new("write")?,
            syncs: LatencyRecorder::new("sync")?,
            read: 0,
            written: 0,
        })
    }

    /// A call on an open file of these contents, if it is one.
    fn apply_to_file(
        &mut self,
        file: BorrowedFd<'_>,
        identity: u32,
        work: CallWork,
    ) -> Result<(), CallFailure> {
        match work {
            CallWork::Read { offset, length, .. } => {
                let wanted = self.buffer.with_length(length as usize);
                let start = Instant::now();
                read_at(file, wanted, offset).map_err(|errno| ("read", errno))?;
                self.reads.record_since(start);
                self.read += length;
            }
            CallWork::Write { offset, length, .. } => {
                let bytes = self.buffer.with_length(length as usize);
                self.content.fill_range(&Body { identity, generation: 1, size: ENDLESS }, offset, bytes);
                let start = Instant::now();
                write_at(file, bytes, offset).map_err(|errno| ("write", errno))?;
                self.writes.record_since(start);
                self.written += length;
            }
            CallWork::Fsync { .. } => {
                let start = Instant::now();
                rustix::fs::fsync(file).map_err(|errno| ("fsync", errno))?;
                self.syncs.record_since(start);
            }
            CallWork::Fdatasync { .. } => {
                let start = Instant::now();
                rustix::fs::fdatasync(file).map_err(|errno| ("fdatasync", errno))?;
                self.syncs.record_since(start);
            }
            CallWork::Truncate { size, .. } => {
                rustix::fs::ftruncate(file, size).map_err(|errno| ("truncate a file in", errno))?;
            }
            CallWork::Reserve { offset, length, .. } => {
                rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length)
                    .map_err(|errno| ("set bytes aside in", errno))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Makes the calls of a trace in a folder.
pub(super) struct Replayer<'a> {
    pub(super) trace: &'a CallTrace,
    content: &'a Content,
    pub(super) root: BorrowedFd<'a>,
    pace: Pace,
    direct: bool,
    texts: Vec<CString>,
    /// Open files, with the number of their contents.
    pub(super) open: HashMap<u32, (OwnedFd, u32)>,
    pub(super) folders: HashMap<u32, OwnedFd>,
    /// Files without a name, where the filesystem has none and they were made with one: its directory, and the name.
    pub(super) stand_ins: HashMap<u32, (u32, CString)>,
    /// The numbers of contents of the files that are yet to be opened, in order.
    pub(super) contents: std::slice::Iter<'a, u32>,
    listing: Listing,
    pub(super) mover: Mover<'a>,
    pub(super) calls: LatencyRecorder,
    pub(super) names: LatencyRecorder,
}

impl<'a> Replayer<'a> {
    fn new(
        trace: &'a CallTrace,
        content: &'a Content,
        root: BorrowedFd<'a>,
        pace: Pace,
    ) -> Result<Self, WorkError> {
        let numbers = 1..=trace.names().len() as u32;
        // A number has no zero byte in it.
        let texts = numbers.map(|number| CString::new(trace.name_text(number)).unwrap_or_default()).collect();
        Ok(Replayer {
            trace,
            content,
            root,
            pace,
            direct: of_whole_pages(trace),
            texts,
            open: HashMap::new(),
            folders: HashMap::new(),
            stand_ins: HashMap::new(),
            contents: trace.contents_opened().iter(),
            listing: Listing::new(),
            mover: Mover::new(content)?,
            calls: LatencyRecorder::new("call")?,
            names: LatencyRecorder::new("name")?,
        })
    }

    fn make_call(&mut self, call: &TracedCall) -> Result<(), CallFailure> {
        pause_before(self.pace, call);
        match call.work {
            CallWork::Open { file, name, flags } => self.open_file(file, name, flags),
            CallWork::Close { file } => self.close_file(file),
            CallWork::MakeDirectory { .. }
            | CallWork::RemoveFile { .. }
            | CallWork::RemoveDirectory { .. }
            | CallWork::Rename { .. }
            | CallWork::Link { .. }
            | CallWork::Look { .. }
            | CallWork::List { .. } => self.change_name(call.work),
            CallWork::SyncDirectory { name } => self.sync_directory(name),
            CallWork::SyncFilesystem => {
                let start = Instant::now();
                rustix::fs::syncfs(self.root).map_err(|errno| ("sync the filesystem of", errno))?;
                self.record_sync(start);
                Ok(())
            }
            CallWork::OpenUnnamed { file, directory } => self.open_unnamed(file, directory),
            CallWork::LinkOpen { file, name } => self.link_open(file, name),
            CallWork::Copy { from, from_offset, file, offset, length, shared } => {
                self.copy_range((from, from_offset), (file, offset), length, shared)
            }
            work => {
                let Some((file, identity)) = file_of(work).and_then(|file| self.open.get(&file)) else {
                    return Err(("find an open file in", Errno::BADF));
                };
                // Contents are made outside of the latency of the one call, and within that of the phase.
                let start = Instant::now();
                self.mover.apply_to_file(file.as_fd(), *identity, work)?;
                self.calls.record_since(start);
                Ok(())
            }
        }
    }

    /// The same for calls that only move bytes, by several threads.
    fn move_bytes(&self, mover: &mut Mover<'_>, work: CallWork) -> Result<(), CallFailure> {
        let opened = file_of(work).and_then(|file| self.open.get(&file));
        let (file, identity) = opened.ok_or(("find an open file in", Errno::BADF))?;
        mover.apply_to_file(file.as_fd(), *identity, work)
    }

    pub(super) fn record_sync(&mut self, start: Instant) {
        self.calls.record_since(start);
        self.mover.syncs.record_since(start);
    }

    fn open_file(&mut self, file: u32, name: u32, flags: OpenFlags) -> Result<(), CallFailure> {
        let parent = self.open_parent(name)?;
        let mut how = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for (said, flag) in [
            (flags.create, OFlags::CREATE),
            (flags.truncate, OFlags::TRUNC),
            (flags.synced, OFlags::DSYNC),
            (flags.direct && self.direct, OFlags::DIRECT),
        ] {
            if said {
                how |= flag;
            }
        }
        let folder = self.folder_descriptor(parent);
        let text = self.name_text(name);
        let start = Instant::now();
        let opened = match rustix::fs::openat(folder, text, how, Mode::from_raw_mode(0o644)) {
            // Not every filesystem can go past the cache.
            Err(Errno::INVAL) if how.contains(OFlags::DIRECT) => {
                rustix::fs::openat(folder, text, how - OFlags::DIRECT, Mode::from_raw_mode(0o644))
            }
            opened => opened,
        };
        let opened = opened.map_err(|errno| ("open a file in", errno))?;
        self.calls.record_since(start);
        self.names.record_since(start);
        let identity = self.contents.next().copied().unwrap_or_default();
        self.open.insert(file, (opened, identity));
        Ok(())
    }

    /// A call on names.
    fn change_name(&mut self, work: CallWork) -> Result<(), CallFailure> {
        let (name, second) = match work {
            CallWork::MakeDirectory { name }
            | CallWork::RemoveFile { name }
            | CallWork::RemoveDirectory { name }
            | CallWork::Look { name }
            | CallWork::List { name } => (name, None),
            CallWork::Rename { from, to } | CallWork::Link { from, to } => (from, Some(to)),
            _ => return Ok(()),
        };
        if let CallWork::Look { .. } = work {
            let parent =
                self.trace.names().get((name as usize).wrapping_sub(1)).map_or(0, |name| name.parent);
            // A directory is not opened for it, which may not be there.
            if parent != 0 && !self.folders.contains_key(&parent) {
                return self.look_by_path(name);
            }
        }
        let parent = self.open_parent(name)?;
        let other = second.map(|second| self.open_parent(second)).transpose()?;
        if let CallWork::List { name } = work {
            self.keep_open(name)?;
            self.folders.remove(&name);
        }
        if let CallWork::RemoveDirectory { name } = work {
            self.folders.remove(&name);
        }
        let (folder, text) = (self.folder_descriptor(parent), self.name_text(name));
        let start = Instant::now();
        let outcome = match work {
            CallWork::MakeDirectory { .. } => rustix::fs::mkdirat(folder, text, Mode::from_raw_mode(0o755))
                .map_err(|errno| ("make a directory in", errno)),
            CallWork::RemoveFile { .. } => rustix::fs::unlinkat(folder, text, AtFlags::empty())
                .map_err(|errno| ("remove a file from", errno)),
            CallWork::RemoveDirectory { .. } => rustix::fs::unlinkat(folder, text, AtFlags::REMOVEDIR)
                .map_err(|errno| ("remove a directory from", errno)),
            CallWork::Look { .. } => match stat_entry(folder, text) {
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
                Err(errno) => Err(("look at a file in", errno)),
            },
            CallWork::List { .. } => open_directory(folder, text)
                .and_then(|listed| self.listing.for_each_entry(listed.as_fd(), |errno| errno, |_, _| Ok(())))
                .map_err(|errno| ("list a directory in", errno)),
            CallWork::Rename { to, .. } => {
                let (there, other) = (self.name_text(to), self.folder_descriptor(other.unwrap_or(parent)));
                rustix::fs::renameat(folder, text, other, there).map_err(|errno| ("rename a file in", errno))
            }
            CallWork::Link { to, .. } => {
                let (there, other) = (self.name_text(to), self.folder_descriptor(other.unwrap_or(parent)));
                rustix::fs::linkat(folder, text, other, there, AtFlags::empty())
                    .map_err(|errno| ("link a file in", errno))
            }
            _ => Ok(()),
        };
        outcome?;
        self.calls.record_since(start);
        self.names.record_since(start);
        Ok(())
    }

    /// The number of the directory that a name is in, which is open then.
    pub(super) fn open_parent(&mut self, name: u32) -> Result<u32, CallFailure> {
        let number = (name as usize).checked_sub(1).and_then(|at| self.trace.names().get(at));
        let parent = number.map_or(0, |name| name.parent);
        self.keep_open(parent)?;
        Ok(parent)
    }

    /// Opens a directory and its parents outside the timed calls: the recorded program had them open already.
    pub(super) fn keep_open(&mut self, folder: u32) -> Result<(), CallFailure> {
        let mut wanted = Vec::new();
        let mut at = folder;
        while at != 0 && !self.folders.contains_key(&at) {
            wanted.push(at);
            at = self.trace.names().get(at as usize - 1).map_or(0, |name| name.parent);
        }
        for number in wanted.into_iter().rev() {
            let parent = self.trace.names().get(number as usize - 1).map_or(0, |name| name.parent);
            let opened = open_directory(self.folder_descriptor(parent), self.name_text(number))
                .map_err(|errno| ("open a directory of", errno))?;
            self.folders.insert(number, opened);
        }
        if self.folders.len() > KEPT_OPEN {
            self.folders.retain(|number, _| *number == folder);
        }
        Ok(())
    }

    pub(super) fn folder_descriptor(&self, number: u32) -> BorrowedFd<'_> {
        self.folders.get(&number).map_or(self.root, |folder| folder.as_fd())
    }

    pub(super) fn name_text(&self, name: u32) -> &std::ffi::CStr {
        (name as usize).checked_sub(1).and_then(|at| self.texts.get(at)).map_or(c".", |text| text.as_c_str())
    }
}

/// The open file that a call is on.
fn file_of(work: CallWork) -> Option<u32> {
    match work {
        CallWork::Read { file, .. }
        | CallWork::Write { file, .. }
        | CallWork::Fsync { file }
        | CallWork::Fdatasync { file }
        | CallWork::Truncate { file, .. }
        | CallWork::Reserve { file, .. } => Some(file),
        _ => None,
    }
}
