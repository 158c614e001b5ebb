//! The requests inside a device, each in a slot that is used again.

use std::ops::{Index, IndexMut};

use super::cache::Extent;
use super::medium::AccessSpan;
use super::request::Request;

/// A request inside a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceJob {
    pub(super) request: Request,
    /// The part of the device that it concerns; empty where a request lies beyond the end.
    pub(super) extent: Extent,
    pub(super) submitted_ns: u64,
    /// Time at which the medium began to deliver the data of a read.
    pub(super) begin_ns: u64,
    /// Time in which the data of a write arrives, where the write begins before all of it is there.
    pub(super) data: Option<AccessSpan>,
    /// Sectors of a write that the cache has accepted.
    pub(super) taken: u64,
}

/// The slots, and whether each is in use.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Vec<(DeviceJob, bool)>,
    free: Vec<usize>,
}

impl Jobs {
    /// Adds a request to a device of this many sectors; returns its slot.
    pub(super) fn add_job(&mut self, request: Request, submitted_ns: u64, device_sectors: u64) -> usize {
        let sector = request.sector.min(device_sectors);
        let sectors = u64::from(request.sectors).min(device_sectors - sector);
        let extent = Extent { sector, sectors };
        let entry = (DeviceJob { request, extent, submitted_ns, begin_ns: 0, data: None, taken: 0 }, true);
        if let Some(slot) = self.free.pop() {
            self.slots[slot] = entry;
            slot
        } else {
            self.slots.push(entry);
            self.slots.len() - 1
        }
    }

    /// Removes a request and frees its slot.
    pub(super) fn remove_job(&mut self, slot: usize) -> DeviceJob {
        self.slots[slot].1 = false;
        self.free.push(slot);
        self.slots[slot].0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DeviceJob> {
        self.slots.iter().filter(|(_, is_used)| *is_used).map(|(job, _)| job)
    }
}

impl Index<usize> for Jobs {
    type Output = DeviceJob;

    fn index(&self, slot: usize) -> &DeviceJob {
        &self.slots[slot].0
    }
}

impl IndexMut<usize> for Jobs {
    fn index_mut(&mut self, slot: usize) -> &mut DeviceJob {
        &mut self.slots[slot].0
    }
}
