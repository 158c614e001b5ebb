//! Reads fio's iolog (fio(1), "Trace file format"): a file's name, the action, offset and length. In version 2 a line
//! with `wait` is a pause; in version 3 each line begins with its time; both are in microseconds. Version 1 has three
//! numbers and no name.

use std::collections::HashMap;
use std::path::Path;

use fsverdict_judgement::plan::{CallWork, MOST_CALLS, OpenFlags};
use fsverdict_text::Reason;

use super::CapturedCalls;
use super::account::BEYOND as NO_ROOM;
use super::account::{CallOutcome, CallWeight, RecordLine};
use super::calls::CallRecorder;
use super::folded::FoldedPlaces;
use super::requests::{KeptRequest, drop_what_has_no_room, mask_words, pieces_of, too_wide};

/// fio itself skips a pause that is shorter than this, in microseconds.
const SHORTEST_WAIT_US: u64 = 100;
/// Bytes of one request.
const LARGEST_REQUEST: u64 = 1 << 30;
/// The last byte of a file.
const LAST_BYTE: u64 = 1 << 60;
/// Files begin at whole pieces of the largest size where they are folded.
const FILE_ALIGNMENT: u64 = 16 << 20;
/// How the only file of a log of version 1 is called.
const ONLY_FILE: &str = "1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IologAction {
    Open,
    Close,
    Read { offset: u64, length: u64 },
    Write { offset: u64, length: u64 },
    Sync,
    DataSync,
    Trim,
}

/// A line that does something to a file.
#[derive(Debug, Clone, Copy)]
struct IologLine {
    number: usize,
    at_ns: u64,
    file: usize,
    action: IologAction,
}

/// All lines of a log, and the names of its files in the order in which they come.
#[derive(Debug, Default)]
struct Iolog {
    lines: Vec<IologLine>,
    files: Vec<String>,
    numbers: HashMap<String, usize>,
    torn: Option<usize>,
}

/// Whether a line is of version 1: `rw, offset, length`, with 0 for a read and 1 for a write.
fn is_version_1(line: &str) -> bool {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    columns.len() == 3
        && matches!(columns[0], "0" | "1" | "2")
        && columns.iter().all(|column| column.parse::<u64>().is_ok())
}

/// The version that the first filled line of a text shows, where it is of an iolog.
pub(super) fn version_of(text: &str) -> Option<Result<u8, Reason>> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match first {
        "fio version 2 iolog" => Some(Ok(2)),
        "fio version 3 iolog" => Some(Ok(3)),
        other if other.starts_with("fio version") && other.ends_with("iolog") => Some(Err(Reason::new(
            "this version of fio's iolog is not supported",
            "versions 1, 2 and 3 are supported",
        ))),
        line if is_version_1(line) => Some(Ok(1)),
        _ => None,
    }
}

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
            .map_err(|what| Reason::plain(format!("line {}: {what}", line.number)))?;
        if let Some((outcome, weight)) = settled {
            reading.calls.account.count_seen();
            reading.calls.account.count_outcome(outcome, weight, || line_at(line.number));
        }
    }
    let mut captured = reading.calls.into_captured(match version {
        1 => "an iolog of fio's (version 1)",
        2 => "an iolog of fio's (version 2)",
        _ => "an iolog of fio's (version 3)",
    })?;
    drop_what_has_no_room(&mut captured, &reading.kept, line_at);
    Ok(captured)
}

impl Iolog {
    fn parse_iolog(text: &str, version: u8) -> Result<Self, Reason> {
        let mut log = Self::default();
        let mut now_ns = 0;
        let count = text.lines().count();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with("fio version") {
                continue;
            }
            let number = at + 1;
            match log.parse_line(number, line, version, &mut now_ns) {
                Ok(()) => {}
                // A log that is cut off ends within a line.
                Err(_) if number == count && !text.ends_with('\n') => log.torn = Some(number),
                Err(what) => return Err(Reason::plain(format!("line {number}: {what}"))),
            }
        }
        Ok(log)
    }

    fn parse_line(&mut self, at: usize, line: &str, version: u8, now_ns: &mut u64) -> Result<(), String> {
        if version == 1 {
            let columns: Vec<&str> = line.split(',').map(str::trim).collect();
            let [action, offset, length] = columns[..] else {
                return Err("three numbers are wanted: 0 or 1, offset, length".to_owned());
            };
            let file = self.file_number(ONLY_FILE);
            let (offset, length) = parse_span(Some(offset), Some(length))?;
            let action = match action {
                "0" => IologAction::Read { offset, length },
                "1" => IologAction::Write { offset, length },
                "2" => IologAction::Trim,
                other => return Err(format!("{:?} is neither a read (0) nor a write (1)", shorten(other))),
            };
            self.lines.push(IologLine { number: at, at_ns: 0, file, action });
            return Ok(());
        }
        let mut words = line.split_ascii_whitespace();
        if version == 3 {
            *now_ns = parse_number(words.next())?.saturating_mul(1000).max(*now_ns);
        }
        let name = words.next().ok_or("a file's name is missing")?;
        let action = words.next().ok_or("what is done is missing")?;
        let action = match action {
            "wait" => {
                let us = parse_number(words.next())?;
                if us >= SHORTEST_WAIT_US {
                    *now_ns = now_ns.saturating_add(us.saturating_mul(1000));
                }
                return Ok(());
            }
            "add" => return Ok(()),
            "open" => IologAction::Open,
            "close" => IologAction::Close,
            "read" | "write" | "trim" => {
                let (offset, length) = parse_span(words.next(), words.next())?;
                match action {
                    "read" => IologAction::Read { offset, length },
                    "write" => IologAction::Write { offset, length },
                    _ => IologAction::Trim,
                }
            }
            "sync" => IologAction::Sync,
            "datasync" => IologAction::DataSync,
            other => return Err(format!("{:?} is nothing that is done to a file", shorten(other))),
        };
        let file = self.file_number(name);
        self.lines.push(IologLine { number: at, at_ns: *now_ns, file, action });
        Ok(())
    }

    fn file_number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.files.len();
        self.files.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Lays the requested ranges of the files side by side if they reach further than `at_most`; returns the folding,
    /// where each file begins in it, and the total extent.
    fn fold_offsets(&self, at_most: u64) -> Result<(FoldedPlaces, Vec<u64>, u64), Reason> {
        let spans = || {
            self.lines.iter().filter_map(|line| match line.action {
                IologAction::Read { offset, length } | IologAction::Write { offset, length } => {
                    Some((line.file, offset, offset + length))
                }
                _ => None,
            })
        };
        let mut ends = vec![0_u64; self.files.len()];
        for (file, _, end) in spans() {
            ends[file] = ends[file].max(end);
        }
        let extent = ends.iter().fold(0_u64, |sum, end| sum.saturating_add(*end));
        if extent <= at_most {
            // Every file keeps its own places.
            let whole = FoldedPlaces::from_requests(&[], at_most).ok_or_else(|| too_wide(at_most))?;
            return Ok((whole, vec![0; self.files.len()], extent));
        }
        let (mut bases, mut base) = (Vec::with_capacity(ends.len()), 0_u64);
        for end in &ends {
            bases.push(base);
            base = base
                .checked_add(*end)
                .and_then(|end| end.checked_next_multiple_of(FILE_ALIGNMENT))
                .ok_or_else(|| too_wide(at_most))?;
        }
        let requests: Vec<(u64, u64)> =
            spans().map(|(file, start, end)| (bases[file] + start, bases[file] + end)).collect();
        let folded = FoldedPlaces::from_requests(&requests, at_most).ok_or_else(|| too_wide(at_most))?;
        Ok((folded, bases, extent))
    }
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
    ) -> Result<Option<(CallOutcome, CallWeight)>, String> {
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
                let name = self.calls.number_of_path(Path::new(&flat)).ok_or("there are too many names")?;
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

/// Offset and length, within the limits of a file.
fn parse_span(offset: Option<&str>, length: Option<&str>) -> Result<(u64, u64), String> {
    let (offset, length) = (parse_number(offset)?, parse_number(length)?);
    if length > LARGEST_REQUEST || offset > LAST_BYTE {
        return Err(format!("no request is of {length} bytes from {offset} on"));
    }
    Ok((offset, length))
}

fn parse_number(word: Option<&str>) -> Result<u64, String> {
    let word = word.ok_or("a number is missing")?;
    word.parse().map_err(|_| format!("{:?} is no whole number", shorten(word)))
}

fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}
