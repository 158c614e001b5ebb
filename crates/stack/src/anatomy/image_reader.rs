//! Reads pieces of an image, wherever a layout says that they lie, and limits how much work a layout can cause.
//!
//! A guest chooses every byte of its image. So each reader counts its steps, a place behind the end of the device is an error
//! that names the block, and no piece is longer than 1 MiB.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_128;

use fsverdict_disk::crash::ROT_BLOCK;
use fsverdict_judgement::journal::{ReadingStopped, StopReason};

/// Bytes.
pub const BLOCK: u64 = ROT_BLOCK;
/// No structure is longer, bytes.
const LONGEST: u64 = 1 << 20;
/// Steps that a reader of any image may take, and further ones for each block that was written. The readers of sound images
/// look at each written block at most six times.
const STEPS: u64 = 1 << 20;
const STEPS_PER_BLOCK: u64 = 16;
/// Blocks that a layout may describe in any image, and further ones for each block that was written.
const DESCRIBED: u64 = 1 << 18;
const DESCRIBED_PER_BLOCK: u64 = 4;

/// An image, and which of its blocks were written.
#[derive(Debug)]
pub struct ImageReader<'a> {
    file: &'a File,
    blocks: u64,
    /// In the order of the last write to each.
    written: &'a [u64],
    /// The same by their numbers, each with its place in that order.
    by_number: Vec<(u64, usize)>,
    steps: Cell<u64>,
}

/// Identifies the content of a block.
pub(super) fn digest(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

impl<'a> ImageReader<'a> {
    /// A reader of an image of this many bytes. `written` lists its blocks in the order of the last write to each.
    pub fn new(file: &'a File, size_bytes: u64, written: &'a [u64]) -> ImageReader<'a> {
        let blocks = size_bytes / BLOCK;
        let numbered = written.iter().copied().zip(0..).filter(|(block, _)| *block < blocks);
        let mut by_number: Vec<(u64, usize)> = numbered.collect();
        by_number.sort_unstable();
        ImageReader { file, blocks, written, by_number, steps: Cell::new(0) }
    }

    /// Blocks of the device.
    pub(super) fn device_blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn written_blocks(&self) -> &'a [u64] {
        self.written
    }

    fn written_count(&self) -> u64 {
        self.by_number.len() as u64
    }

    /// How many blocks a layout in this image may describe.
    pub(super) fn describable_blocks(&self) -> u64 {
        DESCRIBED + DESCRIBED_PER_BLOCK * self.written_count()
    }

    /// Counts steps of a reader at this block.
    ///
    /// # Errors
    /// When they are more than an image of this size can need.
    pub(super) fn count_steps(&self, block: u64, steps: u64) -> Result<(), ReadingStopped> {
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        if taken > STEPS + STEPS_PER_BLOCK * self.written_count() {
            return Err(ReadingStopped::at_block(block, StopReason::TooManySteps { steps: taken }));
        }
        Ok(())
    }

    /// Checks that a piece of the device lies within it.
    pub(super) fn check_range(&self, offset: u64, length: u64) -> Result<(), ReadingStopped> {
        let end = offset.checked_add(length).filter(|end| *end <= self.blocks * BLOCK);
        let beyond = StopReason::BeyondDevice { blocks: self.blocks };
        end.map(drop).ok_or_else(|| ReadingStopped::at_block(offset / BLOCK, beyond))
    }

    /// Whether a piece of the device lies within it.
    pub(super) fn has_range(&self, offset: u64, length: u64) -> bool {
        self.check_range(offset, length).is_ok()
    }

    /// So many bytes at this place, 1 MiB at most.
    pub(super) fn read_bytes(&self, offset: u64, length: u64) -> Result<Vec<u8>, ReadingStopped> {
        let length = length.min(LONGEST);
        self.check_range(offset, length)?;
        self.count_steps(offset / BLOCK, 1 + length / BLOCK)?;
        let unreadable = || ReadingStopped::at_block(offset / BLOCK, StopReason::Unreadable);
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| unreadable())?];
        self.file.read_exact_at(&mut bytes, offset).map_err(|_| unreadable())?;
        Ok(bytes)
    }

    pub(super) fn read_block(&self, block: u64) -> Result<Vec<u8>, ReadingStopped> {
        self.read_bytes(block.saturating_mul(BLOCK), BLOCK)
    }

    /// The same without counting a step: for work that visits each written block once.
    pub(super) fn block_once(&self, block: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(BLOCK).ok()?];
        self.file.read_exact_at(&mut bytes, block.checked_mul(BLOCK)?).ok()?;
        Some(bytes)
    }

    /// The blocks that were written within these bytes, in the order of the last write to each.
    pub(super) fn written_within(&self, offset: u64, bytes: u64) -> Result<Vec<u64>, ReadingStopped> {
        let (first, end) = (offset / BLOCK, offset.saturating_add(bytes).div_ceil(BLOCK));
        let from = self.by_number.partition_point(|(block, _)| *block < first);
        let until = self.by_number.partition_point(|(block, _)| *block < end);
        let within = self.by_number.get(from..until).unwrap_or_default();
        self.count_steps(first, 1 + within.len() as u64)?;
        let mut in_order = within.to_vec();
        in_order.sort_unstable_by_key(|(_, order)| *order);
        Ok(in_order.into_iter().map(|(block, _)| block).collect())
    }

    /// The blocks that were written within these bytes and hold something, in the order of the last write to each.
    pub(super) fn filled_blocks(&self, offset: u64, bytes: u64) -> Result<Vec<u64>, ReadingStopped> {
        let mut filled = self.written_within(offset, bytes)?;
        filled
            .retain(|block| self.block_once(*block).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)));
        Ok(filled)
    }
}

/// Little-endian numbers in a piece of memory; 0 beyond its end.
pub(super) fn read_le16(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 2, false)
}

pub(super) fn read_le32(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 4, false)
}

pub(super) fn read_le64(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 8, false)
}

/// Big-endian ones.
pub(super) fn read_be16(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 2, true)
}

pub(super) fn read_be32(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 4, true)
}

pub(super) fn read_be64(bytes: &[u8], at: usize) -> u64 {
    read_integer(bytes, at, 8, true)
}

fn read_integer(bytes: &[u8], at: usize, length: usize, is_big: bool) -> u64 {
    let piece = at.checked_add(length).and_then(|end| bytes.get(at..end)).unwrap_or_default();
    let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    if is_big { piece.iter().fold(0, add) } else { piece.iter().rev().fold(0, add) }
}
