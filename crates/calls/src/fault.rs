//! The faults of a trace of calls: a name or a call that what comes before it does not allow, and a line of its text that is
//! neither.

use std::borrow::Cow;

use fsverdict_text::quote_start;

use super::{LARGEST_CALL, MOST_CALLS, MOST_NAMES, MOST_OPEN};

/// A name or a call that the names and calls before it do not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    #[error("it has {0} names, and may have {MOST_NAMES}")]
    TooManyNames(usize),
    #[error("name {number}: {fault}")]
    Name { number: usize, fault: &'static str },
    #[error("there is no name {0}")]
    UnknownName(u32),
    #[error("name {0} is there already")]
    NameExists(u32),
    #[error("the parent of name {0} is not a directory")]
    ParentIsNoDirectory(u32),
    #[error("name {0} is no file")]
    NotFile(u32),
    #[error("name {0} is no directory")]
    NotDirectory(u32),
    #[error("name {0} is no empty directory")]
    NotEmptyDirectory(u32),
    #[error("name {from} is no file, or {to} a directory")]
    Rename { from: u32, to: u32 },
    #[error("name {from} is no file, or {to} is there already")]
    Link { from: u32, to: u32 },
    #[error("file {0} is not open")]
    NotOpen(u32),
    #[error("file {0} is open already")]
    OpenAlready(u32),
    #[error("more than {MOST_OPEN} files are open at once")]
    TooManyOpen,
    #[error("it reads up to {end} of a file of {size} bytes")]
    ReadsBeyondEnd { end: u64, size: u64 },
    #[error("no call is of {length} bytes from {offset} on; it may be {LARGEST_CALL}")]
    MovedRange { offset: u64, length: u64 },
    #[error("no call copies {length} bytes from {offset} on")]
    CopiedRange { offset: u64, length: u64 },
    #[error("the bytes that it copies overlap")]
    CopyOverlaps,
    #[error("it makes a file larger than 1 PiB")]
    FileTooLarge,
    #[error("it sets no or too many bytes aside")]
    ReservedRange,
}

/// A line of a trace's text that is neither a name nor a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallLineFault {
    #[error("a number is missing")]
    NumberMissing,
    #[error("a pause is before a call")]
    CallMissing,
    /// A word that does not fit its place, and why it does not.
    #[error("{} {fault}", quote_start(word))]
    Word { word: String, fault: Cow<'static, str> },
    #[error("there is no call {}", quote_start(.0))]
    UnknownCall(String),
    #[error("{0} is no number of a file or name")]
    LargeNumber(u64),
    #[error("no name has {0} bytes")]
    LongName(u64),
    #[error("a pause of {0} µs is longer than an hour")]
    LongPause(u64),
    #[error("{times} calls of {length} bytes are out of bounds")]
    RepeatedCalls { times: usize, length: u64 },
    #[error("names come before calls")]
    NameAfterCall,
    #[error("more than {MOST_NAMES} names or {MOST_CALLS} calls")]
    TooMany,
}

impl CallLineFault {
    pub(super) fn of_word(word: &str, fault: impl Into<Cow<'static, str>>) -> Self {
        Self::Word { word: word.to_owned(), fault: fault.into() }
    }
}
