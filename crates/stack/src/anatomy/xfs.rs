//! XFS: allocation groups of blocks that identify themselves by magic numbers (`fs/xfs/libxfs/xfs_format.h`,
//! `xfs_da_format.h`).
//!
//! Every written block is looked at, and no tree is followed: a cycle among their nodes leads nowhere.

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{ImageReader, read_be16, read_be32, read_be64};

/// Of nodes and leaves of directories, at byte 8: with checksums and without.
const DIRECTORY_NODES: [u64; 8] = [0x3ebe, 0x3df1, 0x3dff, 0x3bee, 0xfebe, 0xd2f1, 0xd2ff, 0xfbee];
const MOST_GROUPS: u64 = 4096;

pub(super) fn read_xfs(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let implausible = |field: &str, value: u64| Err(ReadingStopped::implausible(0, field, value));
    let top = image.read_bytes(0, 512)?;
    if top.get(..4) != Some(b"XFSB") {
        return Err(ReadingStopped::at_block(0, StopReason::NoSuperblock));
    }
    let (block, group, groups) =
        (read_be32(&top, 4), read_be32(&top, 84), read_be32(&top, 88).min(MOST_GROUPS));
    let (log, log_blocks, sector) = (read_be64(&top, 48), read_be32(&top, 96), read_be16(&top, 102));
    let shift = top.get(124).map_or(0, |shift| u32::from(*shift));
    if !(512..=65536).contains(&block) {
        return implausible("sb_blocksize", block);
    }
    if !(512..=32768).contains(&sector) {
        return implausible("sb_sectsize", sector);
    }
    if group == 0 {
        return implausible("sb_agblocks", group);
    }
    if shift > 32 {
        return implausible("sb_agblklog", u64::from(shift));
    }
    let place = |number: u64| {
        let (which, within) = (number >> shift, number & ((1 << shift) - 1));
        which.saturating_mul(group).saturating_add(within).saturating_mul(block)
    };
    for number in image.filled_blocks(0, u64::MAX)? {
        let bytes = image.read_block(number)?;
        let magic = bytes.get(..4).unwrap_or_default();
        let block_use = match magic {
            b"AB3B" | b"AB3C" | b"IAB3" | b"FIB3" | b"R3FC" | b"RMB3" | b"BMA3" | b"BMAP" | b"ABTB"
            | b"ABTC" | b"IABT" | b"FIBT" => BlockUse::Map,
            b"XDB3" | b"XDD3" | b"XDF3" | b"XD2B" | b"XD2D" | b"XD2F" => BlockUse::Directory,
            [b'I', b'N', ..] => BlockUse::Inode,
            _ if DIRECTORY_NODES.contains(&read_be16(&bytes, 8)) => BlockUse::Directory,
            _ => continue,
        };
        held.add_block(image, number, block_use)?;
    }
    image.check_range(place(log), log_blocks * block)?;
    held.add_filled(image, place(log), log_blocks * block, BlockUse::Journal)?;
    // Superblock, and the roots of free space, of inodes and of spare blocks, a sector each.
    for number in 0..groups {
        let start = number.saturating_mul(group).saturating_mul(block);
        image.check_range(start, 4 * sector)?;
        held.add_range(image, start + sector, 3 * sector, BlockUse::Map)?;
        held.add_range(image, start, sector, BlockUse::Superblock)?;
    }
    Ok(())
}
