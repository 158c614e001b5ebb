//! Parses the lines of fio's iolog (fio(1), "Trace file format"), and places its files one after the other.

use std::collections::HashMap;

use fsverdict_disk::calibrate::{BLANK_LINES, LineAccount, LineOutcome};
use fsverdict_text::Reason;

use super::folded::FoldedPlaces;
use super::request_recorder::too_wide;

/// fio itself skips a pause that is shorter than this, in microseconds.
const SHORTEST_WAIT_US: u64 = 100;

/// The maximum size of a request in bytes.
const LARGEST_REQUEST: u64 = 1 << 30;
/// The largest offset of a byte in a file.
pub(super) const LAST_BYTE: u64 = 1 << 60;
/// Lines by which the version is told.
const LOOKED_AT: usize = 60;
/// The alignment of files in bytes when they are placed one after the other.
const FILE_ALIGNMENT: u64 = 16 << 20;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IologAction {
    Open,
    Close,
    Read {
        offset: u64,
        length: u64,
    },
    Write {
        offset: u64,
        length: u64,
    },
    Sync,
    DataSync,
    /// A pause, which the times of later lines have.
    Wait,
    /// The trace does not make it, and why.
    Other(&'static str),
}

impl IologAction {
    fn is_request(self) -> bool {
        matches!(self, Self::Read { .. } | Self::Write { .. } | Self::Sync | Self::DataSync)
    }
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
    #[error("another count of numbers is wanted than {0}: it is cut, or several lines are joined")]
    NumberCount(usize),
    #[error("from here on it is of another version: give each part by itself")]
    OtherVersion,
    #[error("{0:?} is no whole number")]
    NoWholeNumber(String),
    #[error("no request is of {length} bytes from {offset} on")]
    Range { offset: u64, length: u64 },
    #[error("there are too many names")]
    TooManyNames,
    #[error("it has the form of version {0}, in which lines {1}, and the heading says another")]
    FormOfVersion(u8, &'static str),
}

/// The words for what is done to a file.
const ACTIONS: [&str; 16] = [
    "wait",
    "add",
    "open",
    "close",
    "read",
    "write",
    "trim",
    "sync",
    "datasync",
    "sync_file_range",
    "syncfs",
    "unlink",
    "stat",
    "mkdir",
    "rmdir",
    "rename",
];

/// The name, the action and the numbers in the words of a line. A name may have blanks (SPDK's do), but no word of it is
/// an action, and none behind the first is a number: such a line would be two lines run together.
fn split_words<'a>(words: &[&'a str]) -> Option<(String, &'a str, Vec<&'a str>)> {
    let at = words.iter().position(|word| ACTIONS.contains(word)).filter(|at| *at > 0)?;
    if words[1..at].iter().any(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    Some((words[..at].join(" "), words[at], words[at + 1..].to_vec()))
}

/// The fault of a line that has the form of the other version.
fn version_fault(words: &[&str], version: u8) -> Option<IologFault> {
    let is_number = |word: &&str| word.parse::<u64>().is_ok();
    let is_action = |at: usize| words.get(at).is_some_and(|word| ACTIONS.contains(word));
    match version {
        2 if words.first().is_some_and(is_number) && !is_action(1) && is_action(2) => {
            Some(IologFault::FormOfVersion(3, "begin with a time"))
        }
        3 if !words.first().is_some_and(is_number) && is_action(1) => {
            Some(IologFault::FormOfVersion(2, "have no time"))
        }
        _ => None,
    }
}

/// All lines of a log, and the names of its files in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Iolog {
    pub(super) lines: Vec<IologLine>,
    pub(super) files: Vec<String>,
    pub(super) numbers: HashMap<String, usize>,
    pub(super) account: LineAccount,
}

/// The time that a log has reached.
#[derive(Debug, Default)]
struct IologClock {
    /// The beginning of the part of a log that counts its times from 0.
    base_ns: u64,
    now_ns: u64,
}

impl Iolog {
    /// Parses every line, and accounts for each.
    pub(super) fn parse_iolog(text: &str, version: u8) -> Result<Self, Reason> {
        let mut log = Self::default();
        let mut clock = IologClock::default();
        let mut first_fault = None;
        let mut lines = (1..).zip(text.lines()).peekable();
        while let Some((number, line)) = lines.next() {
            let is_torn = lines.peek().is_none() && !text.ends_with('\n');
            let outcome = match log.parse_line(number, line.trim(), version, &mut clock) {
                Ok(outcome) => outcome,
                Err(fault @ IologFault::OtherVersion) => {
                    return Err(Reason::plain(format!("line {number}: {fault}")));
                }
                Err(fault) => {
                    first_fault.get_or_insert_with(|| format!("line {number}: {fault}"));
                    LineOutcome::of_strange_line(line, fault.to_string())
                }
            };
            let outcome = match outcome {
                LineOutcome::Read if is_torn => {
                    // A log that is cut off may end within a number.
                    log.lines.pop_if(|last| last.number == number);
                    LineOutcome::Unread(
                        "it is the last one and torn: the recording ends without a line end".to_owned(),
                    )
                }
                other => other,
            };
            log.account.count_line(number as u64, outcome);
        }
        match first_fault {
            Some(fault) if !log.lines.iter().any(|line| line.action.is_request()) => {
                Err(Reason::plain(fault))
            }
            _ => Ok(log),
        }
    }

    fn parse_line(
        &mut self,
        number: usize,
        line: &str,
        version: u8,
        clock: &mut IologClock,
    ) -> Result<LineOutcome, IologFault> {
        if line.is_empty() {
            return Ok(LineOutcome::Noise(BLANK_LINES));
        }
        if let Some(shown) = version_of(line) {
            if shown.ok() != Some(version) {
                return Err(IologFault::OtherVersion);
            }
            // fio appends to a log that is there, and its times begin again.
            clock.base_ns = clock.now_ns;
            return Ok(LineOutcome::Noise("headings of fio"));
        }
        if line.starts_with('#') {
            return Ok(LineOutcome::Noise("comments"));
        }
        let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let Some(fault) = version_fault(&words, version) {
            return Err(fault);
        }
        let at_ns = match version {
            3 if words.is_empty() => return Err(IologFault::NumberMissing),
            3 => parse_number(Some(words.remove(0)))?.saturating_mul(1000).saturating_add(clock.base_ns),
            _ => clock.now_ns,
        };
        let Some((name, action, numbers)) = split_words(&words) else {
            return Err(match words.as_slice() {
                [] => IologFault::NameMissing,
                [_] => IologFault::ActionMissing,
                [_, other, ..] => IologFault::UnknownAction(shorten(other)),
            });
        };
        // A name with blanks is one that was added.
        if name.contains(' ') && action != "add" && !self.numbers.contains_key(&name) {
            return Err(IologFault::UnknownAction(shorten(words[1])));
        }
        let mut wait_ns = 0;
        let action = match (action, numbers.as_slice()) {
            ("wait", [us] | [us, _]) => {
                match parse_number(numbers.get(1).or(Some(us)).copied()).and(parse_number(Some(us)))? {
                    // fio ignores them where each line has its time.
                    _ if version == 3 => IologAction::Other("waits, which fio ignores in version 3"),
                    us => {
                        wait_ns = if us < SHORTEST_WAIT_US { 0 } else { us.saturating_mul(1000) };
                        IologAction::Wait
                    }
                }
            }
            ("add", []) => {
                self.file_number(&name);
                return Ok(LineOutcome::Noise("names of files (add)"));
            }
            ("open", []) => IologAction::Open,
            ("close", []) => IologAction::Close,
            (
                "read" | "write" | "trim" | "sync" | "datasync" | "sync_file_range" | "syncfs",
                [offset, length],
            ) => {
                let (offset, length) = parse_span(offset, length)?;
                match action {
                    "read" => IologAction::Read { offset, length },
                    "write" => IologAction::Write { offset, length },
                    "trim" => IologAction::Other("requests to discard"),
                    "sync" => IologAction::Sync,
                    "datasync" => IologAction::DataSync,
                    _ => IologAction::Other("sync_file_range and syncfs"),
                }
            }
            ("unlink" | "stat" | "mkdir" | "rmdir", [] | [_, _]) => {
                IologAction::Other("unlink, stat, mkdir and rmdir")
            }
            ("wait" | "add" | "open" | "close" | "read" | "write" | "trim" | "sync" | "datasync", _) => {
                return Err(IologFault::NumberCount(numbers.len()));
            }
            (other, _) => return Err(IologFault::UnknownAction(shorten(other))),
        };
        clock.now_ns = clock.now_ns.max(at_ns).saturating_add(wait_ns);
        if action != IologAction::Wait {
            let file = self.file_number(&name);
            self.lines.push(IologLine { number, at_ns: clock.now_ns, file, action });
        }
        Ok(LineOutcome::Read)
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
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    match first {
        "fio version 2 iolog" => Some(Ok(2)),
        "fio version 3 iolog" => Some(Ok(3)),
        other if other.starts_with("fio version") && other.ends_with("iolog") => Some(Err(Reason::new(
            "this version of fio's iolog is not supported",
            "record again with fio 3: fio … --write_iolog=FILE writes version 2 or 3",
        ))),
        line if is_version_1(line) && !text.lines().take(LOOKED_AT).any(is_latency) => {
            Some(Err(Reason::new(
                "this is an iolog of fio's of version 1, which has no names, no syncs and no times",
                "record again with fio 3: fio … --write_iolog=FILE",
            )))
        }
        _ => None,
    }
}

/// Offset and length, within the limits of a file.
fn parse_span(offset: &str, length: &str) -> Result<(u64, u64), IologFault> {
    let (offset, length) = (parse_number(Some(offset))?, parse_number(Some(length))?);
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

/// Whether a line is of a latency log, which has more columns.
fn is_latency(line: &str) -> bool {
    line.split(',').count() >= 5
}

/// Whether a line is of version 1: three numbers, of which the first is 0 for a read, 1 for a write or 2 for a trim.
fn is_version_1(line: &str) -> bool {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    matches!(columns[..], ["0" | "1" | "2", offset, length] if [offset, length].iter().all(|column| column.parse::<u64>().is_ok()))
}
