//! Flash behind a page-mapped translation layer: gathers writes into pages, stripes them over dies, and cleans erase
//! blocks.

mod blocks;
mod cleaning;
mod dies;
mod fast_cells;
mod fast_pages;
mod layout;
mod map_cache;
mod mapping;
mod page_reads;
pub(super) mod parameters;
mod permutation;
mod read_ahead;

use blocks::{EraseBlocks, NOBODY};
use cleaning::Cleaning;
use dies::Dies;
use fast_cells::FastCells;
use layout::{FlashLayout, UNIT_SECTORS};
use map_cache::MapCache;
use mapping::{Initial, Mapping, PageAddress};
use read_ahead::ReadAhead;

use super::super::cache::{Extent, VolatileCache};
use super::super::wear::Wear;
use super::{AccessSpan, DriveInstance, MediumModel};

#[derive(Debug)]
pub(super) struct FlashMedium {
    units: u64,
    page_units: u64,
    mapping: Mapping,
    initial: Initial,
    blocks: EraseBlocks,
    dies: Dies,
    parameters: parameters::FlashParameters,
    fast_cells: Option<FastCells>,
    map_cache: Option<MapCache>,
    read_ahead: ReadAhead,
    /// Cleaning starts when fewer blocks than this are free.
    low_watermark: usize,
    cleaning: Option<Cleaning>,
    /// End of the last write-back, in sectors.
    cursor: u64,
    wear: Wear,
}

impl FlashMedium {
    pub(super) fn new(parameters: parameters::FlashParameters, drive: &DriveInstance) -> FlashMedium {
        let layout = FlashLayout::new(&parameters, drive);
        let ahead_sectors = parameters.read_ahead_bytes / 512;
        FlashMedium {
            units: layout.units,
            page_units: layout.page_units,
            mapping: Mapping::new(layout.units, layout.initial_data),
            initial: layout.initial,
            blocks: EraseBlocks::new(&layout.valid, layout.block_units as u32, parameters.victim),
            dies: Dies::new(parameters),
            fast_cells: parameters.fast_cells.map(FastCells::new),
            map_cache: parameters
                .map_cache_bytes
                .map(|bytes| MapCache::new((bytes / (UNIT_SECTORS * 512)).max(1) as usize)),
            read_ahead: ReadAhead::new(ahead_sectors, layout.page_units * UNIT_SECTORS),
            parameters,
            low_watermark: layout.low_watermark as usize,
            cleaning: None,
            cursor: 0,
            wear: Wear::default(),
        }
    }

    /// The physical unit that holds a logical one.
    fn physical_unit(&self, logical: u64) -> Option<u64> {
        match self.mapping.get(logical) {
            PageAddress::Nowhere => None,
            PageAddress::At(physical) => Some(u64::from(physical)),
            PageAddress::Initial => {
                let (block, index, count) = self.initial.find(logical);
                // The valid units are spread over the block, because their positions among the stale ones are
                // unknown.
                let units = u64::from(self.blocks.units);
                Some(block as u64 * units + index * units / count)
            }
        }
    }

    /// Marks the physical unit that holds a logical one as stale.
    fn invalidate_unit(&mut self, logical: u64) {
        let block = match self.mapping.get(logical) {
            PageAddress::Nowhere => return,
            PageAddress::At(physical) => (physical / self.blocks.units) as usize,
            PageAddress::Initial => self.initial.find(logical).0,
        };
        self.blocks.blocks[block].valid -= 1;
    }

    /// Writes a logical unit, whose old place is no longer valid, to the next physical one; `None` writes padding.
    /// Returns the time at which the page is programmed, if this filled it.
    fn append_unit(&mut self, at_ns: u64, logical: Option<u64>) -> Option<u64> {
        let owner = logical.map_or(NOBODY, |logical| logical as u32);
        let physical = self.blocks.append_unit(owner);
        if let Some(logical) = logical {
            self.mapping.set(logical, physical);
        }
        self.wear.medium_sectors += UNIT_SECTORS;
        let physical = u64::from(physical);
        let is_page_full = (physical + 1).is_multiple_of(self.page_units);
        is_page_full.then(|| self.program_page(physical / self.page_units, at_ns))
    }

    /// Number of free units in the page that is being filled.
    fn free_page_units(&self) -> u64 {
        self.page_units - u64::from(self.blocks.written_units()) % self.page_units
    }

    /// Writes an extent into the page that is being filled, and the pages after it; returns the time at which the
    /// pages that it filled are programmed.
    fn write_extent(&mut self, at_ns: u64, extent: Extent) -> u64 {
        self.wear.host_sectors += extent.sectors;
        let at_ns = self.look_up(at_ns, extent, true);
        let mut end_ns = at_ns;
        let end = extent.sector + extent.sectors;
        for logical in extent.sector / UNIT_SECTORS..end.div_ceil(UNIT_SECTORS) {
            let (first, last) = (logical * UNIT_SECTORS, (logical + 1) * UNIT_SECTORS);
            let mut ready_ns = at_ns;
            // A unit that is written only in part must be read first.
            if (first < extent.sector || last > end)
                && let Some(physical) = self.physical_unit(logical)
            {
                ready_ns = self.read_page(physical / self.page_units, at_ns, UNIT_SECTORS * 512);
            }
            self.invalidate_unit(logical);
            end_ns = end_ns.max(self.append_unit(ready_ns, Some(logical)).unwrap_or(0));
        }
        end_ns
    }

    /// Programs the rest of a started page as padding, because data that must be durable cannot wait for more;
    /// returns the time at which that is done.
    fn pad_page(&mut self, at_ns: u64) -> u64 {
        let mut end_ns = at_ns;
        while self.free_page_units() < self.page_units {
            end_ns = end_ns.max(self.append_unit(at_ns, None).unwrap_or(0));
        }
        end_ns
    }

    /// Programs a page of the mapping table, without which the data could not be found again.
    fn write_mapping_page(&mut self, at_ns: u64) -> u64 {
        self.clean_for_page(at_ns);
        self.append_unit(at_ns, None).unwrap_or(at_ns).max(self.pad_page(at_ns))
    }
}

impl MediumModel for FlashMedium {
    fn parallel_accesses(&self) -> usize {
        usize::MAX
    }

    fn wake_time(&mut self, idle_since_ns: u64, now_ns: u64) -> u64 {
        let dies = self.dies.die_count() as u64;
        let idle_ns = self.fast_cells.as_mut().map_or(0, |cells| cells.take_idle_ns(idle_since_ns, now_ns));
        let mut left_ns = idle_ns * dies;
        while left_ns > 0
            && let Some(took_ns) = self.fold_page(None)
        {
            left_ns = left_ns.saturating_sub(took_ns);
        }
        now_ns
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let ahead = self.read_ahead.follow(extent);
        let at_ns = self.look_up(at_ns, extent, false);
        let end = extent.sector + extent.sectors;
        let (mut begin_ns, mut end_ns) = (u64::MAX, at_ns);
        for (page, units) in self.pages_of(extent.sector / UNIT_SECTORS, end.div_ceil(UNIT_SECTORS)) {
            let arrival_ns = match self.read_ahead.ready_ns(page) {
                Some(ready_ns) => at_ns.max(ready_ns),
                None => self.read_page(page, at_ns, units * UNIT_SECTORS * 512),
            };
            begin_ns = begin_ns.min(arrival_ns);
            end_ns = end_ns.max(arrival_ns);
        }
        if ahead.sectors > 0 {
            self.read_pages_ahead(at_ns, ahead);
        }
        AccessSpan { begin_ns: begin_ns.min(end_ns), end_ns }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let mut end_ns = at_ns;
        let (mut sector, end) = (extent.sector, extent.sector + extent.sectors);
        while sector < end {
            self.clean_for_page(at_ns);
            let max_sectors = (sector / UNIT_SECTORS + self.free_page_units()) * UNIT_SECTORS - sector;
            let piece = Extent { sector, sectors: max_sectors.min(end - sector) };
            end_ns = end_ns.max(self.write_extent(at_ns, piece));
            sector += piece.sectors;
        }
        end_ns = end_ns.max(self.pad_page(at_ns));
        end_ns = self.write_mapping_page(end_ns);
        AccessSpan { begin_ns: at_ns, end_ns }
    }

    fn destage(&mut self, at_ns: u64, cache: &mut VolatileCache, write_all: bool) -> Option<(u64, u64)> {
        if !write_all && cache.dirty_sectors < self.page_units * UNIT_SECTORS {
            return None;
        }
        self.clean_for_page(at_ns);
        let (mut sectors, mut end_ns, mut room) = (0, at_ns, self.free_page_units());
        while room > 0 {
            let Some(extent) = cache.elevator_order(self.cursor).next() else { break };
            let first = extent.sector / UNIT_SECTORS;
            let extent = cache.take_dirty(extent, (first + room) * UNIT_SECTORS - extent.sector);
            self.cursor = extent.sector + extent.sectors;
            room -= self.cursor.div_ceil(UNIT_SECTORS) - first;
            sectors += extent.sectors;
            end_ns = end_ns.max(self.write_extent(at_ns, extent));
        }
        Some((sectors, end_ns.max(self.pad_page(at_ns))))
    }

    fn discard(&mut self, at_ns: u64, extent: Extent) -> u64 {
        let end = ((extent.sector + extent.sectors) / UNIT_SECTORS).min(self.units);
        let mut logical = extent.sector.div_ceil(UNIT_SECTORS);
        while logical < end {
            if let Some(units) = self.mapping.empty_chunk(logical) {
                logical += units;
                continue;
            }
            if self.mapping.get(logical) != PageAddress::Nowhere {
                self.invalidate_unit(logical);
                self.mapping.clear(logical);
            }
            logical += 1;
        }
        at_ns
    }

    fn wear(&self) -> Wear {
        let (erases, most_erased) = self.blocks.erased;
        Wear { erases, most_erased, ..self.wear }
    }
}
