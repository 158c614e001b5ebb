//! fio's latency log: `time (ms), latency (ns), direction, bytes, offset, priority[, issue time (ns)]`, a line for each request that was
//! done (fio(1), "Log file formats").
//!
//! Without `log_offset` there is no offset, and the fifth column is the priority. With `log_avg_msec` a line is an average of many
//! requests, and its size and offset are 0.

use std::collections::BTreeMap;

use super::super::measured::Measured;
use super::account::{RequestAccount, UnreadRequest};
use super::line_account::LineOutcome;
use super::lines::{RequestShape, parse_time, whole_number};
use super::{LineFault, LineForm, ReadLines};
use crate::device::Action;

/// The largest number of a direction (sync_file_range).
const LARGEST_DIRECTION: u64 = 5;
/// A priority is a number of 16 bits.
const LARGEST_PRIORITY: u64 = 0xffff;

pub(super) struct FioLog {
    taken: Vec<Measured>,
    account: RequestAccount,
    /// The columns that most lines have: another number is that of a line that is cut, or of several that are joined.
    columns: usize,
    /// Whether a line has a number in the place of the direction that is none: there are two values before it.
    has_two_values: bool,
    /// Whether each value is 1: requests per second of a log without averages, and no latency of any device.
    counts_requests: bool,
}

/// Lines from which a log of requests per second is told.
const LEAST_COUNTS: usize = 3;

impl FioLog {
    pub(super) fn new(text: &str) -> Self {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let log_lines = || text.lines().filter(|line| is_line(line));
        log_lines().for_each(|line| *counts.entry(line.split(',').count()).or_default() += 1);
        let columns = counts.into_iter().max_by_key(|(_, lines)| *lines).map_or(0, |(columns, _)| columns);
        let is_no_direction = |word: &str| word.parse::<u64>().is_ok_and(|number| number > LARGEST_DIRECTION);
        let of_two_values = |line: &str| {
            let words: Vec<&str> = line.split(',').map(str::trim).collect();
            words.len() == columns
                && (6..=8).contains(&columns)
                && is_no_direction(words[2])
                && !is_no_direction(words[3])
        };
        let has_two_values = log_lines().any(of_two_values);
        let is_one = |line: &str| line.split(',').nth(1).is_some_and(|value| value.trim() == "1");
        let counts_requests = log_lines().count() >= LEAST_COUNTS && log_lines().all(is_one);
        let (taken, account) = (Vec::new(), RequestAccount::default());
        Self { taken, account, columns, has_two_values, counts_requests }
    }
}

/// Whether a line has the columns of such a log: four or more numbers between commas. An iolog of version 1 has three.
pub(super) fn is_line(line: &str) -> bool {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    columns.len() >= 4 && columns.iter().all(|column| is_number(column))
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.')
}

impl LineForm for FioLog {
    fn read_line(&mut self, number: usize, line: &str) -> Result<LineOutcome, LineFault> {
        // fio prints no blank before a comma: one there was a digit.
        let columns: Vec<&str> = line.trim().split(',').map(str::trim_start).collect();
        if columns.len() != self.columns {
            return Err(LineFault::ColumnCount(columns.len(), self.columns));
        }
        if let Some(word) = columns.iter().find(|word| !is_number(word)) {
            return Err(LineFault::NoWholeNumber((*word).to_owned()));
        }
        if self.has_two_values {
            return Err(LineFault::NoSingleRequests(
                "two averages of many requests in each line: run it without log_window_value and log_avg_msec",
            ));
        }
        if self.counts_requests {
            return Err(LineFault::NoSingleRequests(
                "a log of requests per second, in which each value is 1: give the one that ends in _clat.1.log or _lat.1.log",
            ));
        }
        let (done, took, direction, bytes, offset, issued) = match columns.as_slice() {
            [done, took, direction, bytes, offset, _] => (done, took, direction, bytes, offset, None),
            [done, took, direction, bytes, offset, _, issued] => {
                (done, took, direction, bytes, offset, Some(*issued))
            }
            [_, _, _, _, fifth] if whole_number(fifth).is_ok_and(|fifth| fifth > LARGEST_PRIORITY) => {
                return Err(LineFault::NoSingleRequests(
                    "this log is of an old fio, which does not tell microseconds from nanoseconds: record it with fio 3.20 or newer",
                ));
            }
            [_, _, _, _, _] => {
                return Err(LineFault::NoSingleRequests(
                    "a log of fio's without offsets (the fifth column is the priority): run it with --log_offset=1",
                ));
            }
            columns if columns.len() > 7 => {
                return Err(LineFault::NoSingleRequests(
                    "a histogram of fio's (write_hist_log) has no single requests: run it with --write_lat_log=NAME --log_offset=1",
                ));
            }
            [_, _, _, _] => {
                return Err(LineFault::NoSingleRequests(
                    "a log of fio's without offsets: run it with --log_offset=1",
                ));
            }
            columns => return Err(LineFault::ColumnCount(columns.len(), self.columns)),
        };
        let operation = match *direction {
            "0" => Action::Read,
            "1" => Action::Write,
            "2" => Action::Discard,
            // sync and datasync.
            "3" | "4" => Action::Flush,
            // The effect of sync_file_range(2) depends on flags that the log does not have.
            "5" => {
                self.account.seen += 1;
                let unread = UnreadRequest { line: number, bytes: 0, is_flush: true };
                self.account.leave_out("calls of sync_file_range", unread);
                return Ok(LineOutcome::Read);
            }
            other => return Err(LineFault::UnknownDirection(other.to_owned())),
        };
        let took_ns = parse_time(took, 1.0)?;
        let issued_ns = match issued {
            Some(issued) => whole_number(issued)?,
            None => parse_time(done, 1e6)?.saturating_sub(took_ns),
        };
        let (offset, bytes) = (whole_number(offset)?, whole_number(bytes)?);
        if bytes == 0 && matches!(operation, Action::Read | Action::Write) {
            return Err(LineFault::NoSingleRequests(
                "a request of 0 bytes: the lines are averages of many requests; run it without log_avg_msec",
            ));
        }
        if offset % 512 != 0 || bytes % 512 != 0 {
            return Err(LineFault::PartOfSector);
        }
        let shape = RequestShape {
            operation,
            sector: offset / 512,
            sectors: bytes / 512,
            issued_ns,
            took_ns,
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
        // The priority, which ends a line, is not used.
        self.columns == 6
    }

    fn into_lines(self) -> ReadLines {
        let has_syncs = self.taken.iter().any(|request| request.record.operation == Action::Flush);
        let note = "Not kept: syncs of the job. fio 3.33 writes none into a latency log; its iolog (--write_iolog) has them.";
        let notes = if has_syncs { Vec::new() } else { vec![note.to_owned()] };
        ReadLines { notes, ..ReadLines::new(self.taken, self.account) }
    }
}
