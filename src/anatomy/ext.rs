//! Ext2, ext3, ext4: groups of blocks with bitmaps and tables of inodes (kernel Documentation/filesystems/ext4/, `struct
//! ext4_super_block` and `struct ext4_group_desc` of `fs/ext4/ext4.h`).

use std::collections::HashSet;

use fsverdict_judgement::journal::BlockUse;

use super::held::HeldBlocks;
use super::image_reader::{BLOCK, ImageReader, le16, le32};

const MAGIC: u64 = 0xef53;
const INCOMPAT_64BIT: u64 = 0x80;
const RO_SPARSE: u64 = 1;
/// Where the superblock lies, bytes.
const SUPERBLOCK: u64 = 1024;
/// Of inodes: `EXT4_EXTENTS_FL`.
const EXTENTS: u64 = 0x8_0000;
/// Groups at most: of a device of 128 GiB with blocks of 4 KiB.
const MOST_GROUPS: u64 = 1024;

struct Ext<'a> {
    image: &'a ImageReader<'a>,
    block: u64,
    held: HeldBlocks,
}

pub(super) fn read(image: &ImageReader<'_>) -> Option<HeldBlocks> {
    let top = image.bytes(SUPERBLOCK, 1024)?;
    if le16(&top, 56) != MAGIC {
        return None;
    }
    let block = 1024_u64.checked_shl(u32::try_from(le32(&top, 24)).ok()?).filter(|block| *block <= 65536)?;
    let (blocks, first, per_group) = (le32(&top, 4), le32(&top, 20), le32(&top, 32));
    let (inodes_per_group, inode_size) = (le32(&top, 40), le16(&top, 88).max(128));
    let is_wide = le32(&top, 96) & INCOMPAT_64BIT != 0;
    let descriptor = if is_wide { le16(&top, 254).max(32) } else { 32 };
    let groups = blocks.checked_sub(first)?.div_ceil(per_group.max(1)).min(MOST_GROUPS);
    let mut ext = Ext { image, block, held: HeldBlocks::default() };
    let table = (first + 1) * block;
    let descriptors = (groups * descriptor).div_ceil(block) * block;
    let mut used = HashSet::new();
    let all = image.bytes(table, groups * descriptor)?;
    let mut inodes = 0;
    for group in 0..groups {
        let at = usize::try_from(group * descriptor).ok()?;
        let wide = |low: usize, high: usize| {
            le32(&all, at + low) | if is_wide && descriptor >= 64 { le32(&all, at + high) << 32 } else { 0 }
        };
        let (blocks_map, inodes_map, inode_table) = (wide(0, 32), wide(4, 36), wide(8, 40));
        let start = (first + group * per_group) * block;
        if group == 0 {
            inodes = inode_table;
        }
        if has_superblock(group, le32(&top, 100)) {
            // Of the first, the boot block lies before it.
            ext.held.add(start, block, BlockUse::Superblock);
            for filled in image.filled(start + block, descriptors) {
                ext.held.add(filled * BLOCK, BLOCK, BlockUse::Map);
            }
        }
        for map in [blocks_map, inodes_map].map(|map| image.filled(map * block, block)).concat() {
            ext.held.add(map * BLOCK, BLOCK, BlockUse::Map);
        }
        for filled in image.filled(inode_table * block, inodes_per_group * inode_size) {
            ext.held.add(filled * BLOCK, BLOCK, BlockUse::Inode);
        }
        let bits = image.bytes(blocks_map * block, block)?;
        let taken = (0..per_group).filter(|bit| {
            let byte = usize::try_from(bit / 8).ok().and_then(|at| bits.get(at));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        });
        used.extend(taken.map(|bit| (start + bit * block) / BLOCK));
    }
    let journal = le32(&top, 224);
    if journal > 0 {
        let inode = image.bytes(inodes * block + (journal - 1) * inode_size, inode_size)?;
        ext.journal(&inode);
    }
    // Used, and nothing of the above: a directory, or what says where a file's blocks are.
    for block in image.filled(0, blocks * block) {
        if used.contains(&block) {
            ext.held.blocks.entry(block).or_insert(BlockUse::Map);
        }
    }
    ext.held.used = Some(used);
    Some(ext.held)
}

/// Whether a group begins with a copy of the superblock: all do, or the first and powers of 3, 5 and 7.
fn has_superblock(group: u64, ro_compat: u64) -> bool {
    let power = |base: u64| {
        std::iter::successors(Some(base), |one| one.checked_mul(base))
            .take_while(|one| *one <= group)
            .any(|one| one == group)
    };
    ro_compat & RO_SPARSE == 0 || group <= 1 || [3, 5, 7].into_iter().any(power)
}

impl Ext<'_> {
    fn journal(&mut self, inode: &[u8]) {
        let map = inode.get(40..100).unwrap_or_default();
        if le32(inode, 32) & EXTENTS != 0 {
            self.extents(map, 4);
        } else {
            let pointers: Vec<u64> = (0..15).map(|number| le32(map, number * 4)).collect();
            for (number, pointer) in pointers.into_iter().enumerate() {
                self.pointer(pointer, number.saturating_sub(11));
            }
        }
    }

    /// `struct ext4_extent_header` and what follows it.
    fn extents(&mut self, node: &[u8], deeper: u32) {
        let (entries, depth) = (le16(node, 2), le16(node, 6));
        for number in 0..usize::try_from(entries).unwrap_or(0).min(node.len() / 12) {
            let at = 12 + number * 12;
            if depth == 0 {
                let length = le16(node, at + 4) & 0x7fff;
                self.journal_blocks(le32(node, at + 8) | le16(node, at + 6) << 32, length);
            } else if deeper > 0 {
                let leaf = le32(node, at + 4) | le16(node, at + 8) << 32;
                if let Some(below) = self.image.bytes(leaf.saturating_mul(self.block), self.block) {
                    self.extents(&below, deeper - 1);
                }
            }
        }
    }

    /// A block of pointers so many levels above the content.
    fn pointer(&mut self, block: u64, level: usize) {
        if block == 0 {
            return;
        }
        if level == 0 {
            return self.journal_blocks(block, 1);
        }
        let Some(node) = self.image.bytes(block.saturating_mul(self.block), self.block) else { return };
        for number in 0..node.len() / 4 {
            self.pointer(le32(&node, number * 4), level - 1);
        }
    }

    fn journal_blocks(&mut self, first: u64, count: u64) {
        for filled in self.image.filled(first.saturating_mul(self.block), count * self.block) {
            self.held.add(filled * BLOCK, BLOCK, BlockUse::Journal);
        }
    }
}
