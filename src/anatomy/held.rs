//! What blocks of an image hold, as its layout is read.

use std::collections::{BTreeMap, HashSet};

use fsverdict_judgement::journal::BlockUse;

use super::image_reader::BLOCK;

/// What blocks hold, by their number.
#[derive(Debug, Default)]
pub(super) struct HeldBlocks {
    pub(super) blocks: BTreeMap<u64, BlockUse>,
    /// Blocks that are known to be used, whatever for; none where that is not known.
    pub(super) used: Option<HashSet<u64>>,
}

impl HeldBlocks {
    /// All blocks of these bytes.
    pub(super) fn add(&mut self, offset: u64, bytes: u64, held: BlockUse) {
        let end = offset.saturating_add(bytes).div_ceil(BLOCK);
        self.blocks.extend((offset / BLOCK..end).map(|block| (block, held)));
    }
}
