//! The requests inside a device, each in a slot of its own that is used again.

use std::ops::{Index, IndexMut};

use super::cache::Extent;
use super::medium::AccessSpan;
use super::request::Request;

#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceJob {
    pub(super) request: Request,
    /// What it is about, within the device: nothing, where a request lies beyond the end.
    pub(super) extent: Extent,
    pub(super) submitted_ns: u64,
    /// When the medium began to deliver what a read wants.
    pub(super) begin_ns: u64,
    /// From when until when its data come, where it is begun before they are there.
    pub(super) data: Option<AccessSpan>,
    /// How much of a write the cache has taken, in sectors.
    pub(super) taken: u64,
}

#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Vec<(DeviceJob, bool)>,
    free: Vec<usize>,
}

impl Jobs {
    /// Takes a request in, on a device of this many sectors; returns its slot.
    pub(super) fn enter(&mut self, request: Request, submitted_ns: u64, device_sectors: u64) -> usize {
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

    pub(super) fn leave(&mut self, slot: usize) -> DeviceJob {
        self.slots[slot].1 = false;
        self.free.push(slot);
        self.slots[slot].0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DeviceJob> {
        self.slots.iter().filter(|(_, inside)| *inside).map(|(job, _)| job)
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
