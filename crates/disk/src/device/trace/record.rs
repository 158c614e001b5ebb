//! One request in a trace, and its encoding in bytes.

use super::super::request::{Action, Completion, Request};
use super::submitter::Submitter;

/// A traced request: its times, operation and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traced {
    /// Time of submission, in nanoseconds of the simulation clock.
    pub submitted_ns: u64,
    /// Time of completion, in nanoseconds; `None` if the trace ended before it.
    pub completed_ns: Option<u64>,
    pub operation: Action,
    /// Its first sector, of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
    pub flags: Flags,
    /// The thread that submitted it; `None` if the guest does not report that.
    pub by: Option<Submitter>,
}

/// Other properties of a request, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The request failed, and the guest got an error.
    pub const FAILED: Flags = Flags(1);
    /// Used in the encoding only: the submitter follows.
    const TOLD: Flags = Flags(2);

    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl Traced {
    pub fn done(completion: &Completion, flags: Flags) -> Traced {
        let Completion { request, submitted_ns, completed_ns } = *completion;
        Traced { completed_ns: Some(completed_ns), flags, ..Traced::underway(submitted_ns, &request) }
    }

    pub fn underway(submitted_ns: u64, request: &Request) -> Traced {
        let Request { operation, sector, sectors, .. } = *request;
        Traced {
            submitted_ns,
            completed_ns: None,
            operation,
            sector,
            sectors,
            flags: Flags::default(),
            by: None,
        }
    }

    pub fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }

    /// Time from submission to completion, in nanoseconds.
    pub fn latency_ns(&self) -> Option<u64> {
        self.completed_ns.map(|completed_ns| completed_ns.saturating_sub(self.submitted_ns))
    }
}

/// The record before, from which the next one is encoded as a difference.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    submitted_ns: u64,
    end: u64,
}

const UNDERWAY: u8 = 0x80;

/// Appends a record: operation and flags in a byte each, then differences from the record before as variable-length
/// numbers, with seven bits in each byte, the lowest first.
pub(super) fn encode(record: &Traced, before: &mut Before, bytes: &mut Vec<u8>) {
    let underway = if record.completed_ns.is_none() { UNDERWAY } else { 0 };
    bytes.push(record.operation as u8 | underway);
    bytes.push(record.flags.0 & !Flags::TOLD.0 | record.by.map_or(0, |_| Flags::TOLD.0));
    put(bytes, zigzag(record.submitted_ns.wrapping_sub(before.submitted_ns)));
    put(bytes, record.latency_ns().unwrap_or(0));
    put(bytes, zigzag(record.sector.wrapping_sub(before.end)));
    put(bytes, u64::from(record.sectors));
    if let Some(by) = record.by {
        put(bytes, u64::from(by.number()));
    }
    *before = Before { submitted_ns: record.submitted_ns, end: record.end() };
}

/// Decodes a record from the front of these bytes; `None` where they are invalid.
pub(super) fn decode(bytes: &mut &[u8], before: &mut Before) -> Option<Traced> {
    let [kind, flags, rest @ ..] = bytes else { return None };
    let (kind, flags) = (*kind, Flags(*flags));
    *bytes = rest;
    let operation = *Action::ALL.get(usize::from(kind & !UNDERWAY))?;
    let submitted_ns = before.submitted_ns.wrapping_add(unzigzag(take(bytes)?));
    let latency_ns = take(bytes)?;
    let sector = before.end.wrapping_add(unzigzag(take(bytes)?));
    let sectors = u32::try_from(take(bytes)?).ok()?;
    let by = match flags.has(Flags::TOLD) {
        true => Some(Submitter::told(u32::try_from(take(bytes)?).ok()?)?),
        false => None,
    };
    let flags = Flags(flags.0 & !Flags::TOLD.0);
    let completed_ns = if kind & UNDERWAY == 0 { Some(submitted_ns.checked_add(latency_ns)?) } else { None };
    let record = Traced { submitted_ns, completed_ns, operation, sector, sectors, flags, by };
    *before = Before { submitted_ns, end: record.end() };
    Some(record)
}

/// Maps small positive and negative differences to small numbers.
fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
