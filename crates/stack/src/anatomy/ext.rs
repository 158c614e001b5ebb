//! Ext2, ext3, ext4: groups of blocks with bitmaps and tables of inodes (kernel Documentation/filesystems/ext4/, `struct
//! ext4_super_block` and `struct ext4_group_desc` of `fs/ext4/ext4.h`).

use std::collections::HashSet;

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::image_reader::{BLOCK, ImageReader, read_le16, read_le32};
use super::visited::VisitedNodes;

const MAGIC: u64 = 0xef53;
const INCOMPAT_64BIT: u64 = 0x80;
const RO_SPARSE: u64 = 1;
/// Where the superblock lies, bytes.
const SUPERBLOCK: u64 = 1024;
/// Of inodes: `EXT4_EXTENTS_FL`.
const EXTENTS: u64 = 0x8_0000;
/// Groups at most: of a device of 128 GiB with blocks of 4 KiB.
const MOST_GROUPS: u64 = 1024;
/// A tree of extents is no deeper (`EXT4_MAX_EXTENT_DEPTH`).
const DEEPEST: u64 = 5;

struct Ext<'a> {
    image: &'a ImageReader<'a>,
    block: u64,
    held: &'a mut UsedBlocks,
    visited: VisitedNodes,
}

pub(super) fn read_ext(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let implausible = |field: &str, value: u64| ReadingStopped::implausible(0, field, value);
    let top = image.read_bytes(SUPERBLOCK, 1024)?;
    if read_le16(&top, 56) != MAGIC {
        return Err(ReadingStopped::at_block(0, StopReason::NoSuperblock));
    }
    let block_shift = read_le32(&top, 24);
    let block = u32::try_from(block_shift).ok().and_then(|shift| 1024_u64.checked_shl(shift));
    let block = block.filter(|block| (1024..=65536).contains(block));
    let block = block.ok_or_else(|| implausible("s_log_block_size", block_shift))?;
    let (blocks, first, per_group) = (read_le32(&top, 4), read_le32(&top, 20), read_le32(&top, 32));
    let (inodes_per_group, inode_size) = (read_le32(&top, 40), read_le16(&top, 88).max(128));
    let is_wide = read_le32(&top, 96) & INCOMPAT_64BIT != 0;
    let descriptor = if is_wide { read_le16(&top, 254).max(32) } else { 32 };
    if per_group == 0 {
        return Err(implausible("s_blocks_per_group", per_group));
    }
    if descriptor > 1024 {
        return Err(implausible("s_desc_size", descriptor));
    }
    if inode_size > block {
        return Err(implausible("s_inode_size", inode_size));
    }
    if first > blocks {
        return Err(implausible("s_first_data_block", first));
    }
    let groups = (blocks - first).div_ceil(per_group).min(MOST_GROUPS);
    let mut ext = Ext { image, block, held, visited: VisitedNodes::default() };
    let table = (first + 1) * block;
    let table_bytes = (groups * descriptor).div_ceil(block) * block;
    let mut used = HashSet::new();
    let descriptors = image.read_bytes(table, groups * descriptor)?;
    let mut inodes = 0;
    for group in 0..groups {
        let at = usize::try_from(group * descriptor).unwrap_or(usize::MAX);
        let wide = |low: usize, high: usize| {
            read_le32(&descriptors, at + low)
                | if is_wide && descriptor >= 64 { read_le32(&descriptors, at + high) << 32 } else { 0 }
        };
        let (blocks_map, inodes_map, inode_table) = (wide(0, 32), wide(4, 36), wide(8, 40));
        let start = (first + group * per_group) * block;
        if group == 0 {
            inodes = inode_table;
        }
        if has_superblock(group, read_le32(&top, 100)) {
            // Of the first, the boot block lies before it.
            ext.held.add_range(image, start, block, BlockUse::Superblock)?;
            ext.held.add_filled(image, start + block, table_bytes, BlockUse::Map)?;
        }
        for map in [blocks_map, inodes_map] {
            image.check_range(ext.byte_offset(map), block)?;
        }
        for map in [blocks_map, inodes_map] {
            ext.held.add_filled(image, ext.byte_offset(map), block, BlockUse::Map)?;
        }
        let table_bytes = inodes_per_group * inode_size;
        image.check_range(ext.byte_offset(inode_table), table_bytes)?;
        ext.held.add_filled(image, ext.byte_offset(inode_table), table_bytes, BlockUse::Inode)?;
        let bits = image.read_bytes(ext.byte_offset(blocks_map), block)?;
        let is_taken = |number: u64| {
            let bit = (number * block).checked_sub(start).map(|within| within / block);
            let bit = bit.filter(|bit| *bit < per_group);
            let byte = bit.and_then(|bit| Some((bit, bits.get(usize::try_from(bit / 8).ok()?)?)));
            byte.is_some_and(|(bit, byte)| byte >> (bit % 8) & 1 == 1)
        };
        for written in image.written_within(start, per_group * block)? {
            let (from, until) = (written * BLOCK / block, ((written + 1) * BLOCK - 1) / block);
            if (from..=until).any(is_taken) {
                used.insert(written);
            }
        }
    }
    let journal = read_le32(&top, 224);
    if journal > 0 {
        let place = ext.byte_offset(inodes).saturating_add((journal - 1) * inode_size);
        let inode = image.read_bytes(place, inode_size)?;
        ext.read_journal_inode(&inode, place / BLOCK)?;
    }
    // Used for something else: a directory, or a block of pointers or extents.
    for block in image.filled_blocks(0, blocks * block)? {
        if used.contains(&block) {
            ext.held.blocks.entry(block).or_insert(BlockUse::Map);
        }
    }
    ext.held.used = Some(used);
    Ok(())
}

/// Whether a group begins with a copy of the superblock: all do, or the first and powers of 3, 5 and 7.
fn has_superblock(group: u64, ro_compat: u64) -> bool {
    let is_power_of = |base: u64| {
        std::iter::successors(Some(base), |power| power.checked_mul(base))
            .take_while(|power| *power <= group)
            .any(|power| power == group)
    };
    ro_compat & RO_SPARSE == 0 || group <= 1 || [3, 5, 7].into_iter().any(is_power_of)
}

impl Ext<'_> {
    /// Where a block of the filesystem lies, in bytes.
    fn byte_offset(&self, block: u64) -> u64 {
        block.saturating_mul(self.block)
    }

    fn read_journal_inode(&mut self, inode: &[u8], at: u64) -> Result<(), ReadingStopped> {
        let map = inode.get(40..100).unwrap_or_default();
        if read_le32(inode, 32) & EXTENTS != 0 {
            return self.read_extents(map, at, None);
        }
        let pointers: Vec<u64> = (0..15).map(|number| read_le32(map, number * 4)).collect();
        for (number, pointer) in pointers.into_iter().enumerate() {
            self.read_block_pointer(pointer, number.saturating_sub(11))?;
        }
        Ok(())
    }

    /// Follows the extent tree of the journal's inode below this node (`struct ext4_extent_header` and its entries), which
    /// lies in this block of 4096 bytes.
    fn read_extents(&mut self, node: &[u8], at: u64, expected: Option<u64>) -> Result<(), ReadingStopped> {
        let (entries, depth) = (read_le16(node, 2), read_le16(node, 6));
        match expected {
            Some(expected) if depth != expected => {
                let reason = StopReason::WrongLevel { level: depth, expected };
                return Err(ReadingStopped::at_block(at, reason));
            }
            None if depth > DEEPEST => return Err(ReadingStopped::implausible(at, "eh_depth", depth)),
            _ => {}
        }
        for number in 0..usize::try_from(entries).unwrap_or(0).min(node.len() / 12) {
            let entry = 12 + number * 12;
            if depth == 0 {
                let length = extent_length(read_le16(node, entry + 4));
                self.journal_blocks(read_le32(node, entry + 8) | read_le16(node, entry + 6) << 32, length)?;
            } else {
                let leaf = read_le32(node, entry + 4) | read_le16(node, entry + 8) << 32;
                let below = self.enter_node(leaf)?;
                self.read_extents(&below, self.byte_offset(leaf) / BLOCK, Some(depth - 1))?;
                self.visited.leave_node();
            }
        }
        Ok(())
    }

    /// A block of pointers so many levels above the content.
    fn read_block_pointer(&mut self, block: u64, level: usize) -> Result<(), ReadingStopped> {
        if block == 0 {
            return Ok(());
        }
        if level == 0 {
            return self.journal_blocks(block, 1);
        }
        let node = self.enter_node(block)?;
        for number in 0..node.len() / 4 {
            self.read_block_pointer(read_le32(&node, number * 4), level - 1)?;
        }
        self.visited.leave_node();
        Ok(())
    }

    /// The content of a node that is visited now, for the first time.
    fn enter_node(&mut self, node: u64) -> Result<Vec<u8>, ReadingStopped> {
        let at = self.byte_offset(node) / BLOCK;
        if !self.visited.enter_node(node, at)? {
            return Err(ReadingStopped::at_block(at, StopReason::ReferredToTwice));
        }
        self.image.read_bytes(self.byte_offset(node), self.block)
    }

    fn journal_blocks(&mut self, first: u64, count: u64) -> Result<(), ReadingStopped> {
        let (place, bytes) = (self.byte_offset(first), count * self.block);
        self.image.check_range(place, bytes)?;
        self.held.add_filled(self.image, place, bytes, BlockUse::Journal)
    }
}

/// Blocks of an extent by its `ee_len`. Up to 32768 the extent is initialised; beyond, it is unwritten and the rest counts
/// (fs/ext4/ext4_extents.h, `ext4_ext_get_actual_len`). A journal of 128 MiB has an extent of exactly 32768 blocks.
fn extent_length(stored: u64) -> u64 {
    const LONGEST_INITIALISED: u64 = 1 << 15;
    if stored <= LONGEST_INITIALISED { stored } else { stored - LONGEST_INITIALISED }
}

#[cfg(test)]
mod tests {
    use super::extent_length;

    /// The longest extent was taken for an empty one.
    #[test]
    fn an_extent_of_the_greatest_length_is_not_empty() {
        assert_eq!([1, 32767, 32768, 32769, 65535].map(extent_length), [1, 32767, 32768, 1, 32767]);
    }
}
