//! ReiserFS: one tree of leaves and nodes, bitmaps and a journal (`fs/reiserfs/reiserfs.h`).
//!
//! Nodes are told by their level in every used block, and the tree is not followed: a cycle in it leads nowhere.

use std::collections::HashSet;

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{BLOCK, ImageReader, read_le16, read_le32};

/// Where the superblock lies, bytes.
const SUPERBLOCK: u64 = 65536;
/// Bits of a bitmap, one of which lies in front of so many blocks, but for the first.
const BITS: u64 = BLOCK * 8;

pub(super) fn read_reiserfs(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let top = image.read_bytes(SUPERBLOCK, 128)?;
    if top.get(52..58) != Some(b"ReIsEr") {
        return Err(ReadingStopped::at_block(SUPERBLOCK / BLOCK, StopReason::NoSuperblock));
    }
    if read_le16(&top, 44) != BLOCK {
        let reason = StopReason::OtherBlockSize { bytes: read_le16(&top, 44) };
        return Err(ReadingStopped::at_block(SUPERBLOCK / BLOCK, reason));
    }
    let (blocks, journal, length) = (read_le32(&top, 0), read_le32(&top, 12), read_le32(&top, 20));
    image.check_range(journal * BLOCK, (length + 1) * BLOCK)?;
    held.add_range(image, SUPERBLOCK, BLOCK, BlockUse::Superblock)?;
    let mut used = HashSet::new();
    for group in 0..blocks.div_ceil(BITS) {
        let map = if group == 0 { SUPERBLOCK / BLOCK + 1 } else { group * BITS };
        let bits = image.read_block(map)?;
        let start = group * BITS;
        for block in image.written_within(start * BLOCK, BITS * BLOCK)? {
            let bit = block - start;
            let byte = usize::try_from(bit / 8).ok().and_then(|at| bits.get(at));
            if byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1) {
                used.insert(block);
            }
        }
        held.add_block(image, map, BlockUse::Map)?;
    }
    for number in image.filled_blocks(0, blocks * BLOCK)?.into_iter().filter(|number| used.contains(number)) {
        let bytes = image.read_block(number)?;
        // Leaves are on level 1; a node is no higher than `MAX_HEIGHT`.
        let block_use = match (read_le16(&bytes, 0), read_le16(&bytes, 2)) {
            (1, items) if items < BLOCK / 24 => BlockUse::Inode,
            (2..=5, keys) if keys < BLOCK / 16 => BlockUse::Map,
            _ => continue,
        };
        held.blocks.entry(number).or_insert(block_use);
    }
    // With a block for its header behind it.
    held.add_filled(image, journal * BLOCK, (length + 1) * BLOCK, BlockUse::Journal)?;
    held.add_range(image, SUPERBLOCK, BLOCK, BlockUse::Superblock)?;
    held.used = Some(used);
    Ok(())
}
