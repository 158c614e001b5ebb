//! F2FS: checkpoints, tables of segments and nodes, and a log of nodes and content (kernel Documentation/filesystems/f2fs.rst;
//! `include/linux/f2fs_fs.h`).
//!
//! Nodes are found by looking at every written block, not by following their addresses: a cycle among them leads nowhere.

use std::collections::BTreeMap;

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{BLOCK, ImageReader, read_le16, read_le32};

const MAGIC: u64 = 0xf2f5_2010;
/// The position of the owner's number in a node, in bytes.
const FOOTER: usize = 4072;
/// More nodes than a device of ours has.
const MOST_NODES: u64 = 1 << 24;
/// In an inode: the position of its block addresses, and the number of blocks.
const ADDRESSES: (usize, usize) = (360, 923);
const INLINE_NAMES: u8 = 4;

pub(super) fn read_f2fs(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let top = image.read_bytes(1024, 512)?;
    if read_le32(&top, 0) != MAGIC {
        return Err(ReadingStopped::at_block(0, StopReason::NoSuperblock));
    }
    let fields = [("cp_blkaddr", 76), ("sit_blkaddr", 80), ("nat_blkaddr", 84), ("main_blkaddr", 92)];
    let [checkpoints, segments, nodes, main] = fields.map(|(_, at)| read_le32(&top, at) * BLOCK);
    for (field, at) in fields {
        let block = read_le32(&top, at);
        if block >= image.device_blocks() {
            return Err(ReadingStopped::implausible(0, field, block));
        }
    }
    held.add_range(image, 0, 2 * BLOCK, BlockUse::Superblock)?;
    held.add_filled(image, checkpoints, segments.saturating_sub(checkpoints), BlockUse::Journal)?;
    held.add_filled(image, segments, nodes.saturating_sub(segments), BlockUse::Map)?;
    held.add_filled(image, nodes, main.saturating_sub(nodes), BlockUse::Map)?;
    // For each node the version written last.
    let mut latest: BTreeMap<u64, u64> = BTreeMap::new();
    for number in image.filled_blocks(main, u64::MAX - main)? {
        let bytes = image.read_block(number)?;
        let (node, inode) = (read_le32(&bytes, FOOTER), read_le32(&bytes, FOOTER + 4));
        let offset_in_file = read_le32(&bytes, FOOTER + 8) >> 3;
        let is_inode = node == inode;
        if (1..MOST_NODES).contains(&node)
            && (1..MOST_NODES).contains(&inode)
            && (is_inode == (offset_in_file == 0))
        {
            latest.insert(node, number);
        }
    }
    for (node, number) in latest {
        let bytes = image.read_block(number)?;
        let is_inode = node == read_le32(&bytes, FOOTER + 4);
        held.add_block(image, number, if is_inode { BlockUse::Inode } else { BlockUse::Map })?;
        let is_directory = is_inode && read_le16(&bytes, 0) & 0xf000 == 0x4000;
        if is_directory && bytes.get(3).is_some_and(|flags| flags & INLINE_NAMES == 0) {
            // Inodes with further attributes keep those in place of the first and the last addresses.
            let places = (0..ADDRESSES.1).map(|number| read_le32(&bytes, ADDRESSES.0 + 4 * number));
            let is_of_main = |place: &u64| *place >= main / BLOCK && *place < image.device_blocks();
            for place in places.filter(is_of_main) {
                held.add_block(image, place, BlockUse::Directory)?;
            }
        }
    }
    Ok(())
}
