//! Makes the trace of gathered calls: those that follow from each other, as many as a plan can hold, with the names that they need.

use std::collections::HashMap;
use std::time::Duration;

use fsverdict_calls::{
    CallNumber, CallTrace, CallWork, LONGEST_PAUSE_US, MOST_CALLS, NameBefore, TraceState, TracedCall,
    TracedName, WritePeriods,
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
        let mut state = TraceState::initial_state(&names, WritePeriods::One)
            .map_err(|what| Reason::new(what, "give a part of it, or a subfolder: --below FOLDER"))?;
        let beyond = self.account.not_kept.get(BEYOND).map_or(0, |lost| lost.count);
        let mut kept_calls: Vec<KeptCall> = Vec::with_capacity(self.slots.len());
        let mut idle_since: Option<u64> = None;
        let mut in_calls_ns: u64 = 0;
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
            let begins = idle_since.unwrap_or(0).max(slot.began_ns);
            in_calls_ns = in_calls_ns.saturating_add(slot.ended_ns.saturating_sub(begins));
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
        let in_calls = Duration::from_nanos(in_calls_ns);
        Ok(CapturedCalls { trace, in_calls, form, notes: self.notes, account: self.account })
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
            self.account.drop_kept(reason, weight, || RecordLine::new(line, work.verb()));
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
                    lost.first = RecordLine::new(call.line, call.call.work.verb());
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

    fn renumber_work(&mut self, mut work: CallWork) -> CallWork {
        for number in work.numbers_mut() {
            match number {
                CallNumber::Opened(file) => *file = self.renumber_open(*file),
                CallNumber::File(file) => *file = self.files.get(file).copied().unwrap_or(*file),
                CallNumber::Name(name) => *name = self.renumber_name(*name),
                CallNumber::Bytes(_) => {}
            }
        }
        work
    }
}

/// The calls with the names that they use alone.
fn compact_trace(names: &[TracedName], kept: &[KeptCall]) -> Result<CallTrace, Reason> {
    let mut renumbered = Renumbered { names, ..Renumbered::default() };
    let calls = kept
        .iter()
        .map(|kept| TracedCall { work: renumbered.renumber_work(kept.call.work), ..kept.call })
        .collect();
    CallTrace::new(renumbered.kept, calls)
}
