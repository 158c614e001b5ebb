//! The faults of a recording of requests: of one of its lines, or of the whole.

use fsverdict_text::{Hinted, Reason, quote_start};

/// A trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFault {
    #[error("line {line}: {fault}")]
    Line { line: usize, fault: LineFault },
    #[error("{what}")]
    Whole { what: String, hint: String },
}

impl Hinted for TraceFault {
    fn hint(&self) -> Option<String> {
        match self {
            TraceFault::Line { .. } => None,
            TraceFault::Whole { hint, .. } => Some(hint.clone()),
        }
    }

    fn reason(&self) -> Reason {
        Reason::new(self, self.hint().unwrap_or_default())
    }
}

/// A line that is no request of its form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    #[error("{} is no whole number", quote_start(.0))]
    NoWholeNumber(String),
    #[error("{} is no time", quote_start(.0))]
    NoTime(String),
    #[error("{} is no error of a completion", quote_start(.0))]
    NoCompletionError(String),
    #[error("no request is of {sectors} sectors from {sector} on")]
    Range { sector: u64, sectors: u64 },
    #[error("R or W is wanted first, not {}", quote_start(.0))]
    UnknownKind(String),
    #[error("sector, sectors, µs taken and µs until the next are wanted; there are {0} numbers")]
    NumberCount(usize),
    #[error("there is no direction {}", quote_start(.0))]
    UnknownDirection(String),
    #[error("it has {0} columns, and most lines have {1}")]
    ColumnCount(usize, usize),
    #[error("it has no columns of biosnoop's, or two of them touch")]
    NoColumns,
    #[error("its latency {0} has other decimals than those of most lines")]
    CutDecimals(String),
    #[error("its time has {0} decimals, and that of most lines {1}")]
    CutStamp(usize, usize),
    #[error("it shows {bytes} bytes and {sectors} sectors, which disagree: one of them is cut")]
    SizesDisagree { bytes: u64, sectors: u64 },
    #[error("it is no event of the block layer, and no other line that is known")]
    NoEvent,
    #[error("it does not end as an event does: it is cut, or several lines are joined")]
    CutEvent,
    #[error("offset and length must be multiples of a sector, 512 bytes")]
    PartOfSector,
    #[error("the event does not say where: sector + sectors")]
    NoPlace,
    /// The program was told to record something else than each request; says what to tell it.
    #[error("{0}")]
    NoSingleRequests(&'static str),
}
