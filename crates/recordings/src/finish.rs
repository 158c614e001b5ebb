//! Makes the trace of gathered calls: those that follow from each other, as many as a plan can hold, with the names that they need.

use std::collections::HashMap;

use fsverdict_calls::{
    CallTrace, CallWork, LONGEST_PAUSE_US, MOST_CALLS, NameBefore, TraceState, TracedCall, TracedName,
};
use fsverdict_text::Reason;

use super::account::{BEYOND, CallWeight};
use super::calls::{CallRecorder, CallSlot};
use super::record_line::RecordLine;
use super::{CapturedCalls, MOST_TEXT};

/// Why a call is not kept that the trace's own check refuses.
const DOES_NOT_FOLLOW: &str = "calls that do not follow from the ones before";

/// A call that is kept, and its entry in the account.
struct KeptCall {
    call: TracedCall,
    line: u64,
    counts: bool,
}

impl CallRecorder {
    /// The trace of it all, as far as there is room.
    pub(super) fn into_captured(mut self, form: &'static str) -> Result<CapturedCalls, Reason> {
        let appended = self.files.take_all_appended();
        self.shift_calls(appended);
        let names = self.names_before();
        let mut state = TraceState::initial_state(&names)
            .map_err(|what| Reason::new(what, "give a part of it, or a subfolder: --below FOLDER"))?;
        let beyond = self.account.not_kept.get(BEYOND).map_or(0, |lost| lost.count);
        let mut kept_calls: Vec<KeptCall> = Vec::with_capacity(self.slots.len());
        let mut idle_since: Option<u64> = None;
        for slot in std::mem::take(&mut self.slots) {
            let Some(work) = slot.work else { continue };
            if kept_calls.len() >= MOST_CALLS {
                self.drop_call(&slot, work, BEYOND);
                continue;
            }
            if state.apply(work).is_err() {
                self.drop_call(&slot, work, DOES_NOT_FOLLOW);
                continue;
            }
            let waited = idle_since.map_or(0, |since| slot.began_ns.saturating_sub(since));
            let pause_us =
                if waited < self.shortest_pause_ns { 0 } else { (waited / 1000).min(LONGEST_PAUSE_US) };
            idle_since = Some(idle_since.unwrap_or(0).max(slot.ended_ns));
            kept_calls.push(KeptCall {
                call: TracedCall { pause_us, work },
                line: slot.line,
                counts: slot.counts,
            });
        }
        if kept_calls.is_empty() {
            return Err(self.nothing_kept());
        }
        let total = kept_calls.len();
        let trace = self.build_fitting_trace(&names, &mut kept_calls)?;
        if beyond > 0 || trace.calls().len() < total {
            let at_least = if beyond > 0 { "more than " } else { "" };
            self.notes
                .push(format!("Shortened: its first {} calls of {at_least}{total}.", trace.calls().len()));
        }
        Ok(CapturedCalls { trace, form, notes: self.notes, account: self.account })
    }

    fn names_before(&self) -> Vec<TracedName> {
        let mut names: Vec<TracedName> = Vec::with_capacity(self.files.names.len());
        for name in &self.files.names {
            let parent = (name.parent as usize).checked_sub(1).and_then(|at| names.get(at));
            // A file that appeared unseen in a directory created during the recording cannot exist before it.
            let before = match parent {
                Some(parent) if parent.before != NameBefore::Directory => NameBefore::Nothing,
                _ => name.before,
            };
            names.push(TracedName { parent: name.parent, length: name.length.max(1), before });
        }
        names
    }

    fn drop_call(&mut self, slot: &CallSlot, work: CallWork, reason: &str) {
        let weight = weight_of(work);
        if slot.counts {
            let line = slot.line;
            self.account.drop_kept(reason, weight, || RecordLine::new(line, verb_of(work)));
        } else {
            self.account.move_weight(reason, weight);
        }
    }

    /// Explains why no call of a recording can be kept: the most frequent reason.
    fn nothing_kept(&self) -> Reason {
        let usual = "it must hold reads, writes or what is done with names, and with --below the folder where they are";
        let problem = "there is no call in it that can be kept";
        let most = self.account.not_kept.iter().max_by_key(|(_, lost)| lost.count);
        match most {
            Some((reason, lost)) => Reason::new(
                format!(
                    "{problem}: {} of {} {} are {reason}, the first in line {}: {}",
                    lost.count, self.account.seen, self.account.unit, lost.first.number, lost.first.text
                ),
                usual,
            ),
            None if self.account.seen > 0 => Reason::new(
                format!(
                    "{problem}: all {} {} concern files outside the folder",
                    self.account.seen, self.account.unit
                ),
                usual,
            ),
            None => Reason::new(problem, usual),
        }
    }

    /// As many calls as a plan can hold, and the names that they need.
    fn build_fitting_trace(
        &mut self,
        names: &[TracedName],
        kept: &mut Vec<KeptCall>,
    ) -> Result<CallTrace, Reason> {
        loop {
            let trace = compact_trace(names, kept)?;
            let text = trace.to_string().len();
            if text <= MOST_TEXT {
                return Ok(trace);
            }
            let fewer = (kept.len() as f64 * MOST_TEXT as f64 / text as f64 * 0.95) as usize;
            let fewer = fewer.max(1).min(kept.len() - 1);
            for call in kept.drain(fewer..).rev() {
                let slot =
                    CallSlot { began_ns: 0, ended_ns: 0, line: call.line, counts: call.counts, work: None };
                self.drop_call(&slot, call.call.work, BEYOND);
                if let Some(lost) = self.account.not_kept.get_mut(BEYOND)
                    && call.line < lost.first.number
                {
                    lost.first = RecordLine::new(call.line, verb_of(call.call.work));
                }
            }
            if kept.is_empty() {
                return Err(Reason::new(
                    "its names alone exceed a plan's limit",
                    "name a subfolder: --below FOLDER",
                ));
            }
        }
    }
}

/// The weight of a trace's call in the account.
fn weight_of(work: CallWork) -> CallWeight {
    match work {
        CallWork::Read { length, .. } | CallWork::Write { length, .. } | CallWork::Copy { length, .. } => {
            CallWeight::of_bytes(length)
        }
        CallWork::Fsync { .. }
        | CallWork::Fdatasync { .. }
        | CallWork::SyncDirectory { .. }
        | CallWork::SyncFilesystem => CallWeight::one_sync(),
        _ => CallWeight::NONE,
    }
}

/// The word for a call in a trace's text.
fn verb_of(work: CallWork) -> &'static str {
    match work {
        CallWork::Open { .. } => "open",
        CallWork::Close { .. } => "close",
        CallWork::Read { .. } => "read",
        CallWork::Write { .. } => "write",
        CallWork::Fsync { .. } => "fsync",
        CallWork::Fdatasync { .. } => "fdatasync",
        CallWork::Truncate { .. } => "truncate",
        CallWork::Reserve { .. } => "reserve",
        CallWork::MakeDirectory { .. } => "mkdir",
        CallWork::RemoveFile { .. } => "unlink",
        CallWork::RemoveDirectory { .. } => "rmdir",
        CallWork::Rename { .. } => "rename",
        CallWork::Link { .. } => "link",
        CallWork::Look { .. } => "stat",
        CallWork::List { .. } => "list",
        CallWork::SyncDirectory { .. } => "fsyncdir",
        CallWork::SyncFilesystem => "syncfs",
        CallWork::OpenUnnamed { .. } => "opentmp",
        CallWork::LinkOpen { .. } => "linkopen",
        CallWork::Copy { .. } => "copy",
    }
}

/// Numbers of names and of open files in the order in which calls first use them.
#[derive(Default)]
struct Renumbered<'a> {
    names: &'a [TracedName],
    kept: Vec<TracedName>,
    numbers: HashMap<u32, u32>,
    files: HashMap<u32, u32>,
    next_file: u32,
}

impl Renumbered<'_> {
    fn renumber_name(&mut self, old: u32) -> u32 {
        if let Some(number) = self.numbers.get(&old) {
            return *number;
        }
        let Some(named) = (old as usize).checked_sub(1).and_then(|at| self.names.get(at)).copied() else {
            return 0;
        };
        let parent = self.renumber_name(named.parent);
        self.kept.push(TracedName { parent, ..named });
        let number = self.kept.len() as u32;
        self.numbers.insert(old, number);
        number
    }

    fn renumber_open(&mut self, old: u32) -> u32 {
        self.next_file += 1;
        self.files.insert(old, self.next_file);
        self.next_file
    }

    fn open_number(&self, old: u32) -> u32 {
        self.files.get(&old).copied().unwrap_or(old)
    }

    fn renumber_work(&mut self, work: CallWork) -> CallWork {
        match work {
            CallWork::Open { file, name, flags } => {
                CallWork::Open { name: self.renumber_name(name), file: self.renumber_open(file), flags }
            }
            CallWork::OpenUnnamed { file, directory } => CallWork::OpenUnnamed {
                directory: self.renumber_name(directory),
                file: self.renumber_open(file),
            },
            CallWork::LinkOpen { file, name } => {
                CallWork::LinkOpen { file: self.open_number(file), name: self.renumber_name(name) }
            }
            CallWork::Close { file } => CallWork::Close { file: self.open_number(file) },
            CallWork::Read { file, offset, length } => {
                CallWork::Read { file: self.open_number(file), offset, length }
            }
            CallWork::Write { file, offset, length } => {
                CallWork::Write { file: self.open_number(file), offset, length }
            }
            CallWork::Fsync { file } => CallWork::Fsync { file: self.open_number(file) },
            CallWork::Fdatasync { file } => CallWork::Fdatasync { file: self.open_number(file) },
            CallWork::Truncate { file, size } => CallWork::Truncate { file: self.open_number(file), size },
            CallWork::Reserve { file, offset, length } => {
                CallWork::Reserve { file: self.open_number(file), offset, length }
            }
            CallWork::Copy { from, from_offset, file, offset, length, shared } => CallWork::Copy {
                from: self.open_number(from),
                from_offset,
                file: self.open_number(file),
                offset,
                length,
                shared,
            },
            CallWork::MakeDirectory { name } => CallWork::MakeDirectory { name: self.renumber_name(name) },
            CallWork::RemoveFile { name } => CallWork::RemoveFile { name: self.renumber_name(name) },
            CallWork::RemoveDirectory { name } => {
                CallWork::RemoveDirectory { name: self.renumber_name(name) }
            }
            CallWork::Rename { from, to } => {
                CallWork::Rename { from: self.renumber_name(from), to: self.renumber_name(to) }
            }
            CallWork::Link { from, to } => {
                CallWork::Link { from: self.renumber_name(from), to: self.renumber_name(to) }
            }
            CallWork::Look { name } => CallWork::Look { name: self.renumber_name(name) },
            CallWork::List { name } => CallWork::List { name: self.renumber_name(name) },
            CallWork::SyncDirectory { name } => CallWork::SyncDirectory { name: self.renumber_name(name) },
            CallWork::SyncFilesystem => CallWork::SyncFilesystem,
        }
    }
}

/// The calls with the names that they use alone.
fn compact_trace(names: &[TracedName], kept: &[KeptCall]) -> Result<CallTrace, Reason> {
    let mut renumbered = Renumbered { names, ..Renumbered::default() };
    let calls = kept
        .iter()
        .map(|one| TracedCall { work: renumbered.renumber_work(one.call.work), ..one.call })
        .collect();
    CallTrace::new(renumbered.kept, calls)
}
