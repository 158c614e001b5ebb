//! Cleans erase blocks: moves the valid units of a victim, a few for each page of the host's data, and erases it.

use super::FlashMedium;
use super::blocks::NOBODY;
use super::mapping::PageAddress;

/// The cleaning of a block that is in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleaning {
    block: u32,
    /// Number of its units that were examined.
    examined: u64,
    /// Units to move for each page the host fills, so that cleaning is done when the open block is full.
    pace: u64,
    /// Number of its units that were valid at the start of the trial, if it is unchanged since then.
    initial: u64,
}

impl FlashMedium {
    /// Does the part of cleaning that is due for one page of the host's data.
    pub(super) fn clean_for_page(&mut self, at_ns: u64) {
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
            if page != last_page {
                // Cleaning reads ahead of its writes: a read takes its die's time, but nothing waits for it.
                self.read_page(page, at_ns, 0);
                last_page = page;
            }
            self.blocks.blocks[cleaning.block as usize].valid -= 1;
            self.append_unit(at_ns, Some(logical));
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
    pub(super) fn next_valid(&self, cleaning: &mut Cleaning) -> Option<(u64, u64)> {
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
}
