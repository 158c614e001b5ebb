//! Reads strace's lines one after the other, and keeps the state that they show: processes, descriptors, and calls under way.

use std::collections::HashMap;
use std::path::Path;

use fsverdict_disk::calibrate::{BLANK_LINES, LineOutcome};

use super::call::{Returned, SystemCall, call_name, parse_call};
use super::descriptors::{DescriptionId, Descriptions};
use super::form::{StraceOption, option_in_call};
use super::line::{LineKind, line_kind, noise_rule};
use super::paths::FolderPaths;
use super::processes::Processes;
use super::references::{Reference, references_of};
use super::source::SourceLine;
use super::value::{self, is_unreadable_descriptor};
use super::work_limit::{HeldCopies, WorkLimit};
use crate::account::{CallOutcome, CallWeight};
use crate::calls::CallRecorder;
use crate::record_line::{RecordLine, mask_names};

/// Why a line is not read that is cut, or that several lines share.
const CUT_LINE: &str = "its call is cut short, or goes on with another line";
const TORN: &str = "it is the last one and torn: the recording ends without a line end";
/// Openings of numbers that were open, from which it is told that closes were not recorded.
const LEAST_OPENED_OVER: u64 = 3;
/// Calls that may be under way at once.
const MOST_UNDERWAY: usize = 50_000;

/// The outcome of a call, and its weight.
pub(super) type SettledCall = (CallOutcome, CallWeight);

/// A call that is being settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallContext {
    pub(super) process: u32,
    pub(super) times: (u64, u64),
    /// The description of its first argument when it began: another thread may have closed it since.
    pub(super) pinned: Option<(i32, DescriptionId)>,
    /// Whether the process that it makes was met while it was under way, and may be gone again.
    pub(super) child_seen: bool,
}

/// A call that was begun and has not ended yet.
#[derive(Debug)]
pub(super) struct CallUnderway {
    pub(super) text: Vec<u8>,
    pub(super) began_ns: u64,
    pub(super) line: u64,
    pub(super) pinned: Option<(i32, DescriptionId)>,
    /// Whether the process that it makes has been met already.
    pub(super) child_seen: bool,
}

#[derive(Debug)]
pub(super) struct StraceReader {
    pub(super) calls: CallRecorder,
    pub(super) paths: FolderPaths,
    pub(super) processes: Processes,
    pub(super) descriptions: Descriptions,
    pub(super) underway: HashMap<u32, CallUnderway>,
    /// Whether the recording shows how long calls took (-T).
    has_durations: bool,
    /// An option that a call shows, and that loses the meaning of others.
    pub(super) wrong_option: Option<StraceOption>,
    /// Files that were open before the recording began.
    pub(super) open_before: u64,
    /// Whether a process that was taken for a thread proved to be another process.
    pub(super) lacks_processes: bool,
    /// How many calls closed a descriptor, and how many opened one under a number that was open already.
    pub(super) closes: u64,
    pub(super) opened_over: u64,
    pub(super) work: WorkLimit,
    pub(super) copies: HeldCopies,
}

impl StraceReader {
    pub(super) fn new(folder: &Path, has_durations: bool) -> Self {
        StraceReader {
            calls: CallRecorder::new("calls"),
            paths: FolderPaths::new(folder),
            processes: Processes::default(),
            descriptions: Descriptions::default(),
            underway: HashMap::new(),
            has_durations,
            wrong_option: None,
            open_before: 0,
            lacks_processes: false,
            closes: 0,
            opened_over: 0,
            work: WorkLimit::default(),
            copies: HeldCopies::default(),
        }
    }

    /// Whether the closes were not recorded: numbers are opened again, and none was closed.
    pub(super) fn lacks_closes(&self) -> bool {
        self.closes == 0 && self.opened_over >= LEAST_OPENED_OVER
    }

    /// Whether the process of a line was met before, or is the first.
    pub(super) fn knows_process(&self, process: u32) -> bool {
        self.processes.contains(process) || self.processes.is_empty()
    }

    /// Takes a line, and returns its outcome.
    pub(super) fn take_line(&mut self, line: &SourceLine) -> LineOutcome {
        let (rest, number, now_ns) = (line.rest(), line.number, line.now_ns);
        if rest.trim_ascii().is_empty() && line.process.is_none() {
            return LineOutcome::Noise(BLANK_LINES);
        }
        let Some(process) = line.process else {
            let shown = String::from_utf8_lossy(rest);
            let strange = || LineOutcome::of_strange_line(&shown, "it has no process and time".to_owned());
            return noise_rule(rest.trim_ascii()).map_or_else(strange, LineOutcome::Noise);
        };
        let kind = line_kind(rest);
        if let LineKind::Whole(text) = kind
            && !parse_call(text).is_some_and(|call| self.is_complete(&call))
        {
            return LineOutcome::Unread(CUT_LINE.to_owned());
        }
        // A result that ends a line may be cut where the line is; the duration behind it ends with a bracket.
        if line.is_torn && !self.has_durations && matches!(kind, LineKind::Whole(_) | LineKind::Resumed(..)) {
            return LineOutcome::Unread(TORN.to_owned());
        }
        match kind {
            LineKind::Noise(rule) => return LineOutcome::Noise(rule),
            LineKind::Unknown => {
                return LineOutcome::Unread("it holds no call and no message of strace".to_owned());
            }
            _ => self.meet_process(process),
        }
        match kind {
            LineKind::Whole(text) => {
                self.calls.account.count_seen();
                let context =
                    CallContext { process, times: (now_ns, now_ns), pinned: None, child_seen: false };
                self.take_call(context, number, text);
            }
            LineKind::Unfinished(text) => self.begin_call(process, now_ns, number, text),
            LineKind::Resumed(name, rest) => self.end_call(process, now_ns, number, name, rest),
            LineKind::Ended => self.end_process(process, now_ns),
            LineKind::Superseded(by) => {
                self.end_process(process, now_ns);
                if let Some(call) = self.underway.remove(&by) {
                    self.underway.insert(process, call);
                }
                self.processes.renumber_process(by, process);
            }
            LineKind::Noise(_) | LineKind::Unknown => {}
        }
        LineOutcome::Read
    }

    /// Whether a line has all that such a line has: one that lacks the duration which others have is cut, and its number
    /// may be, too. One that moved more than was asked for has a number that is cut.
    fn is_complete(&self, call: &SystemCall<'_>) -> bool {
        let has_end = !self.has_durations || call.took_ns.is_some() || call.returned == Returned::Unknown;
        has_end && !call.moved_more_than_asked()
    }

    /// Follows a process from its first line on.
    fn meet_process(&mut self, process: u32) {
        if !self.processes.contains(process) {
            self.meet_unknown(process);
        }
        self.processes.note_active(process);
    }

    fn begin_call(&mut self, process: u32, now_ns: u64, line: u64, text: &[u8]) {
        self.calls.account.count_seen();
        if let Some(former) = self.underway.remove(&process) {
            self.give_up(&former);
        }
        if self.underway.len() >= MOST_UNDERWAY {
            let reason = "calls that began beside 50,000 others";
            return self.record_outcome(
                line,
                text,
                (CallOutcome::NotKept(reason.to_owned()), CallWeight::NONE),
            );
        }
        let pinned = self.pin_description(process, text);
        let begun = CallUnderway { text: text.to_vec(), began_ns: now_ns, line, pinned, child_seen: false };
        self.underway.insert(process, begun);
    }

    fn end_call(&mut self, process: u32, now_ns: u64, line: u64, name: &[u8], rest: &[u8]) {
        let fits = |call: &CallUnderway| call_name(&call.text).as_bytes() == name;
        let mut begun = match self.underway.remove(&process) {
            Some(begun) if fits(&begun) => begun,
            other => {
                if let Some(former) = other {
                    self.give_up(&former);
                }
                self.calls.account.count_seen();
                let reason = "calls that began before the recording";
                let settled = (CallOutcome::NotKept(reason.to_owned()), CallWeight::NONE);
                return self.record_outcome(line, rest, settled);
            }
        };
        begun.text.extend_from_slice(rest);
        let times = (begun.began_ns, now_ns);
        let context = CallContext { process, times, pinned: begun.pinned, child_seen: begun.child_seen };
        self.take_call(context, begun.line, &begun.text);
        if let Some((_, description)) = begun.pinned {
            self.calls.stop_counting();
            self.release_description(description, times);
        }
    }

    /// A call that was begun and does not end.
    pub(super) fn give_up(&mut self, call: &CallUnderway) {
        if let Some((_, description)) = call.pinned {
            self.calls.stop_counting();
            self.release_description(description, (call.began_ns, call.began_ns));
        }
        let outcome = match call_name(&call.text) {
            "exit" | "exit_group" | "execve" | "execveat" => CallOutcome::Outside,
            _ => match parse_call(&[&call.text[..], b") = ?"].concat()) {
                Some(parsed) if self.concerns_folder(call.pinned, &parsed) => {
                    CallOutcome::NotKept("calls that do not end in the recording".to_owned())
                }
                _ => CallOutcome::Outside,
            },
        };
        self.record_outcome(call.line, &call.text, (outcome, CallWeight::NONE));
    }

    fn take_call(&mut self, context: CallContext, line: u64, text: &[u8]) {
        let Some(call) = parse_call(text).filter(|call| self.is_complete(call)) else {
            let reason = "calls whose line is cut short";
            return self.record_outcome(
                line,
                text,
                (CallOutcome::NotKept(reason.to_owned()), CallWeight::NONE),
            );
        };
        self.wrong_option = self.wrong_option.or_else(|| option_in_call(&call));
        let (began, ended) = context.times;
        let times = (began, call.took_ns.map_or(ended, |took| began.saturating_add(took)));
        self.closes += u64::from(call.name == "close" || call.name == "close_range");
        self.calls.begin_recorded_call(line);
        let settled = self.settle_call(&CallContext { times, ..context }, &call);
        self.record_outcome(line, text, settled);
    }

    fn record_outcome(&mut self, line: u64, text: &[u8], settled: SettledCall) {
        let (outcome, weight) = settled;
        self.calls.account.count_outcome(outcome, weight, || {
            RecordLine::new(line, &mask_names(&String::from_utf8_lossy(text)))
        });
    }

    /// Holds a reference to the description of the first argument of an unfinished call. A close takes effect when it
    /// begins.
    fn pin_description(&mut self, process: u32, text: &[u8]) -> Option<(i32, DescriptionId)> {
        let name = call_name(text);
        if !matches!(references_of(name), [Reference::Descriptor(0) | Reference::At(0, _), ..]) {
            return None;
        }
        let argument = text.get(name.len() + 1..)?.split(|byte| *byte == b',').next()?;
        let number = value::parse_descriptor(argument)?.number?;
        let table = self.processes.table_of(process)?;
        let descriptor = table.borrow().descriptors.get(&number).copied()?;
        if name == "close" {
            table.borrow_mut().descriptors.remove(&number);
        } else {
            self.descriptions.add_reference(descriptor.description);
        }
        Some((number, descriptor.description))
    }

    /// Ends unfinished calls at the end of the recording.
    pub(super) fn end_recording(&mut self) {
        let mut unfinished: Vec<CallUnderway> = std::mem::take(&mut self.underway).into_values().collect();
        unfinished.sort_by_key(|call| call.line);
        for call in &unfinished {
            self.give_up(call);
        }
    }

    /// Whether a call that cannot be settled concerns a file of the folder.
    fn concerns_folder(&self, pinned: Option<(i32, DescriptionId)>, call: &SystemCall<'_>) -> bool {
        use super::descriptors::Opened;
        let leads_inside = |id: DescriptionId| {
            self.descriptions.get(id).is_some_and(|description| description.opened != Opened::Elsewhere)
        };
        let is_unreadable = |reference: &Reference| match reference {
            Reference::Descriptor(at) => call.argument(*at).is_some_and(is_unreadable_descriptor),
            _ => false,
        };
        pinned.is_some_and(|(_, id)| leads_inside(id))
            || self.shows_folder(call)
            || (pinned.is_none() && references_of(call.name).iter().any(is_unreadable))
    }
}
