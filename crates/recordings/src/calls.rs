//! Assembles calls into a trace: numbers the names, and infers from the calls which files must have existed before.

use std::collections::BTreeMap;

use fsverdict_calls::{CallWork, MOST_CALLS};

use super::account::{Account, BEYOND, CallOutcome};
use super::known_files::{NameKind, RecordedFiles};

/// A pause shorter than this is the program's own call after call, in nanoseconds.
const SHORTEST_PAUSE_NS: u64 = 10_000;

/// A call of the trace, and the line of the recording that it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSlot {
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) line: u64,
    /// Whether it is the first of the calls that stand for one of the recording.
    pub(super) counts: bool,
    /// None where it turned out later that there is no such call.
    pub(super) work: Option<CallWork>,
}

/// Gathers calls.
#[derive(Debug)]
pub(super) struct CallRecorder {
    pub(super) files: RecordedFiles,
    pub(super) slots: Vec<CallSlot>,
    /// Open files by the trace's number of them.
    pub(super) open: BTreeMap<u32, usize>,
    pub(super) next_open: u32,
    pub(super) line: u64,
    /// A pause that is shorter is not kept, in nanoseconds.
    pub(super) shortest_pause_ns: u64,
    /// Whether the next call is the first that stands for one of the recording.
    pub(super) counting: bool,
    pub(super) notes: Vec<String>,
    /// Its reader counts every call or request here.
    pub(super) account: Account,
}

impl CallRecorder {
    /// `unit` is the unit of the recording: "calls" or "requests".
    pub(super) fn new(unit: &'static str) -> Self {
        CallRecorder {
            files: RecordedFiles::default(),
            slots: Vec::new(),
            open: BTreeMap::new(),
            next_open: 0,
            line: 0,
            counting: false,
            shortest_pause_ns: SHORTEST_PAUSE_NS,
            notes: Vec::new(),
            account: Account::new(unit),
        }
    }

    /// Keeps pauses of any length: the recording says when each call is to begin.
    pub(super) fn keep_short_pauses(&mut self) {
        self.shortest_pause_ns = 0;
    }

    /// Starts a recorded call: the trace calls added until the next one represent it.
    pub(super) fn begin_recorded_call(&mut self, line: u64) {
        (self.line, self.counting) = (line, true);
    }

    /// The calls added until the next recorded call represent no recorded one: an exit closes files.
    pub(super) fn stop_counting(&mut self) {
        self.counting = false;
    }

    /// Adds calls that stand for none of the recording, in the middle of one that does.
    pub(super) fn without_counting<T>(&mut self, add: impl FnOnce(&mut Self) -> T) -> T {
        let counting = std::mem::take(&mut self.counting);
        let added = add(self);
        self.counting = counting;
        added
    }

    /// Whether it takes no more.
    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= MOST_CALLS || self.files.is_full()
    }

    /// It has this size now: before everything, if nothing was written to it.
    pub(super) fn note_size(&mut self, number: u32, size: u64) {
        if let Some(file) = self.files.file_named(number) {
            self.file_has_size(file, size);
        }
    }

    /// An open file has this size now.
    pub(super) fn note_size_of_open(&mut self, open: u32, size: u64) {
        if let Some(file) = self.open.get(&open).copied() {
            self.file_has_size(file, size);
        }
    }

    fn file_has_size(&mut self, file: usize, size: u64) {
        self.files.learn_size(file, size);
        self.shift_appended(file);
    }

    /// Bytes appended to a file of unknown size come after its earlier content.
    fn shift_appended(&mut self, file: usize) {
        let appended = self.files.take_appended(file);
        self.shift_calls(appended);
    }

    /// Puts each call so much further on.
    pub(super) fn shift_calls(&mut self, calls: Vec<(usize, u64)>) {
        for (slot, shift) in calls {
            if let Some(CallWork::Write { offset, .. }) =
                self.slots.get_mut(slot).and_then(|slot| slot.work.as_mut())
            {
                *offset = offset.saturating_add(shift);
            }
        }
    }

    /// Where an open file ends.
    pub(super) fn end_of(&self, open: u32) -> u64 {
        self.open.get(&open).map_or(0, |file| self.files.size_of(*file))
    }

    /// Adds a call that began and ended at these times, in nanoseconds; gives its place.
    pub(super) fn push(&mut self, times: (u64, u64), work: CallWork) -> usize {
        let counts = std::mem::take(&mut self.counting);
        self.slots.push(CallSlot {
            began_ns: times.0,
            ended_ns: times.1.max(times.0),
            line: self.line,
            counts,
            work: Some(work),
        });
        self.slots.len() - 1
    }

    /// Takes a call out again; gives whether it was the one that stood for a call of the recording.
    pub(super) fn retract_call(&mut self, slot: usize) -> bool {
        match self.slots.get_mut(slot) {
            Some(slot) => slot.work.take().is_some() && slot.counts,
            None => false,
        }
    }

    /// The place of the last call.
    pub(super) fn last_slot(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// A call on an open file.
    pub(super) fn add_file_call(&mut self, times: (u64, u64), work: CallWork) -> CallOutcome {
        let lost = |why: &str| CallOutcome::NotKept(why.to_owned());
        let (CallWork::Read { file, .. }
        | CallWork::Write { file, .. }
        | CallWork::Fsync { file }
        | CallWork::Fdatasync { file }
        | CallWork::Truncate { file, .. }
        | CallWork::Reserve { file, .. }
        | CallWork::Copy { file, .. }
        | CallWork::Close { file }) = work
        else {
            return lost("calls that are not on an open file");
        };
        if self.is_full() {
            return lost(BEYOND);
        }
        let Some(place) = self.open.get(&file).copied() else {
            return lost("calls on a file that is not open");
        };
        match work {
            CallWork::Read { offset, length, .. } => {
                let end = offset.saturating_add(length);
                match self.files.note_read(place, end) {
                    Some(_) if length > 0 => self.shift_appended(place),
                    _ => {
                        let why =
                            "reads of what came into a file unseen (mmap, other programs), or of nothing";
                        return lost(why);
                    }
                }
                return self.push_in_pieces(times, work);
            }
            CallWork::Write { offset, length, .. } => {
                if length == 0 || offset.checked_add(length).is_none() {
                    return lost("writes of nothing");
                }
                self.files.note_overwrite(place, offset + length);
                self.files.grow_to(place, offset + length);
                return self.push_in_pieces(times, work);
            }
            CallWork::Copy { from, from_offset, offset, length, .. } => {
                let source = self.open.get(&from).copied();
                let end = from_offset.saturating_add(length);
                if source.and_then(|source| self.files.note_read(source, end)).is_none() {
                    return lost("copies of what came into a file unseen (mmap, other programs)");
                }
                if let Some(source) = source {
                    self.shift_appended(source);
                }
                self.files.grow_to(place, offset.saturating_add(length));
            }
            CallWork::Truncate { size, .. } => self.files.truncate_to(place, size),
            CallWork::Reserve { offset, length, .. } => {
                self.files.grow_to(place, offset.saturating_add(length));
            }
            CallWork::Close { file } => {
                self.close_file(times, file);
                return CallOutcome::Kept;
            }
            _ => {}
        }
        self.push(times, work);
        CallOutcome::Kept
    }

    /// A call on names, or on all of the filesystem, that succeeded.
    pub(super) fn add_name_call(&mut self, times: (u64, u64), work: CallWork) -> CallOutcome {
        let lost = |why: &str| CallOutcome::NotKept(why.to_owned());
        if self.is_full() {
            return lost(BEYOND);
        }
        match work {
            CallWork::MakeDirectory { name } => self.files.make_directory(name),
            CallWork::RemoveFile { name } => self.files.remove_file(name),
            CallWork::RemoveDirectory { name } => self.files.remove_directory(name),
            CallWork::Rename { from, to } => {
                if self.files.kind_of(from) == NameKind::Directory {
                    return lost("renames of directories");
                }
                self.files.rename_file(from, to);
            }
            CallWork::Link { from, to } => self.files.link_names(from, to),
            CallWork::LinkOpen { file, name } => {
                let Some(file) = self.file_of(file) else {
                    return lost("links of files that are not open");
                };
                self.files.link_file(file, name);
            }
            CallWork::List { name } | CallWork::SyncDirectory { name } => {
                self.files.note_directory(name);
            }
            _ => {}
        }
        self.push(times, work);
        CallOutcome::Kept
    }
}
