//! Reads the output of biosnoop (bcc, libbpf-tools): `TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms)`, a line
//! for each completed request. Names of programs may have spaces, so that columns are counted from the right.

use std::collections::BTreeMap;

use super::super::measured::Measured;
use super::account::{RequestAccount, UnreadRequest};
use super::block_event::{BlockLetters, BlockOperation};
use super::line_account::LineOutcome;
use super::lines::{RequestShape, parse_seconds, parse_time, whole_number};
use super::{LineFault, LineForm, ReadLines, TraceFault, read_lines, whole_fault};
use crate::device::Action;

/// Characters of a program's name in the kernel.
const LONGEST_NAME: usize = 16;
/// The width of the columns BYTES and LAT(ms) in bcc's biosnoop, between which it prints no space.
const COLUMN_WIDTH: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SnoopLine<'a> {
    done_ns: u64,
    /// `None` where the column is blank: a flush may be of no disk.
    disk: Option<&'a str>,
    letters: &'a str,
    sector: u64,
    bytes: u64,
    took_ns: u64,
}

/// The columns of a line that options and versions change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SnoopColumns {
    /// Whether the time in the queue stands before the latency (-Q).
    queue: bool,
    /// Whether there is a column with a letter for the pattern (-P).
    pattern: bool,
    /// Digits behind the point of a latency. A line with others than most is cut, or joined with another.
    decimals: usize,
    /// Digits behind the point of the time at the beginning of a line.
    time_decimals: usize,
}

/// Whether a line is the heading of biosnoop's columns, with a sector among them.
pub(super) fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first() == Some(&"TIME(s)")
        && ["SECTOR", "BYTES", "LAT(ms)"].iter().all(|name| words.contains(name))
}

/// Why columns with such a heading are not read, where a line is one.
pub(super) fn heading_fault(line: &str) -> Option<TraceFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_snoop = words.contains(&"LAT(ms)") && words.iter().any(|word| word.starts_with("TIME"));
    if !is_snoop || is_heading(line) {
        return None;
    }
    let place = "use the biosnoop of bcc or libbpf-tools, which prints the place of each request";
    Some(if !words.contains(&"SECTOR") {
        whole_fault("it is output of a biosnoop that prints no sectors", place)
    } else if words.first() == Some(&"TIMESTAMP") {
        whole_fault(
            "it is output of biosnoop -t, with the time of day in milliseconds",
            "record again without -t",
        )
    } else {
        unknown_columns(&words)
    })
}

fn unknown_columns(words: &[&str]) -> TraceFault {
    let what = format!("the columns of this biosnoop are not known: {}", words.join(" "));
    whole_fault(&what, "record with the biosnoop of bcc or libbpf-tools: biosnoop-bpfcc > FILE")
}

pub(super) fn is_line(line: &str) -> bool {
    is_heading(line) || guess_columns(line).is_some()
}

impl SnoopColumns {
    /// The columns of a heading.
    fn from_heading(line: &str, lines: Self) -> Result<Self, TraceFault> {
        const KNOWN: [&str; 7] = ["TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"];
        let words: Vec<&str> = line.split_whitespace().collect();
        let behind = words.strip_prefix(&KNOWN[..]).unwrap_or_default();
        let (pattern, queue) = match behind {
            ["LAT(ms)"] => (false, false),
            ["QUE(ms)", "LAT(ms)"] => (false, true),
            ["P", "LAT(ms)"] => (true, false),
            ["P", "QUE(ms)", "LAT(ms)"] => (true, true),
            _ => return Err(unknown_columns(&words)),
        };
        Ok(Self { queue, pattern, ..lines })
    }

    /// The columns of a text without a heading at its beginning: those that most lines have.
    fn guess_all(text: &str) -> Self {
        let mut counts: BTreeMap<Self, usize> = BTreeMap::new();
        text.lines().filter_map(guess_columns).for_each(|columns| *counts.entry(columns).or_default() += 1);
        counts.into_iter().max_by_key(|(_, lines)| *lines).map_or_else(Self::default, |(columns, _)| columns)
    }
}

/// The columns that a line seems to have; `None` where it is not of this form.
fn guess_columns(line: &str) -> Option<SnoopColumns> {
    let mut words = line.split_whitespace();
    let time_decimals = decimals_of(words.next()?)?;
    let decimals = decimals_of(words.next_back()?)?;
    let choices = [(true, true), (true, false), (false, true), (false, false)];
    choices
        .into_iter()
        .map(|(queue, pattern)| SnoopColumns { queue, pattern, decimals, time_decimals })
        .find(|columns| parse_line(line, *columns).is_ok())
}

/// The digits behind the point of a number of milliseconds.
fn decimals_of(word: &str) -> Option<usize> {
    let (whole, fraction) = word.split_once(['.', ','])?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole.strip_prefix('-').unwrap_or(whole)) && is_number(fraction)).then_some(fraction.len())
}

fn parse_line(line: &str, columns: SnoopColumns) -> Result<SnoopLine<'_>, LineFault> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let mut take = || words.pop().ok_or(LineFault::NoColumns);
    let check_decimals = |word: &str| match decimals_of(word) {
        Some(decimals) if decimals == columns.decimals => Ok(()),
        Some(_) => Err(LineFault::CutDecimals(word.to_owned())),
        None => Err(LineFault::NoColumns),
    };
    let mut took = take()?;
    check_decimals(took)?;
    // Without -Q the number of bytes may touch the latency, and with it the time in the queue.
    let mut touching = (!columns.queue).then_some(took);
    if columns.queue {
        let queued = take()?;
        check_decimals(queued)?;
        touching = Some(queued);
    }
    let mut bytes = take()?;
    if columns.pattern {
        touching = None;
        // A large number of bytes touches the letter.
        let digits = bytes.strip_suffix(['R', 'S', '?']).ok_or(LineFault::NoColumns)?;
        bytes = if digits.is_empty() { take()? } else { digits };
    }
    let mut sector = take()?;
    let mut letters = take()?;
    if !is_operation(letters)
        && is_operation(sector)
        && let Some((first, second)) = touching.and_then(|word| split_touching(word, columns.decimals))
    {
        words.push(letters);
        (letters, sector, bytes) = (sector, bytes, first);
        took = if columns.queue { took } else { second };
    }
    if !is_operation(letters) {
        return Err(LineFault::NoColumns);
    }
    let done = *words.first().ok_or(LineFault::NoColumns)?;
    let is_process = |word: &str| word.strip_prefix('-').unwrap_or(word).parse::<u32>().is_ok();
    let last = words.pop().filter(|_| !words.is_empty()).ok_or(LineFault::NoColumns)?;
    let disk = Some(last).filter(|disk| !is_process(disk));
    let process = if disk.is_some() { words.pop().filter(|_| !words.is_empty()) } else { Some(last) };
    let name = words.get(1..).unwrap_or_default().join(" ");
    if !process.is_some_and(is_process)
        || name.chars().count() > LONGEST_NAME
        || decimals_of(done) != Some(columns.time_decimals)
    {
        return Err(LineFault::NoColumns);
    }
    Ok(SnoopLine {
        done_ns: parse_seconds(done)?,
        disk,
        letters,
        // Old versions print -1 where there is no place.
        sector: if sector == "-1" { 0 } else { whole_number(sector)? },
        bytes: whole_number(bytes)?,
        took_ns: parse_time(took, 1e6)?,
    })
}

/// Whether a word is the kernel's letters for an operation.
fn is_operation(word: &str) -> bool {
    word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Parts a number of bytes from the milliseconds that it touches: each fills its column at least, bytes are whole
/// sectors, and neither begins with a needless 0. `None` where no place or several fit.
fn split_touching(word: &str, decimals: usize) -> Option<(&str, &str)> {
    let last = word.len().checked_sub(COLUMN_WIDTH)?;
    let mut fitting = (COLUMN_WIDTH..=last).map(|at| word.split_at(at)).filter(|(bytes, time)| {
        let is_whole = bytes.parse::<u64>().is_ok_and(|bytes| bytes % 512 == 0);
        is_whole && !bytes.starts_with('0') && !time.starts_with('0') && decimals_of(time) == Some(decimals)
    });
    fitting.next().filter(|_| fitting.next().is_none())
}

/// The lines of one disk.
struct DiskLines<'a> {
    disk: &'a str,
    columns: SnoopColumns,
    shift_ns: u64,
    account: RequestAccount,
    taken: Vec<Measured>,
}

impl DiskLines<'_> {
    fn leave_out(&mut self, reason: &str, line: usize) -> LineOutcome {
        self.account.seen += 1;
        self.account.leave_out(reason, UnreadRequest { line, bytes: 0, is_flush: false });
        LineOutcome::Read
    }
}

impl LineForm for DiskLines<'_> {
    fn read_line(&mut self, number: usize, text: &str) -> Result<LineOutcome, LineFault> {
        if is_heading(text) {
            let columns = SnoopColumns::from_heading(text, self.columns);
            self.columns = columns.unwrap_or(self.columns);
            return Ok(LineOutcome::Noise("headings of biosnoop"));
        }
        let line = parse_line(text, self.columns)?;
        match line.disk {
            None => return Ok(self.leave_out("requests of which no disk is shown", number)),
            Some(disk) if disk != self.disk => {
                self.account.outside += 1;
                return Ok(LineOutcome::Outside);
            }
            Some(_) => {}
        }
        if line.bytes % 512 != 0 {
            return Ok(self.leave_out("requests of no whole sectors", number));
        }
        let letters = BlockLetters::new(line.letters, line.bytes / 512);
        let operation = match letters.operation {
            // Some versions print W for a flush.
            BlockOperation::Write if line.bytes == 0 => Action::Flush,
            BlockOperation::Read => Action::Read,
            BlockOperation::Write | BlockOperation::ZoneAppend => Action::Write,
            BlockOperation::Flush => Action::Flush,
            BlockOperation::Discard => Action::Discard,
            BlockOperation::Other => {
                return Ok(self.leave_out("commands that neither read nor write", number));
            }
        };
        let is_flush = operation == Action::Flush;
        let shape = RequestShape {
            operation,
            sector: if is_flush { 0 } else { line.sector },
            sectors: line.bytes / 512,
            issued_ns: line.done_ns.saturating_add(self.shift_ns).saturating_sub(line.took_ns),
            took_ns: line.took_ns,
            line: number,
        };
        self.taken.push(shape.validate_shape()?);
        self.account.seen += 1;
        Ok(LineOutcome::Read)
    }

    fn taken_count(&self) -> usize {
        self.taken.len()
    }

    fn shows_end(&self) -> bool {
        true
    }

    fn into_lines(self) -> ReadLines {
        ReadLines::new(self.taken, self.account)
    }
}

pub(super) fn read_biosnoop(text: &str, device: Option<&str>) -> Result<ReadLines, TraceFault> {
    let first = SnoopColumns::guess_all(text);
    let mut columns = first;
    let mut disks: BTreeMap<&str, u64> = BTreeMap::new();
    // The time is that of the end. The first may have begun before the clock of the recording.
    let mut shift_ns = 0;
    for line in text.lines() {
        if is_heading(line) {
            columns = SnoopColumns::from_heading(line, first)?;
        } else if let Ok(request) = parse_line(line, columns) {
            shift_ns = shift_ns.max(request.took_ns);
            if let Some(disk) = request.disk {
                *disks.entry(disk).or_default() += 1;
            }
        }
    }
    let disk = choose_disk(&disks, device)?;
    let (account, taken) = (RequestAccount::default(), Vec::new());
    read_lines(text, DiskLines { disk, columns: first, shift_ns, account, taken })
}

fn choose_disk<'a>(disks: &BTreeMap<&'a str, u64>, wanted: Option<&str>) -> Result<&'a str, TraceFault> {
    let names =
        || disks.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ");
    let Some(wanted) = wanted else {
        return match disks.iter().max_by_key(|(_, count)| **count) {
            Some((only, _)) if disks.len() == 1 => Ok(only),
            Some((busiest, _)) => {
                let hint = format!("one disk at a time: capture --trace FILE --device {busiest}");
                Err(whole_fault(&format!("it is of several disks: {}", names()), &hint))
            }
            None => Err(whole_fault("there is no request in it", "record for longer: biosnoop-bpfcc 60")),
        };
    };
    disks.keys().copied().find(|name| *name == wanted).ok_or_else(|| {
        let what = format!("it has no request of the disk {wanted}: there are {}", names());
        whole_fault(&what, "name one of these")
    })
}
