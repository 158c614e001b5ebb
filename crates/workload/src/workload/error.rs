//! Why an operation could not be done, or was not done right.

use hdrhistogram::CreationError;
use thiserror::Error;

use crate::dataset::{CompareError, DatasetError, IoFailure};

/// Why an operation failed. The text names the operation, the path, and where there is one a remedy.
#[derive(Debug, Error)]
pub enum WorkError {
    #[error(
        "{operation}: dataset `{dataset}` has not been written into {at}; hint: put a {before} phase before it"
    )]
    NotWritten { operation: &'static str, dataset: String, at: String, before: &'static str },
    #[error(
        "{operation}: {at} already exists; hint: remove it in an earlier phase, or give this phase another `into`"
    )]
    AlreadyThere { operation: &'static str, at: String },
    #[error("{operation}: works on the device or the whole filesystem, not in a folder")]
    NotInFolder { operation: &'static str },
    #[error("{operation}: no snapshot is left; hint: put a snapshot.create phase before it")]
    NoSnapshot { operation: &'static str },
    #[error("{operation}: cannot use dataset `{dataset}`, a {kind}; hint: it needs a {takes}")]
    WrongKind { operation: &'static str, dataset: String, kind: &'static str, takes: String },
    #[error(
        "{operation}: into = \"{into}\" is not below the mount point; hint: give a relative path without `.` and `..`"
    )]
    BadInto { operation: &'static str, into: String },
    #[error("{operation}: cannot {failure}")]
    Io { operation: &'static str, failure: IoFailure },
    #[error(
        "{operation}: {problem}; hint: if a command of the plan changed it, read it with a command, too: operations verify their own data"
    )]
    Wrong { operation: &'static str, problem: CompareError },
    #[error(
        "{operation}: {at}: {bytes} bytes were written, but it is not full; hint: empty, identical or highly compressible files fill no space"
    )]
    NeverFull { operation: &'static str, at: String, bytes: u64 },
    #[error("{operation}: {at}: saw {saw}, but there must be {expected}")]
    Miscounted { operation: &'static str, at: String, saw: String, expected: String },
    #[error("one of its threads failed: {reason}")]
    Thread { reason: String },
    #[error(
        "{operation}: some files of the tree are links; hint: a changed file would also change under its other name: remove `hard_links` from the dataset"
    )]
    Linked { operation: &'static str },
    #[error(
        "{operation}: the former content of {at} is not known; hint: a built-in operation must have written it"
    )]
    Unknown { operation: &'static str, at: String },
    #[error(
        "{operation}: cannot keep several requests in flight: {reason}; hint: this kernel lacks or forbids io_uring (kernel.io_uring_disabled): omit `depth`, and use `threads`"
    )]
    Ring { operation: &'static str, reason: String },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error("cannot make a latency histogram: {0}")]
    Histogram(#[from] CreationError),
}
