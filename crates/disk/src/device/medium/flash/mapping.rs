//! Which physical unit of 4 KiB holds which logical one: the table of a page-mapped translation layer, with memory only
//! for what was written since the start.

use super::permutation::Permutation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageAddress {
    /// It was never written, or was discarded.
    Nowhere,
    Initial,
    At(u32),
}

/// How full each block is at the start, and of what.
#[derive(Debug)]
pub(super) struct Initial {
    /// Valid units before each block, and at the end all of them.
    starts: Vec<u64>,
    shuffle: Option<Permutation>,
}

impl Initial {
    pub(super) fn new(valid: &[u32], shuffle: Option<Permutation>) -> Initial {
        let mut starts = vec![0];
        let mut sum = 0;
        for count in valid {
            sum += u64::from(*count);
            starts.push(sum);
        }
        Initial { starts, shuffle }
    }

    /// The block a logical unit was in, its index among the valid units there, and how many those were.
    pub(super) fn find(&self, logical: u64) -> (usize, u64, u64) {
        let index = self.shuffle.map_or(logical, |shuffle| shuffle.back(logical));
        let block = self.starts.partition_point(|start| *start <= index) - 1;
        let start = self.starts[block];
        let end = self.starts.get(block + 1).copied().unwrap_or(start + 1);
        (block, index - start, end - start)
    }

    /// How many units of a block were valid.
    pub(super) fn count(&self, block: usize) -> u64 {
        self.starts[block + 1] - self.starts[block]
    }

    /// The logical unit at this index among the valid units of a block.
    pub(super) fn logical(&self, block: usize, index: u64) -> u64 {
        let index = self.starts[block] + index;
        self.shuffle.map_or(index, |shuffle| shuffle.forth(index))
    }
}

/// Logical units of one chunk, 256 KiB.
const CHUNK: usize = 64;
const ALL_INITIAL: u32 = 0;
const ALL_NOWHERE: u32 = 1;
const OWN: u32 = 2;
const NOWHERE: u32 = u32::MAX;
const INITIAL: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(super) struct Mapping {
    /// For each chunk `ALL_INITIAL`, `ALL_NOWHERE`, or `OWN` and the number of its table.
    chunks: Vec<u32>,
    tables: Vec<[u32; CHUNK]>,
    spare: Vec<u32>,
}

impl Mapping {
    pub(super) fn new(units: u64, written: bool) -> Mapping {
        let all = if written { ALL_INITIAL } else { ALL_NOWHERE };
        Mapping {
            chunks: vec![all; units.div_ceil(CHUNK as u64) as usize],
            tables: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(super) fn get(&self, logical: u64) -> PageAddress {
        match self.chunks[logical as usize / CHUNK] {
            ALL_INITIAL => PageAddress::Initial,
            ALL_NOWHERE => PageAddress::Nowhere,
            own => match self.tables[(own - OWN) as usize][logical as usize % CHUNK] {
                NOWHERE => PageAddress::Nowhere,
                INITIAL => PageAddress::Initial,
                physical => PageAddress::At(physical),
            },
        }
    }

    /// Whether a whole chunk that begins here holds nothing; then there is nothing to discard in it.
    pub(super) fn empty_chunk(&self, logical: u64) -> Option<u64> {
        let empty =
            logical.is_multiple_of(CHUNK as u64) && self.chunks[logical as usize / CHUNK] == ALL_NOWHERE;
        empty.then_some(CHUNK as u64)
    }

    pub(super) fn set(&mut self, logical: u64, physical: u32) {
        let chunk = logical as usize / CHUNK;
        let number = match self.chunks[chunk] {
            all @ (ALL_INITIAL | ALL_NOWHERE) => {
                let table = [if all == ALL_INITIAL { INITIAL } else { NOWHERE }; CHUNK];
                let number = match self.spare.pop() {
                    Some(number) => {
                        self.tables[number as usize] = table;
                        number
                    }
                    None => {
                        self.tables.push(table);
                        self.tables.len() as u32 - 1
                    }
                };
                self.chunks[chunk] = OWN + number;
                number
            }
            own => own - OWN,
        };
        self.tables[number as usize][logical as usize % CHUNK] = physical;
    }

    pub(super) fn clear(&mut self, logical: u64) {
        self.set(logical, NOWHERE);
        let chunk = logical as usize / CHUNK;
        let number = self.chunks[chunk] - OWN;
        if self.tables[number as usize].iter().all(|place| *place == NOWHERE) {
            self.chunks[chunk] = ALL_NOWHERE;
            self.spare.push(number);
        }
    }
}
