//! Why an operation could not be done, or was not done right.

use hdrhistogram::CreationError;
use thiserror::Error;

use crate::dataset::{CompareError, DatasetError, IoFailure};

/// Why an operation failed. The text names the operation, the path, and where there is one a remedy.
#[derive(Debug, Error)]
pub enum WorkError {
    /// The dataset is not where the operation was to find it.
    #[error(
        "{operation}: dataset `{dataset}` has not been written into {at}; hint: put a {before} phase before it"
    )]
    NotWritten {
        /// The operation.
        operation: &'static str,
        /// Name of the dataset.
        dataset: String,
        /// Where it was looked for.
        at: String,
        /// The operation that writes it.
        before: &'static str,
    },
    /// There is something where the dataset is to be written.
    #[error(
        "{operation}: {at} is there already; hint: remove it in a phase before, or give this phase another `into`"
    )]
    AlreadyThere {
        /// The operation.
        operation: &'static str,
        /// Where.
        at: String,
    },
    /// An operation that is not one on a mounted filesystem.
    #[error("{operation}: works on the device, not on a mounted filesystem")]
    NotMounted {
        /// The operation.
        operation: &'static str,
    },
    /// A dataset of the wrong kind.
    #[error("{operation}: cannot work on dataset `{dataset}`, a {kind}; hint: it takes {takes}")]
    WrongKind {
        /// The operation.
        operation: &'static str,
        /// Name of the dataset.
        dataset: String,
        /// Its kind.
        kind: &'static str,
        /// The kinds it takes.
        takes: String,
    },
    /// A folder that is not below the mount point.
    #[error(
        "{operation}: into = \"{into}\" is not below the mount point; hint: give a relative path without `.` and `..`"
    )]
    BadInto {
        /// The operation.
        operation: &'static str,
        /// The folder.
        into: String,
    },
    /// A system call failed.
    #[error("{operation}: cannot {failure}")]
    Io {
        /// The operation.
        operation: &'static str,
        /// What failed.
        failure: IoFailure,
    },
    /// The data are not what they must be.
    #[error("{operation}: {problem}")]
    Wrong {
        /// The operation, or `verify`.
        operation: &'static str,
        /// The comparison that failed.
        problem: CompareError,
    },
    /// What the operation saw is not what is there.
    #[error("{operation}: {at}: saw {saw}, but there must be {expected}")]
    Miscounted {
        /// The operation.
        operation: &'static str,
        /// Where.
        at: String,
        /// What it saw.
        saw: String,
        /// What it must have seen.
        expected: String,
    },
    /// The dataset itself cannot be had.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A latency histogram cannot be made.
    #[error("cannot make a latency histogram: {0}")]
    Histogram(#[from] CreationError),
}
