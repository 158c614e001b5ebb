//! What a medium wrote, of what it was asked to write.

use serde::{Deserialize, Serialize};

/// Writing as the medium sees it, from the device's start on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wear {
    /// Sectors that came from the host.
    pub host_sectors: u64,
    /// Sectors the medium wrote for them, its own tidying up included.
    pub medium_sectors: u64,
    /// Blocks or units erased, or bands rewritten.
    pub erases: u64,
    /// How often the most erased block was.
    pub most_erased: u64,
}

impl Wear {
    pub(super) fn wrote(&mut self, host_sectors: u64, medium_sectors: u64) {
        self.host_sectors += host_sectors;
        self.medium_sectors += medium_sectors;
    }
}
