//! What of a run's folder goes into no merge.

use std::path::PathBuf;

use fsverdict_text::Reason;

/// A file that is no whole block, and why it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Below the run's folder.
    pub path: PathBuf,
    pub why: Reason,
}
