//! The erase blocks of flash: which is open, which are free, what each holds, and which is cleaned next.
//!
//! A block here consists of one erase block of every die, and is written stripe by stripe, as many controllers do.

use std::collections::{BTreeSet, VecDeque};

use super::parameters::Victim;

/// Owner of a unit that is padding and belongs to no logical unit.
pub(super) const NOBODY: u32 = u32::MAX;

/// A block of flash that is erased as a whole.
#[derive(Debug, Default)]
pub(super) struct EraseBlock {
    /// Number of units with valid data.
    pub(super) valid: u32,
    erases: u32,
    /// The logical unit that each unit was written for; `None` if the block was not written since the start.
    pub(super) owners: Option<Vec<u32>>,
}

#[derive(Debug)]
pub(super) struct EraseBlocks {
    pub(super) blocks: Vec<EraseBlock>,
    pub(super) units: u32,
    victim: Victim,
    /// Free blocks by number of erases, the least worn first.
    free: BTreeSet<(u32, u32)>,
    /// Full blocks, in the order in which they were filled.
    closed: VecDeque<u32>,
    pub(super) open: u32,
    /// Number of erases so far, and the largest number of any block.
    pub(super) erased: (u64, u64),
}

impl EraseBlocks {
    /// Creates one block for each count of valid units: those above zero are closed, in this order; the others are
    /// free.
    pub(super) fn new(valid: &[u32], units: u32, victim: Victim) -> EraseBlocks {
        let mut this = EraseBlocks {
            blocks: valid.iter().map(|valid| EraseBlock { valid: *valid, ..EraseBlock::default() }).collect(),
            units,
            victim,
            free: BTreeSet::new(),
            closed: VecDeque::new(),
            open: 0,
            erased: (0, 0),
        };
        for (block, valid) in (0..).zip(valid) {
            if *valid == 0 {
                this.free.insert((0, block));
            } else {
                this.closed.push_back(block);
            }
        }
        this.open_next_block();
        this
    }

    /// Number of free blocks.
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Opens the least worn free block.
    fn open_next_block(&mut self) {
        // The model's sizes leave room for cleaning; if they ever do not, a block is added, so that no data is lost.
        let next = self.free.pop_first().map(|(_, block)| block).unwrap_or_else(|| {
            self.blocks.push(EraseBlock::default());
            self.blocks.len() as u32 - 1
        });
        self.blocks[next as usize].owners = Some(Vec::with_capacity(self.units as usize));
        self.open = next;
    }

    /// Number of units written in the open block.
    pub(super) fn written_units(&self) -> u32 {
        self.blocks[self.open as usize].owners.as_ref().map_or(0, |owners| owners.len() as u32)
    }

    /// Writes the next unit of the open block, and returns its number. A full block is closed.
    pub(super) fn append_unit(&mut self, owner: u32) -> u32 {
        let (open, units) = (self.open, self.units);
        let block = &mut self.blocks[open as usize];
        block.valid += u32::from(owner != NOBODY);
        let owners = block.owners.get_or_insert_default();
        owners.push(owner);
        let slot = owners.len() as u32 - 1;
        if slot + 1 == units {
            self.closed.push_back(open);
            self.open_next_block();
        }
        open * units + slot
    }

    /// Chooses the next block to clean, and removes it from the full ones. `None` where cleaning would gain nothing.
    pub(super) fn choose_victim(&mut self) -> Option<u32> {
        let valid = |block: u32| self.blocks[block as usize].valid;
        let indexed_blocks = || self.closed.iter().copied().enumerate();
        let index = match self.victim {
            Victim::Fifo => 0,
            Victim::Greedy => indexed_blocks().min_by_key(|(_, block)| valid(*block))?.0,
        };
        let block = self.closed.remove(index)?;
        if self.blocks[block as usize].valid >= self.units && self.victim == Victim::Greedy {
            self.closed.push_back(block);
            return None;
        }
        Some(block)
    }

    /// Erases a block and makes it free.
    pub(super) fn erase_block(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        block.owners = None;
        block.erases += 1;
        self.erased = (self.erased.0 + 1, self.erased.1.max(u64::from(block.erases)));
        self.free.insert((block.erases, number));
    }
}
