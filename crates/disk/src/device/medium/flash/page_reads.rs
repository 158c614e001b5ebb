//! Finds the pages of an extent and reads them: through the cached mapping table, and ahead into the buffer.

use super::super::super::cache::Extent;
use super::FlashMedium;
use super::layout::UNIT_SECTORS;
use super::map_cache::SEGMENT_UNITS;

/// Number of the page in which the first segment of the mapping table lies, beyond all pages of data.
const FIRST_MAP_PAGE: u64 = 1 << 40;

impl FlashMedium {
    /// Reads a page and transfers `bytes` of it; returns the time at which they have arrived.
    pub(super) fn read_page(&mut self, page: u64, at_ns: u64, bytes: u64) -> u64 {
        let fast_cells = self.fast_cells.as_ref().filter(|fast_cells| fast_cells.holds(page));
        let cells_ns = fast_cells.map_or(self.parameters.read_ns, |fast_cells| fast_cells.parameters.read_ns);
        self.dies.read_page(page, at_ns, bytes, cells_ns)
    }

    /// The pages that hold the logical units from `first` to `end`, in their order, and the number of units in each.
    pub(super) fn pages_of(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let mut pages: Vec<(u64, u64)> = Vec::new();
        let mut is_next = false;
        for logical in first..end {
            let page = self.physical_unit(logical).map(|physical| physical / self.page_units);
            match (page, pages.last_mut()) {
                (Some(page), Some(last)) if is_next && last.0 == page => last.1 += 1,
                (Some(page), _) => pages.push((page, 1)),
                (None, _) => {}
            }
            is_next = page.is_some();
        }
        pages
    }

    /// Reads the pages of an extent into the controller's buffer.
    pub(super) fn read_pages_ahead(&mut self, at_ns: u64, extent: Extent) {
        let end = ((extent.sector + extent.sectors) / UNIT_SECTORS).min(self.units);
        for (page, _) in self.pages_of(extent.sector / UNIT_SECTORS, end) {
            if self.read_ahead.ready_ns(page).is_none() {
                let ready_ns = self.read_page(page, at_ns, self.parameters.page_bytes);
                self.read_ahead.insert(page, ready_ns);
            }
        }
    }

    /// Looks up where the units of an extent are; returns the time at which that is known.
    pub(super) fn look_up(&mut self, at_ns: u64, extent: Extent, write: bool) -> u64 {
        let Some(map_cache) = &mut self.map_cache else { return at_ns };
        let end = (extent.sector + extent.sectors).div_ceil(UNIT_SECTORS);
        let (mut known_ns, mut dropped) = (at_ns, 0);
        for segment in extent.sector / UNIT_SECTORS / SEGMENT_UNITS..end.div_ceil(SEGMENT_UNITS) {
            let lookup = map_cache.look_up(segment, write);
            if lookup.is_miss {
                let page = FIRST_MAP_PAGE + segment;
                let bytes = UNIT_SECTORS * 512;
                known_ns = known_ns.max(self.dies.read_page(page, at_ns, bytes, self.parameters.read_ns));
            }
            dropped += u64::from(lookup.writes_segment);
        }
        // Changed segments fill pages like data. Nothing waits for them.
        for _ in 0..dropped {
            self.append_unit(at_ns, None);
        }
        known_ns
    }
}
