//! Collects the use of each block while an image's layout is read.

use std::collections::{BTreeMap, HashSet};

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::image_reader::{BLOCK, ImageReader};

/// The use of blocks, by number. It never contains a block beyond the device, nor more blocks than an image of its size
/// can describe.
#[derive(Debug, Default)]
pub(super) struct UsedBlocks {
    pub(super) blocks: BTreeMap<u64, BlockUse>,
    /// The written blocks that are known to be used for anything; `None` if unknown.
    pub(super) used: Option<HashSet<u64>>,
}

impl UsedBlocks {
    /// All blocks of these bytes.
    ///
    /// # Errors
    /// When they reach beyond the device, or are too many.
    pub(super) fn add_range(
        &mut self,
        image: &ImageReader<'_>,
        offset: u64,
        bytes: u64,
        held: BlockUse,
    ) -> Result<(), ReadingStopped> {
        image.check_range(offset, bytes)?;
        let blocks = offset / BLOCK..(offset + bytes).div_ceil(BLOCK);
        image.count_steps(blocks.start, blocks.end - blocks.start)?;
        for block in blocks {
            self.blocks.insert(block, held);
            if self.blocks.len() as u64 > image.describable_blocks() {
                let blocks = image.describable_blocks();
                return Err(ReadingStopped::at_block(block, StopReason::TooManyBlocks { blocks }));
            }
        }
        Ok(())
    }

    /// A block of [`BLOCK`] bytes, by its number.
    pub(super) fn add_block(
        &mut self,
        image: &ImageReader<'_>,
        block: u64,
        held: BlockUse,
    ) -> Result<(), ReadingStopped> {
        self.add_range(image, block.saturating_mul(BLOCK), BLOCK, held)
    }

    /// All blocks of these bytes that were written and are not zero.
    pub(super) fn add_filled(
        &mut self,
        image: &ImageReader<'_>,
        offset: u64,
        bytes: u64,
        held: BlockUse,
    ) -> Result<(), ReadingStopped> {
        image
            .filled_blocks(offset, bytes)?
            .into_iter()
            .try_for_each(|block| self.add_block(image, block, held))
    }
}
