//! The part of the mapping table that a device without memory of its own for all of it has at hand: a cache of
//! segments, of which the least recently used one is dropped.

use std::collections::{BTreeMap, HashMap};

/// Logical units whose entries fill a segment of 4 KiB, at 4 bytes each.
pub(super) const SEGMENT_UNITS: u64 = 1024;

/// What a look-up of a segment takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MapLookup {
    /// The segment must be read from flash.
    pub(super) is_miss: bool,
    /// A changed segment was dropped, and must be written to flash.
    pub(super) writes_segment: bool,
}

/// The cached segments.
#[derive(Debug)]
pub(super) struct MapCache {
    most_segments: usize,
    /// For each segment the number of its last use, and whether it was changed.
    segments: HashMap<u64, (u64, bool)>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

impl MapCache {
    pub(super) fn new(most_segments: usize) -> MapCache {
        MapCache { most_segments, segments: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Looks up a segment, and changes it if it is for a write.
    pub(super) fn look_up(&mut self, segment: u64, write: bool) -> MapLookup {
        let mut lookup = MapLookup::default();
        let mut is_changed = write;
        if let Some((last_use, changed)) = self.segments.remove(&segment) {
            self.by_use.remove(&last_use);
            is_changed |= changed;
        } else {
            lookup.is_miss = true;
            if self.segments.len() >= self.most_segments
                && let Some((_, oldest)) = self.by_use.pop_first()
            {
                lookup.writes_segment = self.segments.remove(&oldest).is_some_and(|(_, changed)| changed);
            }
        }
        self.uses += 1;
        self.segments.insert(segment, (self.uses, is_changed));
        self.by_use.insert(self.uses, segment);
        lookup
    }
}

#[cfg(test)]
mod tests {
    use super::{MapCache, MapLookup};

    #[test]
    fn the_least_recently_used_segment_is_dropped_and_written_if_it_was_changed() {
        let mut cache = MapCache::new(2);
        let (hit, miss) = (MapLookup::default(), MapLookup { is_miss: true, writes_segment: false });
        assert_eq!(
            [(1, false), (2, true), (1, false)].map(|(at, write)| cache.look_up(at, write)),
            [miss, miss, hit]
        );
        // 2 is the older one, and was changed.
        assert_eq!(cache.look_up(3, false), MapLookup { is_miss: true, writes_segment: true });
        assert_eq!(cache.look_up(1, false), hit);
        assert_eq!(cache.look_up(2, false), miss);
    }
}
