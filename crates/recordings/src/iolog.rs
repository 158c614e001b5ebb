//! Reads fio's iolog (fio(1), "Trace file format"): a file's name, the action, offset and length. In version 2 a line
//! with `wait` is a pause; in version 3 each line begins with its time; both are in microseconds.

use std::path::Path;

use fsverdict_calls::{CallWork, MOST_CALLS, OpenFlags};
use fsverdict_text::Reason;

use super::CapturedCalls;
use super::account::BEYOND as NO_ROOM;
use super::account::{CallOutcome, CallWeight};
use super::calls::CallRecorder;
use super::folded::FoldedPlaces;
use super::iolog_lines::{Iolog, IologAction, IologFault, IologLine};
use super::record_line::RecordLine;
use super::requests::{KeptRequest, drop_what_has_no_room, mask_words, pieces_of};

pub(super) fn read_iolog(text: &str, version: u8, at_most: u64) -> Result<CapturedCalls, Reason> {
    let log = Iolog::parse_iolog(text, version)?;
    let (folded, bases, extent) = log.fold_offsets(at_most)?;
    let mut calls = CallRecorder::new("requests");
    calls.keep_short_pauses();
    if version < 3 {
        calls.notes.push("Not kept: how long anything took, which this form does not say.".to_owned());
    }
    if let Some(line) = log.torn {
        calls.notes.push(format!("Line {line} is the last one and torn; it is not read."));
    }
    calls.notes.extend(folded.describe_folding(extent));
    let mut reading = IologReading {
        calls,
        files: vec![(None, None); log.files.len()],
        pushed: 0,
        kept: Vec::new(),
        folded,
        bases,
    };
    let shown: Vec<&str> = text.lines().collect();
    let line_at = |number: usize| {
        let line = number.checked_sub(1).and_then(|at| shown.get(at)).copied().unwrap_or_default();
        RecordLine::new(number as u64, &mask_words(line))
    };
    for line in &log.lines {
        let settled = reading
            .replay_line(line, &log.files)
            .map_err(|fault| Reason::plain(format!("line {}: {fault}", line.number)))?;
        if let Some((outcome, weight)) = settled {
            reading.calls.account.count_seen();
            reading.calls.account.count_outcome(outcome, weight, || line_at(line.number));
        }
    }
    let mut captured = reading.calls.into_captured(match version {
        2 => "an iolog of fio's (version 2)",
        _ => "an iolog of fio's (version 3)",
    })?;
    drop_what_has_no_room(&mut captured, &reading.kept, line_at);
    Ok(captured)
}

struct IologReading {
    calls: CallRecorder,
    /// For each file: the number of its name, and the number under which it is open.
    files: Vec<(Option<u32>, Option<u32>)>,
    pushed: usize,
    kept: Vec<KeptRequest>,
    folded: FoldedPlaces,
    bases: Vec<u64>,
}

impl IologReading {
    /// Makes the calls of a line; returns the outcome of its request, if it is one.
    fn replay_line(
        &mut self,
        line: &IologLine,
        names: &[String],
    ) -> Result<Option<(CallOutcome, CallWeight)>, IologFault> {
        let times = (line.at_ns, line.at_ns);
        let weight = match line.action {
            IologAction::Open | IologAction::Close => None,
            IologAction::Read { length, .. } | IologAction::Write { length, .. } => {
                Some(CallWeight::of_bytes(length))
            }
            IologAction::Sync | IologAction::DataSync => Some(CallWeight::one_sync()),
            IologAction::Trim => return Ok(Some((not_kept("requests to discard"), CallWeight::NONE))),
        };
        let name = match self.files[line.file].0 {
            Some(name) => name,
            None => {
                // All files get names in one folder: the rest of the path must not appear in a plan.
                let flat = names[line.file].replace('/', "_");
                let flat: String = flat.chars().rev().take(60).collect();
                let name = self.calls.number_of_path(Path::new(&flat)).ok_or(IologFault::TooManyNames)?;
                self.files[line.file].0 = Some(name);
                name
            }
        };
        if self.pushed + 2 > MOST_CALLS {
            return Ok(weight.map(|weight| (not_kept(NO_ROOM), weight)));
        }
        let open = match (self.files[line.file].1, line.action) {
            (Some(_), IologAction::Open) | (None, IologAction::Close) => return Ok(None),
            (Some(open), _) => open,
            (None, _) => {
                self.calls.note_file(name);
                let flags = OpenFlags { direct: true, ..OpenFlags::default() };
                let Some(open) = self.calls.open_file(times, name, flags, false) else {
                    return Ok(
                        weight.map(|weight| (not_kept("files that were open beside 512 others"), weight))
                    );
                };
                self.pushed += 1;
                self.files[line.file].1 = Some(open);
                open
            }
        };
        let work = match line.action {
            IologAction::Open | IologAction::Trim => return Ok(None),
            IologAction::Close => {
                self.files[line.file].1 = None;
                CallWork::Close { file: open }
            }
            IologAction::Read { length: 0, .. } | IologAction::Write { length: 0, .. } => {
                return Ok(Some((not_kept("requests of no bytes"), CallWeight::NONE)));
            }
            IologAction::Read { offset, length } => {
                let offset = self.folded_offset(line.file, offset);
                CallWork::Read { file: open, offset, length }
            }
            IologAction::Write { offset, length } => {
                let offset = self.folded_offset(line.file, offset);
                // A job of fio's lays its files out before it begins.
                self.calls.note_size(name, offset.saturating_add(length));
                CallWork::Write { file: open, offset, length }
            }
            IologAction::Sync => CallWork::Fsync { file: open },
            IologAction::DataSync => CallWork::Fdatasync { file: open },
        };
        let count = pieces_of(work);
        if self.pushed + count > MOST_CALLS {
            return Ok(weight.map(|weight| (not_kept(NO_ROOM), weight)));
        }
        self.calls.add_file_call(times, work);
        self.pushed += count;
        if let Some(weight) = weight {
            self.kept.push(KeptRequest { calls_until: self.pushed, weight, line: line.number });
        }
        Ok(weight.map(|weight| (CallOutcome::Kept, weight)))
    }

    fn folded_offset(&self, file: usize, offset: u64) -> u64 {
        let base = self.bases.get(file).copied().unwrap_or(0);
        self.folded.folded_offset(base + offset) - self.folded.folded_offset(base)
    }
}

fn not_kept(reason: &str) -> CallOutcome {
    CallOutcome::NotKept(reason.to_owned())
}
