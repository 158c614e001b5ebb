//! JFS: metadata at fixed places, extents of inodes, and a journal (`fs/jfs/jfs_superblock.h`, `jfs_filsys.h`,
//! `jfs_dinode.h`).
//!
//! Every written block is looked at, and no tree is followed: a cycle among their nodes leads nowhere.

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{BLOCK, ImageReader, read_le32};

/// Where superblock, its copy, and the first table of inodes lie, bytes.
const SUPERBLOCK: u64 = 0x8000;
const COPY: u64 = 0xf000;
const TABLE: u64 = 0xb000;
const INODE: usize = 512;

pub(super) fn read_jfs(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let top = image.read_bytes(SUPERBLOCK, 512)?;
    if top.get(..4) != Some(b"JFS1") {
        return Err(ReadingStopped::at_block(SUPERBLOCK / BLOCK, StopReason::NoSuperblock));
    }
    let block = read_le32(&top, 16);
    if !(512..=4096).contains(&block) {
        return Err(ReadingStopped::implausible(SUPERBLOCK / BLOCK, "s_bsize", block));
    }
    // Length in 24 bits, and a place in 40.
    let extent = |at: usize| {
        let (length, place) =
            (read_le32(&top, at) & 0x00ff_ffff, (read_le32(&top, at) >> 24) << 32 | read_le32(&top, at + 4));
        (place.saturating_mul(block), length.saturating_mul(block))
    };
    let (log, scratch) = (extent(72), extent(80));
    for (place, length) in [log, scratch] {
        image.check_range(place, length)?;
    }
    for number in image.filled_blocks(0, u64::MAX)? {
        let at = number * BLOCK;
        let within = |(place, length): (u64, u64)| at >= place && at - place < length;
        // The checker's own log is not used by the filesystem.
        if within(scratch) {
            continue;
        }
        let bytes = image.read_block(number)?;
        let block_use = match at {
            SUPERBLOCK | COPY => BlockUse::Superblock,
            _ if within(log) => BlockUse::Journal,
            _ if is_inodes(&bytes) => BlockUse::Inode,
            // Maps, trees, and directories unless names are found in them.
            _ => BlockUse::Map,
        };
        held.add_range(image, at, BLOCK, block_use)?;
    }
    held.add_range(image, TABLE, 4 * BLOCK, BlockUse::Inode)
}

/// Whether inodes of one fileset lie there in a row: their numbers follow one another.
fn is_inodes(bytes: &[u8]) -> bool {
    let first = read_le32(bytes, 8);
    let follows = |number: usize| {
        let inode = bytes.get(number * INODE..).unwrap_or_default();
        [1, 16].contains(&read_le32(inode, 4)) && read_le32(inode, 8) == first + number as u64
    };
    (0..bytes.len() / INODE).all(follows)
}
