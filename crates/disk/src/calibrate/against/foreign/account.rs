//! The account of a recording of requests: how many requests it shows, and why some of them are not among those that were read.

use std::collections::BTreeMap;

use crate::device::Action;
use crate::device::trace::Traced;

/// Reasons that are counted apart. A recording cannot make the account grow beyond them.
const MOST_REASONS: usize = 100;
const OTHER_REASONS: &str = "other reasons";

/// The requests that were not read for one reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnreadRequests {
    pub count: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// How many of them were flushes.
    pub flushes: u64,
    /// The first line that is about one of them, from 1 on.
    pub first_line: usize,
}

/// How many requests a recording shows, and those that were not read, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestAccount {
    pub seen: u64,
    /// Requests of other devices than the one that is meant; they are not among those seen.
    pub outside: u64,
    pub unread: BTreeMap<String, UnreadRequests>,
}

/// A request that is not read: its bytes, and its place in the recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnreadRequest {
    pub(super) line: usize,
    pub(super) bytes: u64,
    pub(super) is_flush: bool,
}

impl UnreadRequest {
    /// A request of a trace of our own; its number stands for a line.
    pub(super) fn of_record(number: usize, record: &Traced) -> Self {
        let moves = matches!(record.operation, Action::Read | Action::Write);
        Self {
            line: number,
            bytes: if moves { u64::from(record.sectors) * 512 } else { 0 },
            is_flush: record.operation == Action::Flush,
        }
    }
}

impl RequestAccount {
    pub(super) fn leave_out(&mut self, reason: &str, request: UnreadRequest) {
        let full = self.unread.len() >= MOST_REASONS && !self.unread.contains_key(reason);
        let reason = if full { OTHER_REASONS } else { reason };
        let counted = self.unread.entry(reason.to_owned()).or_default();
        counted.count += 1;
        counted.bytes = counted.bytes.saturating_add(request.bytes);
        counted.flushes += u64::from(request.is_flush);
        counted.first_line = match counted.first_line {
            0 => request.line,
            first => first.min(request.line),
        };
    }

    /// The number of requests that were not read, for any reason.
    pub fn unread_count(&self) -> u64 {
        self.unread.values().map(|counted| counted.count).sum()
    }

    /// The reasons with their numbers, for a sentence.
    pub(super) fn describe_reasons(&self) -> String {
        let one = |(reason, counted): (&String, &UnreadRequests)| {
            format!("{} {reason} (line {})", counted.count, counted.first_line)
        };
        self.unread.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}
