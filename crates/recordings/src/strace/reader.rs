//! Reads strace's lines one after the other, and keeps the state that they show: processes, descriptors, and calls under way.

use std::collections::HashMap;
use std::path::Path;

use super::call::{SystemCall, call_name, parse_call};
use super::descriptors::{DescriptionId, Descriptions};
use super::line::{LineKind, line_kind};
use super::paths::FolderPaths;
use super::processes::Processes;
use super::references::{Reference, references_of};
use super::value;
use super::work_limit::{HeldCopies, WorkLimit};
use crate::account::{CallOutcome, CallWeight};
use crate::calls::CallRecorder;
use crate::record_line::{RecordLine, mask_names};

/// Calls that may be under way at once.
const MOST_UNDERWAY: usize = 50_000;
/// The process of a line that names none: there is only one then.
const ONLY_PROCESS: u32 = 0;

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

/// A line of the recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputLine<'a> {
    pub(super) number: u64,
    /// The text after process and time.
    pub(super) rest: &'a [u8],
    /// Its process, where it or its file says so.
    pub(super) process: Option<u32>,
}

#[derive(Debug)]
pub(super) struct StraceReader {
    pub(super) calls: CallRecorder,
    pub(super) paths: FolderPaths,
    pub(super) processes: Processes,
    pub(super) descriptions: Descriptions,
    pub(super) underway: HashMap<u32, CallUnderway>,
    /// The process that this line is the first of, if it was unknown.
    pub(super) first_call_of: Option<u32>,
    /// Whether a line named its process.
    names_processes: bool,
    /// Lines that hold no call, and are none of strace's own.
    pub(super) strange_lines: u64,
    /// Files that were open before the recording began.
    pub(super) open_before: u64,
    /// Closes that may be those of another process's descriptors.
    pub(super) doubtful_closes: usize,
    pub(super) work: WorkLimit,
    pub(super) copies: HeldCopies,
}

impl StraceReader {
    pub(super) fn new(folder: &Path) -> Self {
        StraceReader {
            calls: CallRecorder::new("calls"),
            paths: FolderPaths::new(folder),
            processes: Processes::default(),
            descriptions: Descriptions::default(),
            underway: HashMap::new(),
            first_call_of: None,
            names_processes: false,
            strange_lines: 0,
            open_before: 0,
            doubtful_closes: 0,
            work: WorkLimit::default(),
            copies: HeldCopies::default(),
        }
    }

    /// The process of a line.
    pub(super) fn process_of(&mut self, line: &InputLine<'_>) -> u32 {
        match line.process {
            Some(process) => {
                if !self.names_processes {
                    // strace without -o names processes only once there are several: the first of them is the one before.
                    self.names_processes = true;
                    if !self.processes.contains(process) {
                        self.processes.renumber_process(ONLY_PROCESS, process);
                        if let Some(call) = self.underway.remove(&ONLY_PROCESS) {
                            self.underway.insert(process, call);
                        }
                    }
                }
                process
            }
            None if self.names_processes => self.processes.only_process().unwrap_or(ONLY_PROCESS),
            None => ONLY_PROCESS,
        }
    }

    /// Whether the process of a line was met before, or is the first.
    pub(super) fn knows_process(&self, process: u32) -> bool {
        self.processes.contains(process) || self.processes.is_empty()
    }

    /// Takes one line.
    pub(super) fn take_line(&mut self, line: &InputLine<'_>, process: u32, now_ns: u64) {
        let rest = line.rest;
        let kind = line_kind(rest);
        if !matches!(kind, LineKind::Nothing) {
            self.meet_process(process);
        }
        match kind {
            LineKind::Whole(text) => {
                self.calls.account.count_seen();
                let context =
                    CallContext { process, times: (now_ns, now_ns), pinned: None, child_seen: false };
                self.take_call(context, line.number, text);
            }
            LineKind::Unfinished(text) => self.begin_call(process, now_ns, line.number, text),
            LineKind::Resumed(name, rest) => self.end_call(process, now_ns, line.number, name, rest),
            LineKind::Ended => self.end_process(process, now_ns),
            LineKind::Superseded(by) => {
                self.end_process(process, now_ns);
                if let Some(call) = self.underway.remove(&by) {
                    self.underway.insert(process, call);
                }
                self.processes.renumber_process(by, process);
            }
            LineKind::Nothing => {
                let strace_messages = [&b"---"[..], b"+++", b"strace:", b">", b"<...", b"???"];
                if !rest.is_empty() && !strace_messages.iter().any(|begin| rest.starts_with(begin)) {
                    self.strange_lines += 1;
                }
            }
        }
    }

    /// Follows a process from its first line on.
    fn meet_process(&mut self, process: u32) {
        if !self.processes.contains(process) {
            self.meet_unknown(process);
            self.first_call_of = Some(process);
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
            self.release_description(description, times, None);
        }
    }

    /// A call that was begun and does not end.
    pub(super) fn give_up(&mut self, call: &CallUnderway) {
        if let Some((_, description)) = call.pinned {
            self.calls.stop_counting();
            self.release_description(description, (call.began_ns, call.began_ns), None);
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
        let Some(call) = parse_call(text) else {
            let reason = "calls whose line is cut short";
            return self.record_outcome(
                line,
                text,
                (CallOutcome::NotKept(reason.to_owned()), CallWeight::NONE),
            );
        };
        let (began, ended) = context.times;
        let times = (began, call.took_ns.map_or(ended, |took| began.saturating_add(took)));
        self.calls.begin_recorded_call(line);
        let settled = self.settle_call(&CallContext { times, ..context }, &call);
        self.first_call_of = None;
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
        let descriptor = table.borrow().descriptors.get(&number).copied().filter(|one| !one.doubtful)?;
        if name == "close" {
            let mut table = table.borrow_mut();
            table.descriptors.remove(&number);
            table.closed.insert(number);
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
        let leads_inside =
            |id: DescriptionId| self.descriptions.get(id).is_some_and(|one| one.opened != Opened::Elsewhere);
        pinned.is_some_and(|(_, id)| leads_inside(id)) || self.shows_folder(call)
    }
}
