//! Maps logical to physical units of 4 KiB: the table of a page-mapped flash translation layer. It takes memory only
//! for units that were written since the start.

use super::permutation::Permutation;

/// Where a logical unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageAddress {
    /// The unit was never written, or was discarded.
    Nowhere,
    /// The unit is where it was at the start.
    Initial,
    /// The unit is in this physical unit.
    At(u32),
}

/// The number of valid units in each block at the start, and the logical units that they are.
#[derive(Debug)]
pub(super) struct Initial {
    /// The first logical unit that held data.
    first: u64,
    /// Number of valid units before each block, followed by their total.
    starts: Vec<u64>,
    shuffle: Option<Permutation>,
}

impl Initial {
    pub(super) fn new(first: u64, valid: &[u32], shuffle: Option<Permutation>) -> Initial {
        let mut starts = vec![0];
        let mut sum = 0;
        for count in valid {
            sum += u64::from(*count);
            starts.push(sum);
        }
        Initial { first, starts, shuffle }
    }

    /// The block of a logical unit at the start, its index among the valid units there, and the number of these.
    pub(super) fn find(&self, logical: u64) -> (usize, u64, u64) {
        let index = logical - self.first;
        let index = self.shuffle.map_or(index, |shuffle| shuffle.back(index));
        let block = self.starts.partition_point(|start| *start <= index) - 1;
        let start = self.starts[block];
        let end = self.starts.get(block + 1).copied().unwrap_or(start + 1);
        (block, index - start, end - start)
    }

    /// Number of units of a block that were valid at the start.
    pub(super) fn count(&self, block: usize) -> u64 {
        self.starts[block + 1] - self.starts[block]
    }

    /// The logical unit at this index among the valid units of a block.
    pub(super) fn logical(&self, block: usize, index: u64) -> u64 {
        let index = self.starts[block] + index;
        self.first + self.shuffle.map_or(index, |shuffle| shuffle.forth(index))
    }
}

/// Logical units of one chunk, 256 KiB.
pub(super) const CHUNK: u64 = 64;
const CHUNK_ENTRIES: usize = CHUNK as usize;
/// A chunk in which every unit is where it was at the start.
const ALL_INITIAL: u32 = 0;
/// A chunk in which no unit is mapped.
const ALL_NOWHERE: u32 = 1;
/// A chunk with a table: the number of the table is added to this.
const FIRST_TABLE: u32 = 2;
/// Entry of a table: the unit is not mapped.
const NOWHERE: u32 = u32::MAX;
/// Entry of a table: the unit is where it was at the start.
const INITIAL: u32 = u32::MAX - 1;

/// The table, in chunks.
#[derive(Debug)]
pub(super) struct Mapping {
    /// For each chunk `ALL_INITIAL`, `ALL_NOWHERE`, or the sum of `FIRST_TABLE` and the number of its table.
    chunks: Vec<u32>,
    tables: Vec<[u32; CHUNK_ENTRIES]>,
    free_tables: Vec<u32>,
}

impl Mapping {
    /// The table of a device of which the units `stored` hold data, from the start of a chunk to the end of one or of
    /// the device.
    pub(super) fn new(units: u64, stored: std::ops::Range<u64>) -> Mapping {
        let mut chunks = vec![ALL_NOWHERE; units.div_ceil(CHUNK) as usize];
        let chunk_range = (stored.start / CHUNK) as usize..stored.end.div_ceil(CHUNK) as usize;
        if let Some(stored_chunks) = chunks.get_mut(chunk_range) {
            stored_chunks.fill(ALL_INITIAL);
        }
        Mapping { chunks, tables: Vec::new(), free_tables: Vec::new() }
    }

    pub(super) fn get(&self, logical: u64) -> PageAddress {
        match self.chunks[(logical / CHUNK) as usize] {
            ALL_INITIAL => PageAddress::Initial,
            ALL_NOWHERE => PageAddress::Nowhere,
            entry => match self.tables[(entry - FIRST_TABLE) as usize][(logical % CHUNK) as usize] {
                NOWHERE => PageAddress::Nowhere,
                INITIAL => PageAddress::Initial,
                physical => PageAddress::At(physical),
            },
        }
    }

    /// Length of the chunk that begins at this unit if no unit of it is mapped: there is nothing to discard in it.
    pub(super) fn empty_chunk(&self, logical: u64) -> Option<u64> {
        let empty = logical.is_multiple_of(CHUNK) && self.chunks[(logical / CHUNK) as usize] == ALL_NOWHERE;
        empty.then_some(CHUNK)
    }

    pub(super) fn set(&mut self, logical: u64, physical: u32) {
        let chunk = (logical / CHUNK) as usize;
        let number = match self.chunks[chunk] {
            state @ (ALL_INITIAL | ALL_NOWHERE) => {
                let table = [if state == ALL_INITIAL { INITIAL } else { NOWHERE }; CHUNK_ENTRIES];
                let number = match self.free_tables.pop() {
                    Some(number) => {
                        self.tables[number as usize] = table;
                        number
                    }
                    None => {
                        self.tables.push(table);
                        self.tables.len() as u32 - 1
                    }
                };
                self.chunks[chunk] = FIRST_TABLE + number;
                number
            }
            entry => entry - FIRST_TABLE,
        };
        self.tables[number as usize][(logical % CHUNK) as usize] = physical;
    }

    /// Removes the mapping of a unit.
    pub(super) fn clear(&mut self, logical: u64) {
        self.set(logical, NOWHERE);
        let chunk = (logical / CHUNK) as usize;
        let number = self.chunks[chunk] - FIRST_TABLE;
        if self.tables[number as usize].iter().all(|place| *place == NOWHERE) {
            self.chunks[chunk] = ALL_NOWHERE;
            self.free_tables.push(number);
        }
    }
}
