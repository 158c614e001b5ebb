//! Follows the requests of one device through the events of the block layer, from their issue to their completion, and
//! counts those without a known time.

mod ranges;

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::super::measured::{Durability, Measured};
use super::ReadLines;
use super::account::{RequestAccount, UnreadRequest};
use super::block_event::{BlockEvent, BlockEventKind, BlockLetters, BlockOperation};
use super::lines::{LARGEST_SECTORS, RequestShape};
use crate::device::Action;

const BEFORE: &str = "completed, but issued before the recording began";
const UNDERWAY: &str = "issued, but not completed before the recording ended";
const REQUEUED: &str = "put back into the queue and not issued again";
const FAILED: &str = "failed with an error";
const COMMANDS: &str = "commands that neither read nor write";
const OUT_OF_RANGE: &str = "of more sectors, or further on, than any request";

/// A request that was begun.
#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    letters: BlockLetters,
    line: usize,
    issued_ns: u64,
    sector: u64,
    sectors: u64,
    /// Sectors that are not done yet.
    remaining: u64,
    failed: bool,
}

impl OpenRequest {
    fn as_unread(&self) -> UnreadRequest {
        let moves = matches!(
            self.letters.operation,
            BlockOperation::Read | BlockOperation::Write | BlockOperation::ZoneAppend
        );
        UnreadRequest {
            line: self.line,
            bytes: if moves { self.sectors.saturating_mul(512) } else { 0 },
            is_flush: self.letters.operation == BlockOperation::Flush,
        }
    }
}

/// A range that is not done yet: its operation and first sector.
type RangeKey = (BlockOperation, u64);
/// Requests without a place: their operation, whether they are the kernel's own flush (`FF`), and their length.
type UnplacedKey = (BlockOperation, bool, u64);

#[derive(Default)]
pub(super) struct RequestTracker {
    pending: HashMap<u64, OpenRequest>,
    next: u64,
    /// Ranges with their lengths and the numbers of their requests.
    ranges: BTreeMap<RangeKey, Vec<(u64, u64)>>,
    /// Requests that have no place, or none that is known before they are done.
    unplaced: BTreeMap<UnplacedKey, VecDeque<u64>>,
    /// Whether bios are followed, on a device that issues no requests.
    follows_bios: bool,
    /// Whether a flush of the kernel's own is done.
    has_flushed: bool,
    /// Requests that the driver gave back.
    requeued: BTreeMap<(BlockOperation, u64, u64), Vec<OpenRequest>>,
    requeues: u64,
    /// Requests that were completed in several parts.
    parts: u64,
    /// Requests that are done, with their numbers in the order of their issue.
    taken: Vec<(u64, Measured)>,
    pub(super) account: RequestAccount,
}

impl RequestTracker {
    pub(super) fn new(follows_bios: bool) -> Self {
        Self { follows_bios, ..Self::default() }
    }

    /// The kernel issues a flush of its own for one that a filesystem asks for, and reports the end of both: `FF` is
    /// issued, and `FF` and `WS 0` are completed. A bio is completed without the letter of its flush.
    fn unplaced_key(&self, letters: BlockLetters, sectors: u64) -> UnplacedKey {
        let is_own = letters.operation == BlockOperation::Flush && letters.preflush && !self.follows_bios;
        (letters.operation, is_own, sectors)
    }

    /// Requests that are read or underway.
    pub(super) fn taken_count(&self) -> usize {
        self.taken.len().max(self.pending.len())
    }

    pub(super) fn issue_request(&mut self, event: &BlockEvent<'_>) {
        let letters = BlockLetters::new(event.rwbs, event.sectors);
        let key = (letters.operation, event.sector, event.sectors);
        let again = self.requeued.get_mut(&key).and_then(Vec::pop);
        let pending = match again {
            Some(former) => OpenRequest { issued_ns: event.at_ns, ..former },
            None => {
                self.account.seen += 1;
                OpenRequest {
                    letters,
                    line: event.line,
                    issued_ns: event.at_ns,
                    sector: event.sector,
                    sectors: event.sectors,
                    remaining: event.sectors,
                    failed: false,
                }
            }
        };
        let number = self.next;
        self.next += 1;
        self.pending.insert(number, pending);
        if is_placed(letters.operation, event.sectors) {
            let range = (letters.operation, event.sector);
            self.ranges.entry(range).or_default().push((event.sectors, number));
        } else {
            let key = self.unplaced_key(letters, event.sectors);
            self.unplaced.entry(key).or_default().push_back(number);
        }
    }

    pub(super) fn requeue_request(&mut self, event: &BlockEvent<'_>) {
        let letters = BlockLetters::new(event.rwbs, event.sectors);
        let Some(number) = self.take_part(letters, event.sector, event.sectors) else { return };
        let Some(pending) = self.pending.remove(&number) else { return };
        self.requeues += 1;
        let key = (letters.operation, event.sector, event.sectors);
        self.requeued.entry(key).or_default().push(pending);
    }

    /// Completes a request, or a part of one.
    pub(super) fn complete_request(&mut self, event: &BlockEvent<'_>, error: i64) {
        let letters = BlockLetters::new(event.rwbs, event.sectors);
        let found = self.take_part(letters, event.sector, event.sectors);
        let merged = if found.is_none() {
            self.find_merged(letters.operation, event.sector, event.sectors)
        } else {
            Vec::new()
        };
        if !merged.is_empty() {
            for number in merged {
                let Some(mut done) = self.pending.remove(&number) else { continue };
                done.failed |= error != 0;
                self.finish_request(number, &done, event.at_ns);
            }
            return;
        }
        let Some((number, pending)) = found.and_then(|number| Some((number, self.pending.get_mut(&number)?)))
        else {
            let is_flush = letters.operation == BlockOperation::Flush;
            if is_flush && !letters.preflush && self.has_flushed && error == 0 {
                // The one that was asked for is done with the kernel's own.
                return;
            }
            self.account.seen += 1;
            let orphan = OpenRequest {
                letters,
                line: event.line,
                issued_ns: 0,
                sector: event.sector,
                sectors: event.sectors,
                remaining: 0,
                failed: false,
            };
            let reason = if is_flush && error != 0 { FAILED } else { BEFORE };
            self.account.leave_out(reason, orphan.as_unread());
            return;
        };
        pending.failed |= error != 0;
        pending.remaining = pending.remaining.saturating_sub(event.sectors);
        if pending.remaining > 0 {
            self.parts += u64::from(pending.remaining + event.sectors == pending.sectors);
            return;
        }
        let mut completed = *pending;
        self.has_flushed |= letters.operation == BlockOperation::Flush && letters.preflush;
        self.pending.remove(&number);
        if completed.letters.operation == BlockOperation::ZoneAppend {
            completed.sector = event.sector;
        }
        self.finish_request(number, &completed, event.at_ns);
    }

    fn finish_request(&mut self, number: u64, done: &OpenRequest, at_ns: u64) {
        if done.failed {
            return self.account.leave_out(FAILED, done.as_unread());
        }
        let operation = match done.letters.operation {
            BlockOperation::Read => Action::Read,
            // blkparse shows a request to write zeroes as a write, of more than any write moves.
            BlockOperation::Write if done.sectors > LARGEST_SECTORS => Action::WriteZeroes,
            BlockOperation::Write | BlockOperation::ZoneAppend => Action::Write,
            BlockOperation::Flush => Action::Flush,
            BlockOperation::Discard => Action::Discard,
            BlockOperation::Other => return self.account.leave_out(COMMANDS, done.as_unread()),
        };
        let largest = if operation == Action::Discard { u64::from(u32::MAX) } else { done.sectors };
        let shape = RequestShape {
            operation,
            sector: done.sector,
            sectors: done.sectors.min(largest),
            issued_ns: done.issued_ns,
            took_ns: at_ns.saturating_sub(done.issued_ns),
            line: done.line,
        };
        let is_write = operation == Action::Write;
        let durability =
            Durability { preflush: is_write && done.letters.preflush, fua: is_write && done.letters.fua };
        match shape.validate_shape() {
            Ok(request) => self.taken.push((number, Measured { durability, ..request })),
            Err(_) => self.account.leave_out(OUT_OF_RANGE, UnreadRequest { bytes: 0, ..done.as_unread() }),
        }
    }

    pub(super) fn into_lines(mut self) -> ReadLines {
        let mut incomplete: Vec<OpenRequest> = self.pending.into_values().collect();
        incomplete.sort_by_key(|pending| pending.line);
        for pending in incomplete {
            self.account.leave_out(UNDERWAY, pending.as_unread());
        }
        for pending in self.requeued.into_values().flatten() {
            self.account.leave_out(REQUEUED, pending.as_unread());
        }
        let mut notes = Vec::new();
        if self.requeues > 0 {
            notes.push(format!(
                "{} times the driver put a request back into the queue; its time is that of its last issue.",
                self.requeues
            ));
        }
        if self.parts > 0 {
            notes.push(format!(
                "{} requests were completed in parts; their time is that of the last part.",
                self.parts
            ));
        }
        self.taken.sort_by_key(|(number, _)| *number);
        let requests = self.taken.into_iter().map(|(_, request)| request).collect();
        ReadLines { notes, ..ReadLines::new(requests, self.account) }
    }
}

/// Whether a request is known by its place from the beginning.
fn is_placed(operation: BlockOperation, sectors: u64) -> bool {
    sectors > 0 && !matches!(operation, BlockOperation::ZoneAppend | BlockOperation::Other)
}

/// Takes an event in.
pub(super) fn follow_event(tracker: &mut RequestTracker, event: &BlockEvent<'_>) {
    let queued = tracker.follows_bios;
    match event.kind {
        BlockEventKind::Queued if queued => tracker.issue_request(event),
        BlockEventKind::Issued if !queued => tracker.issue_request(event),
        BlockEventKind::Requeued if !queued => tracker.requeue_request(event),
        BlockEventKind::Completed { error } => tracker.complete_request(event, error),
        _ => {}
    }
}
