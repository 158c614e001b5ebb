//! Programs pages in fast cells while there is room, and moves them to slow cells later.

use super::FlashMedium;
use super::blocks::NOBODY;
use super::layout::UNIT_SECTORS;
use super::mapping::PageAddress;
use super::parameters::FastCellParameters;

/// Pages that are folded at most for one that is written: what is folded also leaves less flash to be fast.
const MOST_FOLDS: u32 = 2;

impl FlashMedium {
    /// Programs a full page, in fast cells if there is room; returns the time at which that is done.
    pub(super) fn program_page(&mut self, page: u64, at_ns: u64) -> u64 {
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
    pub(super) fn has_fast_room(&self) -> bool {
        let free_pages = self.blocks.free_count() as u64 * u64::from(self.blocks.units) / self.page_units;
        self.fast_cells.as_ref().is_some_and(|cells| cells.has_room(self.parameters.page_bytes, free_pages))
    }

    /// Moves the page that has been in fast cells for longest to slow ones, which takes its die from `at_ns` on;
    /// `None` where it is done in idle time. A page of which nothing is valid is only dropped. Returns the time that
    /// it takes, or `None` if there is no page.
    pub(super) fn fold_page(&mut self, at_ns: Option<u64>) -> Option<u64> {
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
}
