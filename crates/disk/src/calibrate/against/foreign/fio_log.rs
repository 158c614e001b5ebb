//! fio's latency log: `time (ms), latency (ns), direction, bytes, offset, priority[, issue time (ns)]`, a line for each request that was
//! done (fio(1), "Log file formats").
//!
//! Without `log_offset` there is no offset, and the fifth column is the priority. With `log_avg_msec` a line is an average of many
//! requests, and its size and offset are 0.

use super::super::measured::Measured;
use super::account::{RequestAccount, UnreadRequest};
use super::lines::{RequestShape, parse_time, whole_number};
use super::{LineFault, LineForm, ReadLines};
use crate::device::Action;

/// A priority is a number of 16 bits.
const LARGEST_PRIORITY: u64 = 0xffff;

#[derive(Default)]
pub(super) struct FioLog {
    taken: Vec<Measured>,
    account: RequestAccount,
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
    fn take_line(&mut self, number: usize, line: &str) -> Result<(), LineFault> {
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        let (done, took, direction, bytes, offset, issued) = match columns.as_slice() {
            [done, took, direction, bytes, offset, _] => (done, took, direction, bytes, offset, None),
            [_, _, latency, "0" | "1" | "2", ..] if columns.len() == 7 && latency.len() > 1 => {
                return Err(LineFault::NoSingleRequests(
                    "two averages of many requests in each line: run it without log_window_value and log_avg_msec",
                ));
            }
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
            columns => return Err(LineFault::ColumnCount(columns.len())),
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
                return Ok(());
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
        self.account.seen += 1;
        self.taken.push(shape.validate_shape()?);
        Ok(())
    }

    fn taken_count(&self) -> usize {
        self.taken.len()
    }

    fn into_lines(self) -> ReadLines {
        ReadLines { requests: self.taken, account: self.account, notes: Vec::new() }
    }
}
