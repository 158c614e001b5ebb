//! F2FS: checkpoints, tables of segments and nodes, and a log of nodes and content (kernel Documentation/filesystems/f2fs.rst;
//! `include/linux/f2fs_fs.h`).

use std::collections::BTreeMap;

use fsverdict_judgement::journal::BlockUse;

use super::held::HeldBlocks;
use super::image_reader::{BLOCK, ImageReader, le16, le32};

const MAGIC: u64 = 0xf2f5_2010;
/// Where a node says whose it is, bytes.
const FOOTER: usize = 4072;
/// More nodes than a device of ours has.
const MOST_NODES: u64 = 1 << 24;
/// Of an inode: where its blocks are, and how many of them it says itself.
const ADDRESSES: (usize, usize) = (360, 923);
const INLINE_NAMES: u8 = 4;

pub(super) fn read(image: &ImageReader<'_>) -> Option<HeldBlocks> {
    let top = image.bytes(1024, 512)?;
    if le32(&top, 0) != MAGIC {
        return None;
    }
    let [checkpoints, segments, nodes, main] = [76, 80, 84, 92].map(|at| le32(&top, at) * BLOCK);
    let mut held = HeldBlocks::default();
    held.add(0, 2 * BLOCK, BlockUse::Superblock);
    let mut add = |from: u64, until: u64, found: BlockUse| {
        for filled in image.filled(from, until.saturating_sub(from)) {
            held.add(filled * BLOCK, BLOCK, found);
        }
    };
    add(checkpoints, segments, BlockUse::Journal);
    add(segments, nodes, BlockUse::Map);
    add(nodes, main, BlockUse::Map);
    // Of each node the one written last.
    let mut latest: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::new();
    for number in image.filled(main, u64::MAX - main) {
        let Some(bytes) = image.block(number) else { continue };
        let (node, inode) = (le32(&bytes, FOOTER), le32(&bytes, FOOTER + 4));
        let offset_in_file = le32(&bytes, FOOTER + 8) >> 3;
        let is_inode = node == inode;
        if (1..MOST_NODES).contains(&node)
            && (1..MOST_NODES).contains(&inode)
            && (is_inode == (offset_in_file == 0))
        {
            latest.insert(node, (number, bytes));
        }
    }
    for (node, (number, bytes)) in latest {
        let is_inode = node == le32(&bytes, FOOTER + 4);
        held.add(number * BLOCK, BLOCK, if is_inode { BlockUse::Inode } else { BlockUse::Map });
        let is_directory = is_inode && le16(&bytes, 0) & 0xf000 == 0x4000;
        if is_directory && bytes.get(3).is_some_and(|flags| flags & INLINE_NAMES == 0) {
            let places = (0..ADDRESSES.1).map(|number| le32(&bytes, ADDRESSES.0 + 4 * number));
            for place in places.filter(|place| *place >= main / BLOCK && *place < u64::from(u32::MAX)) {
                held.add(place * BLOCK, BLOCK, BlockUse::Directory);
            }
        }
    }
    Some(held)
}
