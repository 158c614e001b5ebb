//! The content of a staged folder, in the form in which a trial records it: `3 files, 1 MiB (digest 0123456789abcdef)`.

use std::fmt;

use super::HIDDEN_DIGEST;

/// How much a folder held, and a digest of its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderContent {
    /// The number of files and bytes.
    pub amount: String,
    pub digest: String,
}

impl FolderContent {
    /// The content of this record; `None` where it has no digest.
    pub fn parse(text: &str) -> Option<Self> {
        let (amount, digest) = text.strip_suffix(')')?.split_once(" (digest ")?;
        Some(FolderContent { amount: amount.to_owned(), digest: digest.to_owned() })
    }

    /// Whether the record is of a bundle, in which digests are replaced.
    pub fn has_hidden_digest(&self) -> bool {
        self.digest.starts_with(HIDDEN_DIGEST)
    }
}

impl fmt::Display for FolderContent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (digest {})", self.amount, self.digest)
    }
}
