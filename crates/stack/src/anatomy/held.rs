//! What blocks of an image hold, as its layout is read.

use std::collections::{BTreeMap, HashSet};

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::image_reader::{BLOCK, ImageReader};

/// What blocks hold, by their number. It never names a block that the device does not have, nor more blocks than an image of
/// its size can describe.
#[derive(Debug, Default)]
pub(super) struct HeldBlocks {
    pub(super) blocks: BTreeMap<u64, BlockUse>,
    /// Of the written blocks those that are known to be used, whatever for; none where that is not known.
    pub(super) used: Option<HashSet<u64>>,
}

impl HeldBlocks {
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
