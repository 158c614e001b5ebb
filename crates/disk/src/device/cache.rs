//! The volatile write cache: data that a device has accepted from the host and not yet written to the medium.

use std::collections::BTreeMap;

use super::parameters;
use super::request::Action;

/// A range of sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) sector: u64,
    pub(super) sectors: u64,
}

/// Dirty extents in the order of their sectors, merged where they touch.
#[derive(Debug)]
pub(super) struct VolatileCache {
    pub(super) parameters: parameters::CacheParameters,
    /// Maps the first sector of each dirty extent to its end.
    dirty: BTreeMap<u64, u64>,
    pub(super) dirty_sectors: u64,
    /// Sectors on their way to the medium; they still take up room.
    destaging_sectors: u64,
    /// Time at which the cache last became dirty.
    pub(super) dirty_since_ns: u64,
    /// Whether anything was written since the last flush; otherwise the next flush has nothing to do.
    pub(super) flush_is_due: bool,
    /// End of the last write, and of the last request, in sectors.
    last_end: u64,
    last_request_end: u64,
    /// Whether the last request was a read.
    was_read: bool,
}

impl VolatileCache {
    pub(super) fn new(parameters: parameters::CacheParameters) -> VolatileCache {
        VolatileCache {
            parameters,
            dirty: BTreeMap::new(),
            dirty_sectors: 0,
            destaging_sectors: 0,
            dirty_since_ns: 0,
            flush_is_due: false,
            last_end: 0,
            last_request_end: 0,
            was_read: false,
        }
    }

    /// Time that the firmware takes to accept a request, in nanoseconds. It depends on the request before, so that it
    /// must be asked once for each request, in their order. `is_on_track` says whether two sectors lie on a track.
    pub(super) fn taking_ns(
        &mut self,
        operation: Action,
        Extent { sector, sectors }: Extent,
        is_on_track: impl Fn(u64, u64) -> bool,
    ) -> u64 {
        let before = std::mem::replace(&mut self.last_request_end, sector + sectors);
        let after_read = std::mem::replace(&mut self.was_read, operation == Action::Read);
        if operation != Action::Write {
            return 0;
        }
        let is_sequential = std::mem::replace(&mut self.last_end, sector + sectors) == sector;
        let is_near = self.parameters.onwards_on_track && is_on_track(before, sector);
        let (after_write_ns, after_read_ns) = match is_sequential || is_near {
            true => self.parameters.onwards_ns,
            false => self.parameters.elsewhere_ns,
        };
        if after_read { after_read_ns } else { after_write_ns }
    }

    /// Whether all data is on the medium.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty_sectors + self.destaging_sectors == 0
    }

    /// Sectors that the cache can still accept.
    pub(super) fn free_sectors(&self) -> u64 {
        if self.dirty.len() >= self.parameters.extents {
            return 0;
        }
        self.parameters.sectors.saturating_sub(self.dirty_sectors + self.destaging_sectors)
    }

    /// Whether the cache is full enough to write back without waiting for more data.
    pub(super) fn is_half_full(&self) -> bool {
        self.dirty_sectors * 2 >= self.parameters.sectors || self.dirty.len() * 2 >= self.parameters.extents
    }

    /// Whether there is no room, and no write-back in progress that would make some.
    pub(super) fn is_stuck(&self) -> bool {
        self.destaging_sectors == 0 && self.free_sectors() == 0
    }

    /// Adds an extent; older data of it is replaced.
    pub(super) fn insert(&mut self, now_ns: u64, extent: Extent) {
        if self.dirty.is_empty() {
            self.dirty_since_ns = now_ns;
        }
        self.flush_is_due = true;
        let (mut start, mut end) = (extent.sector, extent.sector + extent.sectors);
        while let Some((&old, &old_end)) = self.dirty.range(..=end).next_back() {
            if old_end < start {
                break;
            }
            self.dirty.remove(&old);
            self.dirty_sectors -= old_end - old;
            start = start.min(old);
            end = end.max(old_end);
        }
        self.dirty.insert(start, end);
        self.dirty_sectors += end - start;
    }

    /// Drops the data of an extent.
    pub(super) fn remove(&mut self, extent: Extent) {
        let (start, end) = (extent.sector, extent.sector + extent.sectors);
        while let Some((&old, &old_end)) = self.dirty.range(..end).next_back() {
            if old_end <= start {
                break;
            }
            self.dirty.remove(&old);
            if old < start {
                self.dirty.insert(old, start);
            }
            if old_end > end {
                self.dirty.insert(end, old_end);
            }
            self.dirty_sectors -= old_end.min(end) - old.max(start);
        }
    }

    /// Whether all sectors of an extent are dirty.
    pub(super) fn is_dirty(&self, extent: Extent) -> bool {
        let before = self.dirty.range(..=extent.sector).next_back();
        before.is_some_and(|(_, end)| *end >= extent.sector + extent.sectors)
    }

    /// Dirty extents in the order of an elevator: from `sector` upwards, then from the first.
    pub(super) fn elevator_order(&self, sector: u64) -> impl Iterator<Item = Extent> {
        let extent = |(start, end): (&u64, &u64)| Extent { sector: *start, sectors: end - start };
        self.dirty.range(sector..).map(extent).chain(self.dirty.range(..sector).map(extent))
    }

    /// Takes up to `max_sectors` sectors from the start of a dirty extent to write them to the medium.
    pub(super) fn take_dirty(&mut self, extent: Extent, max_sectors: u64) -> Extent {
        let sectors = extent.sectors.min(max_sectors);
        self.dirty.remove(&extent.sector);
        if sectors < extent.sectors {
            self.dirty.insert(extent.sector + sectors, extent.sector + extent.sectors);
        }
        self.dirty_sectors -= sectors;
        self.destaging_sectors += sectors;
        Extent { sector: extent.sector, sectors }
    }

    /// Releases the room of sectors that have reached the medium.
    pub(super) fn release_sectors(&mut self, sectors: u64) {
        self.destaging_sectors -= sectors;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{Extent, VolatileCache};
    use crate::device::parameters;

    fn parameters() -> parameters::CacheParameters {
        let protected = false;
        let (onwards_ns, elsewhere_ns) = ((0, 0), (0, 0));
        let (sectors, extents) = (64, 1000);
        parameters::CacheParameters {
            sectors,
            extents,
            window: 1,
            delay_ns: 0,
            onwards_ns,
            onwards_on_track: false,
            elsewhere_ns,
            flush_ns: 0,
            protected,
            announced: true,
        }
    }

    fn extent() -> impl Strategy<Value = (bool, u64, u64)> {
        (any::<bool>(), 0_u64..100, 1_u64..20)
    }

    proptest! {
        /// Compares the cache with the simplest model, which has one flag for each sector.
        #[test]
        fn stretches_are_what_flags_would_be(steps in prop::collection::vec(extent(), 1..60)) {
            let mut cache = VolatileCache::new(parameters());
            let mut flags = [false; 128];
            for (insert, sector, sectors) in steps {
                let range = sector as usize..(sector + sectors) as usize;
                let extent = Extent { sector, sectors };
                if insert { cache.insert(0, extent) } else { cache.remove(extent) }
                flags[range.clone()].fill(insert);
                prop_assert_eq!(cache.is_dirty(extent), flags[range].iter().all(|flag| *flag));
                prop_assert_eq!(cache.dirty_sectors, flags.iter().filter(|flag| **flag).count() as u64);
                let swept: Vec<Extent> = cache.elevator_order(50).collect();
                prop_assert_eq!(swept.iter().map(|extent| extent.sectors).sum::<u64>(), cache.dirty_sectors);
                prop_assert!(swept.iter().all(|extent| flags[extent.sector as usize]));
            }
        }
    }
}
