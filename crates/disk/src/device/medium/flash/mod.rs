//! Flash behind a page-mapped translation layer: gathers writes into pages, stripes them over dies, and cleans erase
//! blocks.

mod blocks;
mod dies;
mod fast_cells;
mod layout;
mod map_cache;
mod mapping;
pub(super) mod parameters;
mod permutation;
mod read_ahead;

use blocks::{EraseBlocks, NOBODY};
use dies::Dies;
use fast_cells::FastCells;
use layout::{FlashLayout, UNIT_SECTORS};
use map_cache::{MapCache, SEGMENT_UNITS};
use mapping::{Initial, Mapping, PageAddress};
use parameters::FastCellParameters;
use read_ahead::ReadAhead;

use super::super::cache::{Extent, VolatileCache};
use super::super::planted::{Bug, is_planted};
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel, Whole};

/// Number of the page in which the first segment of the mapping table lies, beyond all pages of data.
const FIRST_MAP_PAGE: u64 = 1 << 40;
/// Pages that are folded at most for one that is written: what is folded also leaves less flash to be fast.
const MOST_FOLDS: u32 = 2;

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

/// The cleaning of a block that is in progress.
#[derive(Debug, Clone, Copy)]
struct Cleaning {
    block: u32,
    /// Number of its units that were examined.
    examined: u64,
    /// Units to move for each page the host fills, so that cleaning is done when the open block is full.
    pace: u64,
    /// Number of its units that were valid at the start of the trial, if it is unchanged since then.
    initial: u64,
}

impl FlashMedium {
    pub(super) fn new(parameters: parameters::FlashParameters, whole: &Whole) -> FlashMedium {
        let layout = FlashLayout::new(&parameters, whole);
        let ahead_sectors = parameters.read_ahead_bytes / 512;
        FlashMedium {
            units: layout.units,
            page_units: layout.page_units,
            mapping: Mapping::new(layout.units, layout.stored),
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

    /// Programs a full page, in fast cells if there is room; returns the time at which that is done.
    fn program_page(&mut self, page: u64, at_ns: u64) -> u64 {
        self.read_ahead.remove(page);
        let Some(FastCellParameters { program_ns, fold_first, .. }) = self.parameters.fast_cells else {
            return self.dies.program(page, at_ns, self.parameters.program_ns);
        };
        let mut folds_left = if fold_first { MOST_FOLDS } else { 0 };
        while folds_left > 0 && !self.has_fast_room() {
            folds_left -= 1;
            self.fold_page(Some(at_ns));
        }
        let is_fast = fold_first || self.has_fast_room();
        if let Some(fast_cells) = self.fast_cells.as_mut().filter(|_| is_fast) {
            fast_cells.insert(page);
        }
        let cells_ns = if is_fast { program_ns } else { self.parameters.program_ns };
        self.dies.program(page, at_ns, cells_ns)
    }

    /// Whether one more page fits into fast cells.
    fn has_fast_room(&self) -> bool {
        let free_pages = self.blocks.free_count() as u64 * u64::from(self.blocks.units) / self.page_units;
        self.fast_cells.as_ref().is_some_and(|cells| cells.has_room(self.parameters.page_bytes, free_pages))
    }

    /// Moves the page that has been in fast cells for longest to slow ones, which takes its die from `at_ns` on;
    /// `None` where it is done in idle time. A page of which nothing is valid is only dropped. Returns the time that
    /// it takes, or `None` if there is no page.
    fn fold_page(&mut self, at_ns: Option<u64>) -> Option<u64> {
        let fast_cells = self.fast_cells.as_mut()?;
        let page = fast_cells.pop_oldest()?;
        let first = page * self.page_units;
        let block = self.blocks.blocks.get((first / u64::from(self.blocks.units)) as usize)?;
        let owners = block.owners.as_deref().unwrap_or_default();
        let start = (first % u64::from(self.blocks.units)) as usize;
        let is_valid = |(index, owner): (usize, &u32)| {
            let physical = first as u32 + (index - start) as u32;
            *owner != NOBODY && self.mapping.get(u64::from(*owner)) == PageAddress::At(physical)
        };
        let page_owners = owners.iter().enumerate().skip(start).take(self.page_units as usize);
        if !page_owners.into_iter().any(is_valid) {
            return Some(0);
        }
        self.wear.medium_sectors += self.page_units * UNIT_SECTORS;
        let took_ns = fast_cells.parameters.read_ns + self.parameters.program_ns;
        if let Some(at_ns) = at_ns {
            self.dies.copy_page(page, at_ns, took_ns);
        }
        Some(took_ns)
    }

    /// Reads a page and transfers `bytes` of it; returns the time at which they have arrived.
    fn read_page(&mut self, page: u64, at_ns: u64, bytes: u64) -> u64 {
        let fast_cells = self.fast_cells.as_ref().filter(|fast_cells| fast_cells.holds(page));
        let cells_ns = fast_cells.map_or(self.parameters.read_ns, |fast_cells| fast_cells.parameters.read_ns);
        self.dies.read_page(page, at_ns, bytes, cells_ns)
    }

    /// The pages that hold the logical units from `first` to `end`, in their order, and the number of units in each.
    fn pages_of(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
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
    fn read_pages_ahead(&mut self, at_ns: u64, extent: Extent) {
        let end = ((extent.sector + extent.sectors) / UNIT_SECTORS).min(self.units);
        for (page, _) in self.pages_of(extent.sector / UNIT_SECTORS, end) {
            if self.read_ahead.ready_ns(page).is_none() {
                let ready_ns = self.read_page(page, at_ns, self.parameters.page_bytes);
                self.read_ahead.insert(page, ready_ns);
            }
        }
    }

    /// Looks up where the units of an extent are; returns the time at which that is known.
    fn look_up(&mut self, at_ns: u64, extent: Extent, write: bool) -> u64 {
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

    /// Number of free units in the page that is being filled.
    fn free_page_units(&self) -> u64 {
        self.page_units - u64::from(self.blocks.written_units()) % self.page_units
    }

    /// Does the part of cleaning that is due for one page of the host's data.
    fn clean_for_page(&mut self, at_ns: u64) {
        if self.cleaning.is_none() && self.blocks.free_count() < self.low_watermark {
            self.cleaning = self.blocks.choose_victim().map(|number| {
                let block = &self.blocks.blocks[number as usize];
                let (valid, units) = (u64::from(block.valid), u64::from(self.blocks.units));
                let pace = (self.page_units * valid).div_ceil((units - valid).max(1));
                let initial = if block.owners.is_none() { self.initial.count(number as usize) } else { 0 };
                Cleaning { block: number, examined: 0, pace, initial }
            });
        }
        let Some(mut cleaning) = self.cleaning else { return };
        let mut budget = if self.blocks.free_count() == 0 { u64::MAX } else { cleaning.pace };
        let mut last_page = u64::MAX;
        let is_clean = loop {
            let Some((logical, physical)) = self.next_valid(&mut cleaning) else { break true };
            if budget == 0 {
                // The unit was only examined, and stays.
                cleaning.examined -= 1;
                break false;
            }
            budget -= 1;
            let page = physical / self.page_units;
            if page != last_page && !is_planted(Bug::MovesAreFree) {
                // Cleaning reads ahead of its writes: a read takes its die's time, but nothing waits for it.
                self.read_page(page, at_ns, 0);
                last_page = page;
            }
            self.blocks.blocks[cleaning.block as usize].valid -= 1;
            self.append_unit(at_ns, Some(logical));
            if is_planted(Bug::MovesAreFree) {
                self.wear.medium_sectors -= UNIT_SECTORS;
            }
        };
        if is_clean {
            if let Some(fast_cells) = &mut self.fast_cells {
                let pages = u64::from(self.blocks.units) / self.page_units;
                let first = u64::from(cleaning.block) * pages;
                fast_cells.remove(first..first + pages);
            }
            self.blocks.erase_block(cleaning.block);
            self.dies.erase(at_ns);
        }
        self.cleaning = (!is_clean).then_some(cleaning);
    }

    /// The next valid unit of the block that is being cleaned: its logical and its physical number.
    fn next_valid(&self, cleaning: &mut Cleaning) -> Option<(u64, u64)> {
        let units = u64::from(self.blocks.units);
        let first = u64::from(cleaning.block) * units;
        let owners = self.blocks.blocks[cleaning.block as usize].owners.as_ref();
        loop {
            let examined = cleaning.examined;
            let (logical, physical, address) = match owners {
                Some(owners) => {
                    let physical = first + examined;
                    (*owners.get(examined as usize)?, physical, PageAddress::At(physical as u32))
                }
                None if examined < cleaning.initial => {
                    let logical = self.initial.logical(cleaning.block as usize, examined);
                    (logical as u32, first + examined * units / cleaning.initial, PageAddress::Initial)
                }
                None => return None,
            };
            cleaning.examined += 1;
            if logical != NOBODY && self.mapping.get(u64::from(logical)) == address {
                return Some((u64::from(logical), physical));
            }
        }
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
        if !is_planted(Bug::PageKeptOpen) {
            end_ns = end_ns.max(self.pad_page(at_ns));
            end_ns = self.write_mapping_page(end_ns);
        }
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
