//! The blocks of flash: which is open, which are free, what each holds, and which is cleaned next.
//!
//! A block here is one erase block of every die together, written stripe by stripe, as many controllers do.

use std::collections::{BTreeSet, VecDeque};

use super::super::super::planted::{Bug, planted};
use super::parameters::Victim;

/// No logical unit: padding.
pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct EraseBlock {
    /// Units that hold what is still wanted.
    pub(super) valid: u32,
    erases: u32,
    /// The logical unit each was written for, where that was since the start.
    pub(super) owners: Option<Vec<u32>>,
}

#[derive(Debug)]
pub(super) struct EraseBlocks {
    pub(super) blocks: Vec<EraseBlock>,
    pub(super) units: u32,
    victim: Victim,
    /// By erases, the least worn first.
    free: BTreeSet<(u32, u32)>,
    /// Full ones, in the order they were filled.
    closed: VecDeque<u32>,
    pub(super) open: u32,
    /// Erases so far, and the most of any block.
    pub(super) erased: (u64, u64),
}

impl EraseBlocks {
    /// As many blocks as there are counts: those with something valid are closed, in this order; the rest is free.
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
        this.open_next();
        this
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    fn open_next(&mut self) {
        // The model's sizes leave room to clean; should they ever not, a block is added rather than data lost.
        let next = self.free.pop_first().map(|(_, block)| block).unwrap_or_else(|| {
            self.blocks.push(EraseBlock::default());
            self.blocks.len() as u32 - 1
        });
        self.blocks[next as usize].owners = Some(Vec::with_capacity(self.units as usize));
        self.open = next;
    }

    /// Units written in the open block.
    pub(super) fn written(&self) -> u32 {
        self.blocks[self.open as usize].owners.as_ref().map_or(0, |owners| owners.len() as u32)
    }

    /// Writes the next unit of the open block; returns its number. A full block is closed.
    pub(super) fn append(&mut self, owner: u32) -> u32 {
        let (open, units) = (self.open, self.units);
        let block = &mut self.blocks[open as usize];
        block.valid += u32::from(owner != NOBODY);
        let owners = block.owners.get_or_insert_default();
        owners.push(owner);
        let slot = owners.len() as u32 - 1;
        if slot + 1 == units {
            self.closed.push_back(open);
            self.open_next();
        }
        open * units + slot
    }

    /// The next block to clean, taken out of those that are full. `None` where nothing would be won.
    pub(super) fn choose(&mut self) -> Option<u32> {
        let valid = |block: u32| self.blocks[block as usize].valid;
        let numbered = || self.closed.iter().copied().enumerate();
        let at = match self.victim {
            _ if planted(Bug::WorstVictim) => {
                numbered()
                    .filter(|(_, block)| valid(*block) < self.units)
                    .max_by_key(|(_, block)| valid(*block))?
                    .0
            }
            Victim::Fifo => 0,
            Victim::Greedy => numbered().min_by_key(|(_, block)| valid(*block))?.0,
        };
        let block = self.closed.remove(at)?;
        if self.blocks[block as usize].valid >= self.units && self.victim == Victim::Greedy {
            self.closed.push_back(block);
            return None;
        }
        Some(block)
    }

    pub(super) fn erase(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        block.owners = None;
        block.erases += 1;
        self.erased = (self.erased.0 + 1, self.erased.1.max(u64::from(block.erases)));
        self.free.insert((block.erases, number));
    }
}
