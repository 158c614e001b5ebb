//! Counts the entries that were left out of a copy.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The entries that were left out of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Files and directories that this user may not read, or that the disk failed to return.
    pub unreadable: u64,
    /// Sockets, pipes and devices.
    pub special: u64,
    /// Things that disappeared during the copy.
    pub vanished: u64,
    /// Directories on which another filesystem is mounted.
    pub mounts: u64,
}

impl Skipped {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.unreadable, "unreadable"),
            (self.special, "sockets, pipes or devices"),
            (self.vanished, "gone during the copy"),
            (self.mounts, "other filesystems mounted inside"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if parts.is_empty() {
            return formatter.write_str("nothing left out");
        }
        write!(formatter, "left out: {}", parts.join(", "))
    }
}
