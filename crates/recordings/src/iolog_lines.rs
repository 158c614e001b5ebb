//! Parses the lines of fio's iolog (fio(1), "Trace file format"), and places its files one after the other.

use std::collections::HashMap;

use fsverdict_text::Reason;

use super::folded::FoldedPlaces;
use super::request_recorder::too_wide;

/// fio itself skips a pause that is shorter than this, in microseconds.
const SHORTEST_WAIT_US: u64 = 100;

/// The maximum size of a request in bytes.
const LARGEST_REQUEST: u64 = 1 << 30;
/// The largest offset of a byte in a file.
pub(super) const LAST_BYTE: u64 = 1 << 60;
/// The alignment of files in bytes when they are placed one after the other.
const FILE_ALIGNMENT: u64 = 16 << 20;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IologAction {
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
pub(super) struct IologLine {
    pub(super) number: usize,
    pub(super) at_ns: u64,
    pub(super) file: usize,
    pub(super) action: IologAction,
}

/// A line that is none of an iolog, or asks for too much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum IologFault {
    #[error("a file's name is missing")]
    NameMissing,
    #[error("what is done is missing")]
    ActionMissing,
    #[error("{0:?} is nothing that is done to a file")]
    UnknownAction(String),
    #[error("a number is missing")]
    NumberMissing,
    #[error("{0:?} is no whole number")]
    NoWholeNumber(String),
    #[error("no request is of {length} bytes from {offset} on")]
    Range { offset: u64, length: u64 },
    #[error("there are too many names")]
    TooManyNames,
}

/// All lines of a log, and the names of its files in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Iolog {
    pub(super) lines: Vec<IologLine>,
    pub(super) files: Vec<String>,
    pub(super) numbers: HashMap<String, usize>,
    pub(super) torn: Option<usize>,
}

impl Iolog {
    pub(super) fn parse_iolog(text: &str, version: u8) -> Result<Self, Reason> {
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
                Err(fault) => return Err(Reason::plain(format!("line {number}: {fault}"))),
            }
        }
        Ok(log)
    }

    fn parse_line(&mut self, at: usize, line: &str, version: u8, now_ns: &mut u64) -> Result<(), IologFault> {
        let mut words = line.split_ascii_whitespace();
        if version == 3 {
            *now_ns = parse_number(words.next())?.saturating_mul(1000).max(*now_ns);
        }
        let name = words.next().ok_or(IologFault::NameMissing)?;
        let action = words.next().ok_or(IologFault::ActionMissing)?;
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
            other => return Err(IologFault::UnknownAction(shorten(other))),
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
    pub(super) fn fold_offsets(&self, at_most: u64) -> Result<(FoldedPlaces, Vec<u64>, u64), Reason> {
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

/// The version that the first filled line of a text shows, where it is of an iolog.
pub(super) fn version_of(text: &str) -> Option<Result<u8, Reason>> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match first {
        "fio version 2 iolog" => Some(Ok(2)),
        "fio version 3 iolog" => Some(Ok(3)),
        other if other.starts_with("fio version") && other.ends_with("iolog") => Some(Err(Reason::new(
            "this version of fio's iolog is not supported",
            "record again with fio 3: fio … --write_iolog=FILE writes version 2 or 3",
        ))),
        line if is_version_1(line) => Some(Err(Reason::new(
            "this is an iolog of fio's of version 1, which has no names, no syncs and no times",
            "record again with fio 3: fio … --write_iolog=FILE",
        ))),
        _ => None,
    }
}

/// Offset and length, within the limits of a file.
fn parse_span(offset: Option<&str>, length: Option<&str>) -> Result<(u64, u64), IologFault> {
    let (offset, length) = (parse_number(offset)?, parse_number(length)?);
    if length > LARGEST_REQUEST || offset > LAST_BYTE {
        return Err(IologFault::Range { offset, length });
    }
    Ok((offset, length))
}

fn parse_number(word: Option<&str>) -> Result<u64, IologFault> {
    let word = word.ok_or(IologFault::NumberMissing)?;
    word.parse().map_err(|_| IologFault::NoWholeNumber(shorten(word)))
}

fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Whether a line is of version 1: three numbers, of which the first is 0 for a read, 1 for a write or 2 for a trim.
fn is_version_1(line: &str) -> bool {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    matches!(columns[..], ["0" | "1" | "2", offset, length] if [offset, length].iter().all(|column| column.parse::<u64>().is_ok()))
}
