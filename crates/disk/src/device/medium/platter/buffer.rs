//! The stretches a drive remembers: what it read, and where its firmware keeps that, what was written.

use std::collections::VecDeque;

use super::super::super::cache::Extent;

#[derive(Debug)]
pub(super) struct DriveBuffer {
    most: usize,
    /// Start to end, the newest last.
    stretches: VecDeque<(u64, u64)>,
}

impl DriveBuffer {
    pub(super) fn new(most: usize) -> DriveBuffer {
        DriveBuffer { most, stretches: VecDeque::new() }
    }

    pub(super) fn keep(&mut self, from: u64, to: u64) {
        self.stretches.push_back((from, to));
        if self.stretches.len() > self.most {
            self.stretches.pop_front();
        }
    }

    pub(super) fn holds(&self, extent: Extent) -> bool {
        let end = extent.sector + extent.sectors;
        self.stretches.iter().any(|(from, to)| *from <= extent.sector && end <= *to)
    }

    /// What is written makes everything old that it touches.
    pub(super) fn forget(&mut self, extent: Extent) {
        let end = extent.sector + extent.sectors;
        self.stretches.retain(|(from, to)| end <= *from || *to <= extent.sector);
    }
}
