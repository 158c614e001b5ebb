//! Refusals to use a file or folder of a run, with a hint, as errors of type `io::Error`.

use std::{fmt, io};

/// The inner error of an `io::Error` that was created here, in which [`crate::Hinted`] finds the hint.
#[derive(Debug)]
pub(crate) struct FolderRefusal {
    what: String,
    pub(crate) hint: String,
}

impl fmt::Display for FolderRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for FolderRefusal {}

/// Creates an error with a statement and a hint.
pub(super) fn refusal_error(what: impl Into<String>, hint: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, FolderRefusal { what: what.into(), hint: hint.into() })
}
