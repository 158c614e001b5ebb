//! Reads the output of biosnoop (bcc, libbpf-tools): `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, a line
//! for each completed request. Names of programs may have spaces, so that columns are counted from the right.

use std::collections::BTreeMap;

use super::super::measured::Measured;
use super::account::{RequestAccount, UnreadRequest};
use super::block_event::{BlockLetters, BlockOperation};
use super::lines::{RequestShape, parse_seconds, parse_time, whole_number};
use super::{LineFault, MOST_REQUESTS, ReadLines, TraceFault, too_many, whole_fault};
use crate::device::Action;

struct SnoopLine<'a> {
    done_ns: u64,
    disk: &'a str,
    letters: &'a str,
    sector: u64,
    bytes: u64,
    took_ns: u64,
}

/// Whether a line is the heading of biosnoop's columns, with a sector among them.
pub(super) fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first() == Some(&"TIME(s)")
        && ["SECTOR", "BYTES", "LAT(ms)"].iter().all(|name| words.contains(name))
}

pub(super) fn is_line(line: &str) -> bool {
    is_heading(line) || matches!(parse_line(line), Some(Ok(_)))
}

/// `None` where a line is not of this form.
fn parse_line(line: &str) -> Option<Result<SnoopLine<'_>, LineFault>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let fraction = |word: &str| word.contains(['.', ',']) && parse_time(word, 1e6).is_ok();
    let took = words.last().filter(|word| fraction(word))?;
    // With -Q the time in the queue stands before the latency.
    let queue = usize::from(words.len() >= 2 && fraction(words[words.len() - 2]));
    let front = words.len().checked_sub(1 + queue)?;
    let [done, .., disk, letters, sector, bytes] = words.get(..front)? else { return None };
    if !done.contains(['.', ',']) || !letters.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let read = || {
        Ok(SnoopLine {
            done_ns: parse_seconds(done)?,
            disk,
            letters,
            sector: whole_number(sector)?,
            bytes: whole_number(bytes)?,
            took_ns: parse_time(took, 1e6)?,
        })
    };
    Some(read())
}

/// Whether the number of a process stands where the disk should be: a flush may be of no disk.
fn has_no_disk(line: &SnoopLine<'_>) -> bool {
    line.disk.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lines that begin with a time and show no request: a large number touches the next one.
fn lines_with_touching_columns(text: &str) -> impl Iterator<Item = usize> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let first = line.split_whitespace().next()?;
        let is_timed = first.contains(['.', ',']) && parse_seconds(first).is_ok();
        (is_timed && parse_line(line).is_none()).then_some(number)
    })
}

pub(super) fn read_biosnoop(text: &str, device: Option<&str>) -> Result<ReadLines, TraceFault> {
    let mut disks: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        if let Some(Ok(request)) = parse_line(line)
            && !has_no_disk(&request)
        {
            *disks.entry(request.disk).or_default() += 1;
        }
    }
    let names = disks.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ");
    let disk = match (device, disks.len()) {
        (Some(wanted), _) if disks.contains_key(wanted) => wanted,
        (Some(wanted), _) => {
            let what = format!("it has no request of the disk {wanted}: there are {names}");
            return Err(whole_fault(&what, "name one of these"));
        }
        (None, 1) => disks.keys().next().copied().unwrap_or_default(),
        (None, 0) => {
            return Err(whole_fault("there is no request in it", "record for longer: biosnoop-bpfcc 60"));
        }
        (None, _) => {
            let first = disks.keys().next().copied().unwrap_or_default();
            let hint = format!("one disk at a time: capture --trace FILE --device {first}");
            return Err(whole_fault(&format!("it is of several disks: {names}"), &hint));
        }
    };
    let mut account = RequestAccount::default();
    let mut taken: Vec<Measured> = Vec::new();
    // The time is that of the end. The first may have begun before the clock of the recording.
    let found = || text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, parse_line(line)?)));
    let shift_ns = found().filter_map(|(_, line)| line.ok()).map(|line| line.took_ns).max().unwrap_or(0);
    for number in lines_with_touching_columns(text) {
        account.seen += 1;
        let unread = UnreadRequest { line: number, bytes: 0, is_flush: false };
        account.leave_out("lines whose columns touch", unread);
    }
    let mut strange = None;
    for (number, line) in found() {
        let line = match line {
            Ok(line) if line.disk == disk => line,
            Ok(line) if has_no_disk(&line) => {
                account.seen += 1;
                let unread = UnreadRequest { line: number, bytes: 0, is_flush: false };
                account.leave_out("requests of which no disk is shown", unread);
                continue;
            }
            Ok(_) => continue,
            Err(fault) => {
                strange.get_or_insert((number, fault));
                continue;
            }
        };
        account.seen += 1;
        let letters = BlockLetters::new(line.letters, line.bytes / 512);
        let operation = match letters.operation {
            // Some versions print W for a flush.
            BlockOperation::Write if line.bytes == 0 => Action::Flush,
            BlockOperation::Read => Action::Read,
            BlockOperation::Write | BlockOperation::ZoneAppend => Action::Write,
            BlockOperation::Flush => Action::Flush,
            BlockOperation::Discard => Action::Discard,
            BlockOperation::Other => {
                let unread = UnreadRequest { line: number, bytes: 0, is_flush: false };
                account.leave_out("commands that neither read nor write", unread);
                continue;
            }
        };
        let is_flush = operation == Action::Flush;
        let shape = RequestShape {
            operation,
            sector: if is_flush { 0 } else { line.sector },
            sectors: line.bytes / 512,
            issued_ns: line.done_ns.saturating_add(shift_ns).saturating_sub(line.took_ns),
            took_ns: line.took_ns,
            line: number,
        };
        taken.push(shape.validate_shape().map_err(|fault| TraceFault::Line { line: number, fault })?);
        if taken.len() > MOST_REQUESTS {
            return Err(too_many());
        }
    }
    if let Some((line, fault)) = strange {
        return Err(TraceFault::Line { line, fault });
    }
    Ok(ReadLines { requests: taken, account, notes: Vec::new() })
}
