//! Refusals to use a file or folder of a run, with a hint, as errors of type `io::Error`.

use std::{fmt, io};

/// The inner error of an `io::Error` that was created here; the messages of the program show its hint.
#[derive(Debug)]
pub struct FolderRefusal {
    what: String,
    pub hint: String,
}

impl fmt::Display for FolderRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for FolderRefusal {}

impl FolderRefusal {
    /// The refusal behind an error of this crate.
    pub fn find_in(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}

/// Creates an error with a statement and a hint.
pub(super) fn refusal_error(what: impl Into<String>, hint: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, FolderRefusal { what: what.into(), hint: hint.into() })
}
