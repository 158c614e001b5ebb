//! ReiserFS: one tree of leaves and nodes, bitmaps and a journal (`fs/reiserfs/reiserfs.h`).

use std::collections::HashSet;

use fsverdict_judgement::journal::BlockUse;

use super::held::HeldBlocks;
use super::image_reader::{BLOCK, ImageReader, le16, le32};

/// Where the superblock lies, bytes.
const SUPERBLOCK: u64 = 65536;
/// Bits of a bitmap, one of which lies in front of so many blocks, but for the first.
const BITS: u64 = BLOCK * 8;

pub(super) fn read(image: &ImageReader<'_>) -> Option<HeldBlocks> {
    let top = image.bytes(SUPERBLOCK, 128)?;
    if top.get(52..58)? != b"ReIsEr" || le16(&top, 44) != BLOCK {
        return None;
    }
    let (blocks, journal, length) = (le32(&top, 0), le32(&top, 12), le32(&top, 20));
    let mut held = HeldBlocks::default();
    let mut used = HashSet::new();
    for group in 0..blocks.div_ceil(BITS) {
        let map = if group == 0 { SUPERBLOCK / BLOCK + 1 } else { group * BITS };
        let bits = image.block(map)?;
        let taken = (0..BITS).filter(|bit| {
            let byte = usize::try_from(bit / 8).ok().and_then(|at| bits.get(at));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        });
        used.extend(taken.map(|bit| group * BITS + bit));
        held.add(map * BLOCK, BLOCK, BlockUse::Map);
    }
    for number in image.filled(0, blocks * BLOCK).into_iter().filter(|number| used.contains(number)) {
        let Some(bytes) = image.block(number) else { continue };
        // Leaves are on level 1; a node is no higher than `MAX_HEIGHT`.
        let found = match (le16(&bytes, 0), le16(&bytes, 2)) {
            (1, items) if items < BLOCK / 24 => BlockUse::Inode,
            (2..=5, keys) if keys < BLOCK / 16 => BlockUse::Map,
            _ => continue,
        };
        held.blocks.entry(number).or_insert(found);
    }
    // With a block for its header behind it.
    for filled in image.filled(journal * BLOCK, (length + 1) * BLOCK) {
        held.add(filled * BLOCK, BLOCK, BlockUse::Journal);
    }
    held.add(SUPERBLOCK, BLOCK, BlockUse::Superblock);
    held.used = Some(used);
    Some(held)
}
