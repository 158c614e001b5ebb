//! Flash behind a page-mapped translation layer: writes are gathered into pages, striped over dies, and cleaned up after.

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
use super::super::planted::{Bug, planted};
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel};

/// Sectors of the unit that is mapped: 4 KiB.
const UNIT: u64 = 8;
/// A small device gets smaller blocks rather than fewer than this.
const LEAST_BLOCKS: u64 = 256;

#[derive(Debug)]
pub(super) struct FlashMedium {
    units: u64,
    page_units: u64,
    mapping: Mapping,
    initial: Initial,
    blocks: EraseBlocks,
    dies: Dies,
    /// Cleaning begins when fewer blocks than this are free.
    low: usize,
    cleaning: Option<Cleaning>,
    /// Where the last write-back ended.
    cursor: u64,
    wear: Wear,
}

#[derive(Debug, Clone, Copy)]
struct Cleaning {
    block: u32,
    /// How many of its units were looked at.
    seen: u64,
    /// Units to move for each page the host fills, so that cleaning is done when the open block is full.
    pace: u64,
    /// How many of its units were valid at the start of the trial, when it is as it was then.
    initial: u64,
}

impl FlashMedium {
    pub(super) fn new(parameters: parameters::FlashParameters, size_bytes: u64, seed: u64) -> FlashMedium {
        let dies = Dies::new(parameters);
        let page_units = parameters.page_bytes / (UNIT * 512);
        let units = size_bytes.div_ceil(UNIT * 512);
        let physical = units as f64 * (1.0 + parameters.over_provisioning);
        let stripe = dies.count() as u64 * page_units;
        let most_pages = (physical / (stripe * LEAST_BLOCKS) as f64) as u64;
        let block_units = stripe * parameters.block_pages.min(most_pages).max(1);
        let count = (physical / block_units as f64).round() as u64;
        let low = ((count as f64 * parameters.reserve) as u64).max(2);
        let count = count.max(units.div_ceil(block_units) + low + 2);
        let valid = initial_counts(parameters.state, units, block_units, count, low);
        let shuffle = (parameters.state == FlashState::Steady).then(|| Permutation::new(units, seed));
        FlashMedium {
            units,
            page_units,
            mapping: Mapping::new(units, parameters.state != FlashState::Fresh),
            initial: Initial::new(&valid, shuffle),
            blocks: EraseBlocks::new(&valid, block_units as u32, parameters.victim),
            dies,
            low: low as usize,
            cleaning: None,
            cursor: 0,
            wear: Wear::default(),
        }
    }

    fn physical(&self, logical: u64) -> Option<u64> {
        match self.mapping.get(logical) {
            PageAddress::Nowhere => None,
            PageAddress::At(physical) => Some(u64::from(physical)),
            PageAddress::Initial => {
                let (block, index, of) = self.initial.find(logical);
                // Spread over the block, since nobody knows where among the stale the valid ones lie.
                let units = u64::from(self.blocks.units);
                Some(block as u64 * units + index * units / of)
            }
        }
    }

    fn invalidate(&mut self, logical: u64) {
        let block = match self.mapping.get(logical) {
            PageAddress::Nowhere => return,
            PageAddress::At(physical) => (physical / self.blocks.units) as usize,
            PageAddress::Initial => self.initial.find(logical).0,
        };
        self.blocks.blocks[block].valid -= 1;
    }

    /// Writes a logical unit, whose old place is no longer valid, to the next physical one; returns when its page is
    /// programmed, if that filled it.
    fn append(&mut self, at_ns: u64, logical: Option<u64>) -> Option<u64> {
        let owner = logical.map_or(NOBODY, |logical| logical as u32);
        let physical = self.blocks.append(owner);
        if let Some(logical) = logical {
            self.mapping.set(logical, physical);
        }
        self.wear.medium_sectors += UNIT;
        let physical = u64::from(physical);
        let full = (physical + 1).is_multiple_of(self.page_units);
        full.then(|| self.dies.program(physical / self.page_units, at_ns))
    }

    /// Units still free in the page that is being filled.
    fn room(&self) -> u64 {
        self.page_units - u64::from(self.blocks.written()) % self.page_units
    }

    /// Does the share of cleaning that goes with one page of the host's.
    fn clean(&mut self, at_ns: u64) {
        if self.cleaning.is_none() && self.blocks.free() < self.low {
            self.cleaning = self.blocks.choose().map(|number| {
                let block = &self.blocks.blocks[number as usize];
                let (valid, units) = (u64::from(block.valid), u64::from(self.blocks.units));
                let pace = (self.page_units * valid).div_ceil((units - valid).max(1));
                let initial = if block.owners.is_none() { self.initial.count(number as usize) } else { 0 };
                Cleaning { block: number, seen: 0, pace, initial }
            });
        }
        let Some(mut cleaning) = self.cleaning else { return };
        let mut left = if self.blocks.free() == 0 { u64::MAX } else { cleaning.pace };
        let mut last_page = u64::MAX;
        let erased = loop {
            let Some((logical, physical)) = self.next_valid(&mut cleaning) else { break true };
            if left == 0 {
                // It was only looked at.
                cleaning.seen -= 1;
                break false;
            }
            left -= 1;
            let page = physical / self.page_units;
            if page != last_page && !planted(Bug::MovesAreFree) {
                // Cleaning reads ahead of what it writes: a read takes its die's time, and nobody waits for it.
                self.dies.read(page, at_ns, 0);
                last_page = page;
            }
            self.blocks.blocks[cleaning.block as usize].valid -= 1;
            self.append(at_ns, Some(logical));
            if planted(Bug::MovesAreFree) {
                self.wear.medium_sectors -= UNIT;
            }
        };
        if erased {
            self.blocks.erase(cleaning.block);
            self.dies.erase(at_ns);
        }
        self.cleaning = (!erased).then_some(cleaning);
    }

    /// The next unit of the block that is being cleaned whose content is still wanted, and where it is.
    fn next_valid(&self, cleaning: &mut Cleaning) -> Option<(u64, u64)> {
        let units = u64::from(self.blocks.units);
        let first = u64::from(cleaning.block) * units;
        let owners = self.blocks.blocks[cleaning.block as usize].owners.as_ref();
        loop {
            let seen = cleaning.seen;
            let (logical, physical, place) = match owners {
                Some(owners) => {
                    let physical = first + seen;
                    (*owners.get(seen as usize)?, physical, PageAddress::At(physical as u32))
                }
                None if seen < cleaning.initial => {
                    let logical = self.initial.logical(cleaning.block as usize, seen);
                    (logical as u32, first + seen * units / cleaning.initial, PageAddress::Initial)
                }
                None => return None,
            };
            cleaning.seen += 1;
            if logical != NOBODY && self.mapping.get(u64::from(logical)) == place {
                return Some((u64::from(logical), physical));
            }
        }
    }

    /// Writes a stretch into the page that is being filled, and those after it; returns when what it filled of them is programmed.
    fn fill(&mut self, at_ns: u64, extent: Extent) -> u64 {
        self.wear.host_sectors += extent.sectors;
        let mut end_ns = at_ns;
        let end = extent.sector + extent.sectors;
        for logical in extent.sector / UNIT..end.div_ceil(UNIT) {
            let (first, last) = (logical * UNIT, (logical + 1) * UNIT);
            let mut ready_ns = at_ns;
            // What is written only in part must be read first.
            if (first < extent.sector || last > end)
                && let Some(physical) = self.physical(logical)
            {
                ready_ns = self.dies.read(physical / self.page_units, at_ns, UNIT * 512);
            }
            self.invalidate(logical);
            end_ns = end_ns.max(self.append(ready_ns, Some(logical)).unwrap_or(0));
        }
        end_ns
    }

    /// Programs the rest of a page that was begun with nothing, for what must be durable cannot wait for company; returns
    /// when that is done.
    fn pad(&mut self, at_ns: u64) -> u64 {
        let mut end_ns = at_ns;
        while self.room() < self.page_units {
            end_ns = end_ns.max(self.append(at_ns, None).unwrap_or(0));
        }
        end_ns
    }

    /// Programs a page of the table that says where the data are, for without that nobody finds them again.
    fn note(&mut self, at_ns: u64) -> u64 {
        self.clean(at_ns);
        self.append(at_ns, None).unwrap_or(at_ns).max(self.pad(at_ns))
    }
}

/// How many units are valid in each block at the start, the longest written first; the rest of the blocks is free.
fn initial_counts(state: FlashState, units: u64, block_units: u64, count: u64, spare: u64) -> Vec<u32> {
    let mut valid = vec![0_u32; count as usize];
    let mut left = units;
    match state {
        FlashState::Fresh => {}
        FlashState::Filled => {
            for block in &mut valid {
                *block = left.min(block_units) as u32;
                left -= u64::from(*block);
            }
        }
        FlashState::Steady => {
            // Written evenly at random and cleaned in order of age, a block of age x, from 0 to 1, holds e^(−kx) of what
            // it did, and all of them together hold the device: (1 − e^(−k))/k is the share of flash that is valid.
            let used = (count - spare).max(1) as usize;
            let share = units as f64 / (used as u64 * block_units) as f64;
            let (mut low, mut high) = (0.0, 100.0);
            for _ in 0..60 {
                let k: f64 = (low + high) / 2.0;
                if (1.0 - libm::exp(-k)) / k > share { low = k } else { high = k }
            }
            for (index, block) in valid.iter_mut().take(used).enumerate() {
                let age = 1.0 - (index as f64 + 0.5) / used as f64;
                let wanted = (libm::exp(-low * age) * block_units as f64).round() as u64;
                *block = wanted.clamp(1, block_units).min(left) as u32;
                left -= u64::from(*block);
            }
            // Rounding leaves some over.
            for block in valid.iter_mut().take(used) {
                let more = left.min(block_units - u64::from(*block));
                *block += more as u32;
                left -= more;
            }
        }
    }
    valid
}

impl MediumModel for FlashMedium {
    fn parallel(&self) -> usize {
        usize::MAX
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let end = extent.sector + extent.sectors;
        let (mut begin_ns, mut end_ns) = (u64::MAX, at_ns);
        let mut page = (u64::MAX, 0);
        for logical in extent.sector / UNIT..=end.div_ceil(UNIT) {
            let next = if logical * UNIT < end { self.physical(logical) } else { None };
            let next = next.map_or(u64::MAX, |physical| physical / self.page_units);
            if page.0 != next && page.0 != u64::MAX {
                let there_ns = self.dies.read(page.0, at_ns, page.1 * UNIT * 512);
                begin_ns = begin_ns.min(there_ns);
                end_ns = end_ns.max(there_ns);
            }
            page = (next, if page.0 == next { page.1 + 1 } else { 1 });
        }
        AccessSpan { begin_ns: begin_ns.min(end_ns), end_ns }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let mut end_ns = at_ns;
        let (mut sector, end) = (extent.sector, extent.sector + extent.sectors);
        while sector < end {
            self.clean(at_ns);
            let most = (sector / UNIT + self.room()) * UNIT - sector;
            let piece = Extent { sector, sectors: most.min(end - sector) };
            end_ns = end_ns.max(self.fill(at_ns, piece));
            sector += piece.sectors;
        }
        if !planted(Bug::PageKeptOpen) {
            end_ns = end_ns.max(self.pad(at_ns));
            end_ns = self.note(end_ns);
        }
        AccessSpan { begin_ns: at_ns, end_ns }
    }

    fn destage(&mut self, at_ns: u64, cache: &mut VolatileCache, all: bool) -> Option<(u64, u64)> {
        if !all && cache.dirty_sectors < self.page_units * UNIT {
            return None;
        }
        self.clean(at_ns);
        let (mut sectors, mut end_ns, mut room) = (0, at_ns, self.room());
        while room > 0 {
            let Some(extent) = cache.sweep(self.cursor).next() else { break };
            let first = extent.sector / UNIT;
            let extent = cache.take(extent, (first + room) * UNIT - extent.sector);
            self.cursor = extent.sector + extent.sectors;
            room -= self.cursor.div_ceil(UNIT) - first;
            sectors += extent.sectors;
            end_ns = end_ns.max(self.fill(at_ns, extent));
        }
        Some((sectors, end_ns.max(self.pad(at_ns))))
    }

    fn discard(&mut self, at_ns: u64, extent: Extent) -> u64 {
        let end = ((extent.sector + extent.sectors) / UNIT).min(self.units);
        let mut logical = extent.sector.div_ceil(UNIT);
        while logical < end {
            if let Some(units) = self.mapping.empty_chunk(logical) {
                logical += units;
                continue;
            }
            if self.mapping.get(logical) != PageAddress::Nowhere {
                self.invalidate(logical);
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
