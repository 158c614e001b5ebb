//! NILFS2: a log of segments; each part of a segment begins with a summary of the owners of its blocks (kernel
//! Documentation/filesystems/nilfs2.rst; `include/uapi/linux/nilfs2_ondisk.h`).
//!
//! Summaries are found by looking at every written block, and no tree is followed: a cycle among their nodes leads nowhere.

use std::collections::BTreeMap;

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{BLOCK, ImageReader, read_le16, read_le32, read_le64};

const MAGIC: u64 = 0x3434;
const SUMMARY: u64 = 0x1eaf_fa11;
/// Inodes of its own: where blocks are, checkpoints, segments, inodes.
const WHERE: u64 = 3;
const INODES: u64 = 6;
/// No part of a segment has more blocks.
const MOST: u64 = 1 << 16;

pub(super) fn read_nilfs2(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let top = image.read_bytes(1024, 1024)?;
    if read_le16(&top, 6) != MAGIC {
        return Err(ReadingStopped::at_block(0, StopReason::NoSuperblock));
    }
    if read_le32(&top, 20) != 2 {
        let bytes = 1024 << read_le32(&top, 20).min(32);
        return Err(ReadingStopped::at_block(0, StopReason::OtherBlockSize { bytes }));
    }
    let (device, last) = (read_le64(&top, 32), read_le64(&top, 64));
    held.add_range(image, 0, BLOCK, BlockUse::Superblock)?;
    // Its copy lies in the last whole block (`NILFS_SB2_OFFSET_BYTES`).
    held.add_block(image, (device / BLOCK).saturating_sub(1), BlockUse::Superblock)?;
    // For each block of a file the version written last; and the metadata rewritten with each.
    let mut latest = LatestBlocks::default();
    for number in image.filled_blocks(BLOCK, u64::MAX - BLOCK)? {
        let bytes = image.read_block(number)?;
        if read_le32(&bytes, 8) != SUMMARY || read_le32(&bytes, 40) > MOST {
            continue;
        }
        SegmentPart { image, start: number, length: read_le32(&bytes, 40), summary: read_le32(&bytes, 48) }
            .add_owners(read_le32(&bytes, 44), &mut latest)?;
    }
    for ((inode, _, _), place) in latest {
        held.add_block(image, place, if inode == INODES { BlockUse::Inode } else { BlockUse::Map })?;
    }
    // The part that a mount begins with: its summary, and the root of all in its last block.
    let bytes = image.read_block(last)?;
    held.add_block(image, last, BlockUse::Journal)?;
    held.add_block(image, (last + read_le32(&bytes, 40)).saturating_sub(1), BlockUse::Journal)
}

/// Where the latest version of a block lies: by the inode that owns it, whether it is a node of the inode's tree, and its number.
type LatestBlocks = BTreeMap<(u64, bool, u64), u64>;

/// A part of a segment: a summary and the blocks that it describes.
struct SegmentPart<'a> {
    image: &'a ImageReader<'a>,
    start: u64,
    /// Blocks.
    length: u64,
    /// Bytes of the summary.
    summary: u64,
}

impl SegmentPart<'_> {
    /// Adds the blocks of the `files` that the summary lists.
    fn add_owners(&self, files: u64, latest: &mut LatestBlocks) -> Result<(), ReadingStopped> {
        let (offset, bytes) = (self.start * BLOCK, self.summary.min(MOST));
        if !self.image.has_range(offset, bytes) {
            return Ok(());
        }
        let summary = self.image.read_bytes(offset, bytes)?;
        let mut place = self.start + self.summary.div_ceil(BLOCK);
        let end = self.start + self.length;
        // An entry of the summary does not cross a block boundary.
        let mut at = 64;
        let mut take = |length: usize| {
            let room = BLOCK as usize - at % BLOCK as usize;
            if room < length {
                at += room;
            }
            at += length;
            at - length
        };
        for _ in 0..files.min(self.length) {
            self.image.count_steps(self.start, 1)?;
            let file = take(24);
            let (inode, blocks, content) =
                (read_le64(&summary, file), read_le32(&summary, file + 16), read_le32(&summary, file + 20));
            for number in 0..blocks {
                if place >= end {
                    return Ok(());
                }
                self.image.count_steps(self.start, 1)?;
                let is_node = number >= content;
                // Where blocks of files have a virtual number, and those of the table of these have none.
                let key = match (inode == WHERE, is_node) {
                    (true, false) => read_le64(&summary, take(8)),
                    (true, true) => read_le64(&summary, take(16)),
                    (false, false) => read_le64(&summary, take(16) + 8),
                    (false, true) => read_le64(&summary, take(8)),
                };
                latest.insert((inode, is_node, key), place);
                if latest.len() as u64 > self.image.describable_blocks() {
                    let blocks = self.image.describable_blocks();
                    return Err(ReadingStopped::at_block(self.start, StopReason::TooManyBlocks { blocks }));
                }
                place += 1;
            }
        }
        Ok(())
    }
}
