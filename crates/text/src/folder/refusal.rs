//! Why a file or folder of a run is not used, and what to do about it, as an error of input and output.

use std::{fmt, io};

/// What [`crate::Hinted`] finds in an error of input and output that was made here.
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

/// An error that says what is wrong and what to do.
pub(super) fn refuse(what: impl Into<String>, hint: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, FolderRefusal { what: what.into(), hint: hint.into() })
}
