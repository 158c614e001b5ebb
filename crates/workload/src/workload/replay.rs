//! `trace.replay` and `device.replay`: the calls of a trace, made again in their order.
//!
//! Names are numbers of the trace; contents are derived from the file and the offset. Threads share calls that only
//! move bytes; calls that create, rename or remove files keep their order, in one thread.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, Content, IoFailure, Listing};
use fsverdict_calls::{CallTrace, CallWork, OpenFlags, SegmentOrigin, TracedCall, WritePeriods};
use fsverdict_judgement::journal::ProgramPromise;
use fsverdict_judgement::plan::Pace;

use super::hands::with_hands;
use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{LedgerEntry, Remains};
use super::mover::{CallFailure, Mover};
use super::pieces::content_of;
use super::replayed::body_of;
use super::save::now_ns;
use super::{OperationResult, WorkError, Workplace};

/// The alignment of direct I/O: a page, which suffices for every device here.
const PAGE: u64 = 4096;
/// So many calls that make something durable are noted at most; later ones promise nothing.
const MOST_DURABLE: usize = 50_000;

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
    // Calls that several threads share have no order, and what they write must not depend on it.
    let periods = if site.threads > 1 { WritePeriods::One } else { WritePeriods::BetweenSyncs };
    let mut durable_calls = Vec::new();
    for (at, call) in trace.calls().iter().enumerate().take(alone) {
        replayer.make_call(call).map_err(|failure| failed(at, failure))?;
        if periods == WritePeriods::One {
            continue;
        }
        replayer.writing += u32::from(call.work.is_sync());
        if durable_calls.len() < MOST_DURABLE && (call.work.is_sync() || replayer.is_synced_write(call.work))
        {
            durable_calls.push(ProgramPromise { number: at as u64 + 1, at_ns: now_ns() });
        }
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
    site.ledger.durable_calls = durable_calls;
    site.set_entry(LedgerEntry { remains: Remains::Replayed(periods), sure: true, ..known });
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
            if let Err(failure) = mover.apply_to_file(device.as_fd(), written_body(0, 1), call.work) {
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

/// Makes the calls of a trace in a folder.
pub(super) struct Replayer<'a> {
    pub(super) trace: &'a CallTrace,
    pub(super) content: &'a Content,
    pub(super) root: BorrowedFd<'a>,
    pub(super) pace: Pace,
    pub(super) direct: bool,
    /// The generation of what is written now.
    writing: u32,
    /// Open files of which each write is durable when it returns.
    synced: HashSet<u32>,
    pub(super) texts: Vec<CString>,
    /// Open files, with the number of their contents.
    pub(super) open: HashMap<u32, (OwnedFd, u32)>,
    pub(super) folders: HashMap<u32, OwnedFd>,
    /// Files without a name, where the filesystem has none and they were made with one: its directory, and the name.
    pub(super) stand_ins: HashMap<u32, (u32, CString)>,
    /// The numbers of contents of the files that are yet to be opened, in order.
    pub(super) contents: std::slice::Iter<'a, u32>,
    pub(super) listing: Listing,
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
            writing: 1,
            synced: HashSet::new(),
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
            CallWork::Open { file, name, flags } => {
                self.open_file(file, name, flags)?;
                if flags.synced {
                    self.synced.insert(file);
                } else {
                    self.synced.remove(&file);
                }
                Ok(())
            }
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
                self.mover.apply_to_file(file.as_fd(), written_body(*identity, self.writing), work)?;
                self.calls.record_since(start);
                Ok(())
            }
        }
    }

    fn is_synced_write(&self, work: CallWork) -> bool {
        matches!(work, CallWork::Write { file, .. } if self.synced.contains(&file))
    }

    /// The same for calls that only move bytes, by several threads.
    fn move_bytes(&self, mover: &mut Mover<'_>, work: CallWork) -> Result<(), CallFailure> {
        let opened = file_of(work).and_then(|file| self.open.get(&file));
        let (file, identity) = opened.ok_or(("find an open file in", Errno::BADF))?;
        mover.apply_to_file(file.as_fd(), written_body(*identity, 1), work)
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
}

/// What a write of a trace puts into a file.
fn written_body(file: u32, written: u32) -> Body {
    body_of(SegmentOrigin { file, shift: 0, written })
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
