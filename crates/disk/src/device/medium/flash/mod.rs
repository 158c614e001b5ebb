//! Flash behind a page-mapped translation layer: gathers writes into pages, stripes them over dies, and cleans erase
//! blocks.

mod blocks;
mod dies;
mod mapping;
pub(super) mod parameters;
mod permutation;

use blocks::{EraseBlocks, NOBODY};
use dies::Dies;
use mapping::{Initial, Mapping, PageAddress};
use parameters::FlashState;
use permutation::Permutation;

use super::super::cache::{Extent, VolatileCache};
use super::super::planted::{Bug, is_planted};
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel};

/// Sectors of a unit of the mapping: 4 KiB.
const UNIT_SECTORS: u64 = 8;
/// Smallest number of blocks: a small device gets smaller blocks rather than fewer.
const MIN_BLOCKS: u64 = 256;

#[derive(Debug)]
pub(super) struct FlashMedium {
    units: u64,
    page_units: u64,
    mapping: Mapping,
    initial: Initial,
    blocks: EraseBlocks,
    dies: Dies,
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
    pub(super) fn new(parameters: parameters::FlashParameters, size_bytes: u64, seed: u64) -> FlashMedium {
        let dies = Dies::new(parameters);
        let page_units = parameters.page_bytes / (UNIT_SECTORS * 512);
        let units = size_bytes.div_ceil(UNIT_SECTORS * 512);
        let physical = units as f64 * (1.0 + parameters.over_provisioning);
        let stripe = dies.die_count() as u64 * page_units;
        let most_pages = (physical / (stripe * MIN_BLOCKS) as f64) as u64;
        let block_units = stripe * parameters.block_pages.min(most_pages).max(1);
        let count = (physical / block_units as f64).round() as u64;
        let low_watermark = ((count as f64 * parameters.reserve) as u64).max(2);
        let count = count.max(units.div_ceil(block_units) + low_watermark + 2);
        let valid = initial_counts(parameters.state, units, block_units, count, low_watermark);
        let shuffle = (parameters.state == FlashState::Steady).then(|| Permutation::new(units, seed));
        FlashMedium {
            units,
            page_units,
            mapping: Mapping::new(units, parameters.state != FlashState::Fresh),
            initial: Initial::new(&valid, shuffle),
            blocks: EraseBlocks::new(&valid, block_units as u32, parameters.victim),
            dies,
            low_watermark: low_watermark as usize,
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
        is_page_full.then(|| self.dies.program(physical / self.page_units, at_ns))
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
                self.dies.read_page(page, at_ns, 0);
                last_page = page;
            }
            self.blocks.blocks[cleaning.block as usize].valid -= 1;
            self.append_unit(at_ns, Some(logical));
            if is_planted(Bug::MovesAreFree) {
                self.wear.medium_sectors -= UNIT_SECTORS;
            }
        };
        if is_clean {
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
        let mut end_ns = at_ns;
        let end = extent.sector + extent.sectors;
        for logical in extent.sector / UNIT_SECTORS..end.div_ceil(UNIT_SECTORS) {
            let (first, last) = (logical * UNIT_SECTORS, (logical + 1) * UNIT_SECTORS);
            let mut ready_ns = at_ns;
            // A unit that is written only in part must be read first.
            if (first < extent.sector || last > end)
                && let Some(physical) = self.physical_unit(logical)
            {
                ready_ns = self.dies.read_page(physical / self.page_units, at_ns, UNIT_SECTORS * 512);
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

/// Number of valid units in each block at the start, the block written longest ago first; the other blocks are free.
fn initial_counts(state: FlashState, units: u64, block_units: u64, count: u64, spare: u64) -> Vec<u32> {
    let mut valid = vec![0_u32; count as usize];
    let mut remaining = units;
    match state {
        FlashState::Fresh => {}
        FlashState::Filled => {
            for block in &mut valid {
                *block = remaining.min(block_units) as u32;
                remaining -= u64::from(*block);
            }
        }
        FlashState::Steady => {
            // After uniformly random writes and cleaning in order of age, a block of age x, from 0 to 1, holds
            // e^(−kx) of its original units. All blocks together hold the device: (1 − e^(−k))/k is the share of
            // flash that is valid.
            let used = (count - spare).max(1) as usize;
            let share = units as f64 / (used as u64 * block_units) as f64;
            let (mut low, mut high) = (0.0, 100.0);
            for _ in 0..60 {
                let k: f64 = (low + high) / 2.0;
                if (1.0 - libm::exp(-k)) / k > share { low = k } else { high = k }
            }
            for (index, block) in valid.iter_mut().take(used).enumerate() {
                let age = 1.0 - (index as f64 + 0.5) / used as f64;
                let exact = (libm::exp(-low * age) * block_units as f64).round() as u64;
                *block = exact.clamp(1, block_units).min(remaining) as u32;
                remaining -= u64::from(*block);
            }
            // Rounding leaves some units over.
            for block in valid.iter_mut().take(used) {
                let more = remaining.min(block_units - u64::from(*block));
                *block += more as u32;
                remaining -= more;
            }
        }
    }
    valid
}

impl MediumModel for FlashMedium {
    fn parallel_accesses(&self) -> usize {
        usize::MAX
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let end = extent.sector + extent.sectors;
        let (mut begin_ns, mut end_ns) = (u64::MAX, at_ns);
        let mut page = (u64::MAX, 0);
        for logical in extent.sector / UNIT_SECTORS..=end.div_ceil(UNIT_SECTORS) {
            let next = if logical * UNIT_SECTORS < end { self.physical_unit(logical) } else { None };
            let next = next.map_or(u64::MAX, |physical| physical / self.page_units);
            if page.0 != next && page.0 != u64::MAX {
                let arrival_ns = self.dies.read_page(page.0, at_ns, page.1 * UNIT_SECTORS * 512);
                begin_ns = begin_ns.min(arrival_ns);
                end_ns = end_ns.max(arrival_ns);
            }
            page = (next, if page.0 == next { page.1 + 1 } else { 1 });
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
