//! What a loss of power at a moment may take.
//!
//! The rule is that of dm-log-writes (Linux, Documentation/admin-guide/device-mapper/log-writes.rst): what was answered
//! before a flush was sent is durable once that flush is answered; nothing else is promised.

use super::super::request::Operation;
use super::record::Record;

/// What became of a write, when power was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It had not been submitted.
    NotYet,
    /// It had been submitted, and nothing was promised: all of it, nothing or a part may be there.
    Open,
    /// A flush that began after it was answered has been answered.
    Durable,
}

/// The fate of each record, flushes and reads included, when power is lost at this moment. `protected`: the device has
/// power-loss protection, so that whatever it has answered is durable.
pub fn fate(records: &[Record], at_ns: u64, protected: bool) -> Vec<Fate> {
    let answered_by = |record: &Record, by_ns| record.completed_ns.is_some_and(|done_ns| done_ns <= by_ns);
    // Of the flushes that were answered in time, the one that was sent last covers what the others do.
    let flushes = records.iter().filter(|record| record.operation == Operation::Flush);
    let covered_ns = flushes.filter(|flush| answered_by(flush, at_ns)).map(|flush| flush.submitted_ns).max();
    records
        .iter()
        .map(|record| match covered_ns {
            _ if record.submitted_ns > at_ns => Fate::NotYet,
            _ if protected && answered_by(record, at_ns) => Fate::Durable,
            Some(covered_ns) if answered_by(record, covered_ns) => Fate::Durable,
            _ => Fate::Open,
        })
        .collect()
}
