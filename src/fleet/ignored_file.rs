//! Files in the folder of a run that are left out of a merge.

use std::path::PathBuf;

use fsverdict_text::Reason;

/// A file that is not a complete block, and why it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredFile {
    /// The path below the run's folder.
    pub path: PathBuf,
    pub why: Reason,
}
