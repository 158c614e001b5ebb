//! Counts the wear of a medium: the amounts that the host and the medium wrote.

use serde::{Deserialize, Serialize};

/// Amounts written since the device's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wear {
    /// Sectors that the host wrote.
    pub host_sectors: u64,
    /// Sectors that the medium wrote for them, including its own cleaning.
    pub medium_sectors: u64,
    /// Number of blocks or units erased, or of bands rewritten.
    pub erases: u64,
    /// Number of erases of the most erased block.
    pub most_erased: u64,
}

impl Wear {
    pub(super) fn add_writes(&mut self, host_sectors: u64, medium_sectors: u64) {
        self.host_sectors += host_sectors;
        self.medium_sectors += medium_sectors;
    }
}
