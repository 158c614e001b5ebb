//! Reads an event of the kernel's block layer, as blkparse and perf print it, and the letters in it.

use super::line_account::LineOutcome;

/// An event in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockEventKind {
    /// A bio came in. Devices without a queue of their own (md, dm, pmem) have no other beginning.
    Queued,
    /// The driver was given a request.
    Issued,
    /// The driver gave it back, to be issued again.
    Requeued,
    /// It was done, or a part of it; an error is not 0.
    Completed { error: i64 },
}

/// One line that is about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockEvent<'a> {
    pub(super) line: usize,
    pub(super) device: &'a str,
    pub(super) kind: BlockEventKind,
    pub(super) at_ns: u64,
    /// Digits behind the point of its time. A line with others than most is cut.
    pub(super) decimals: usize,
    /// The letters for the operation and its flags.
    pub(super) rwbs: &'a str,
    pub(super) sector: u64,
    pub(super) sectors: u64,
}

/// A line that was parsed: an event, or the outcome of a line without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockLine<'a> {
    Event(BlockEvent<'a>),
    Other(LineOutcome),
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockOperation {
    Read,
    Write,
    /// A write to a place within a zone that the device chooses, and reports on completion.
    ZoneAppend,
    /// A flush of the cache without data.
    Flush,
    Discard,
    /// A command that neither reads nor writes: a driver's own, zone management.
    Other,
}

/// The operation, and whether the cache is emptied before it and its own data are durable when it is done (FUA).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockLetters {
    pub(super) operation: BlockOperation,
    pub(super) preflush: bool,
    pub(super) fua: bool,
}

impl BlockLetters {
    /// Of the kernel's letters (`blk_fill_rwbs`): F before the operation is a pre-flush, F behind it is FUA; then A read-ahead,
    /// S sync, M metadata.
    pub(super) fn new(rwbs: &str, sectors: u64) -> Self {
        let (preflush, rest) = match rwbs.strip_prefix('F') {
            Some(rest) => (true, rest),
            None => (false, rwbs),
        };
        let mut letters = rest.chars();
        let first = letters.next();
        let second = letters.next();
        let operation = match first {
            // A flush has no data, whichever operation carries it.
            None | Some('F' | 'N' | 'W' | 'S' | 'M') if preflush && sectors == 0 => BlockOperation::Flush,
            Some('W') if sectors == 0 => BlockOperation::Flush,
            Some('R') if sectors > 0 => BlockOperation::Read,
            Some('W') => BlockOperation::Write,
            Some('D') => BlockOperation::Discard,
            Some('Z') if second == Some('A') => BlockOperation::ZoneAppend,
            _ => BlockOperation::Other,
        };
        let fua = operation == BlockOperation::Write && second == Some('F');
        Self { operation, preflush, fua }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockLetters, BlockOperation};

    #[test]
    fn letters_are_an_operation_with_its_flags() {
        for (rwbs, sectors, operation, preflush, fua) in [
            ("R", 8, BlockOperation::Read, false, false),
            ("RA", 8, BlockOperation::Read, false, false),
            ("RSM", 8, BlockOperation::Read, false, false),
            ("W", 8, BlockOperation::Write, false, false),
            ("WS", 8, BlockOperation::Write, false, false),
            ("WFS", 8, BlockOperation::Write, false, true),
            ("WFSM", 8, BlockOperation::Write, false, true),
            ("FWFS", 8, BlockOperation::Write, true, true),
            ("FWS", 8, BlockOperation::Write, true, false),
            ("FWS", 0, BlockOperation::Flush, true, false),
            ("WS", 0, BlockOperation::Flush, false, false),
            ("FN", 0, BlockOperation::Flush, true, false),
            ("FFN", 0, BlockOperation::Flush, true, false),
            ("FF", 0, BlockOperation::Flush, true, false),
            ("F", 0, BlockOperation::Flush, true, false),
            ("D", 8, BlockOperation::Discard, false, false),
            ("DS", 8, BlockOperation::Discard, false, false),
            ("DE", 8, BlockOperation::Discard, false, false),
            ("ZA", 8, BlockOperation::ZoneAppend, false, false),
            ("ZAS", 8, BlockOperation::ZoneAppend, false, false),
            ("ZR", 0, BlockOperation::Other, false, false),
            ("ZF", 0, BlockOperation::Other, false, false),
            ("N", 0, BlockOperation::Other, false, false),
            ("N", 8, BlockOperation::Other, false, false),
        ] {
            let found = BlockLetters::new(rwbs, sectors);
            assert_eq!(
                (found.operation, found.preflush, found.fua),
                (operation, preflush, fua),
                "{rwbs} {sectors}"
            );
        }
    }
}
