//! Models the buffer of a drive: extents that it has read, and, if its firmware keeps them, extents that were written.

use std::collections::VecDeque;

use super::super::super::cache::Extent;

/// The buffered extents.
#[derive(Debug)]
pub(super) struct DriveBuffer {
    max_extents: usize,
    /// Start and end of each extent, the newest last.
    extents: VecDeque<(u64, u64)>,
}

impl DriveBuffer {
    pub(super) fn new(max_extents: usize) -> DriveBuffer {
        DriveBuffer { max_extents, extents: VecDeque::new() }
    }

    /// Adds an extent, and drops the oldest if there are too many.
    pub(super) fn keep(&mut self, from: u64, to: u64) {
        self.extents.push_back((from, to));
        if self.extents.len() > self.max_extents {
            self.extents.pop_front();
        }
    }

    /// Whether one buffered extent contains all of these sectors.
    pub(super) fn holds(&self, extent: Extent) -> bool {
        let end = extent.sector + extent.sectors;
        self.extents.iter().any(|(from, to)| *from <= extent.sector && end <= *to)
    }

    /// Drops the extents that a write makes stale.
    pub(super) fn forget(&mut self, extent: Extent) {
        let end = extent.sector + extent.sectors;
        self.extents.retain(|(from, to)| end <= *from || *to <= extent.sector);
    }
}
