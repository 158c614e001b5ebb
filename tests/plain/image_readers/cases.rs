//! Damaged layouts: what is done to an image, and the words with which its reader says where it stopped; `None` where the reader
//! does not follow what was damaged, and comes to its end.

use super::damage::{
    BTRFS, btrfs_chunks, btrfs_high, btrfs_level, btrfs_loop, btrfs_overlap, btrfs_pair,
    btrfs_without_length, entry_without_length, extent_beyond, extent_depth, extent_level, extent_loop,
    f2fs_directories, f2fs_nodes, f2fs_table, indirect, indirect_pair, indirect_twice, jfs_trees,
    journal_pointer, nilfs2_summaries, nilfs2_trees, reiserfs_root, tables_everywhere, xfs_tree,
};
use super::images::Image;

pub(super) struct Case {
    pub(super) filesystem: &'static str,
    pub(super) name: &'static str,
    pub(super) damage: fn(&mut Image),
    pub(super) stops: Option<&'static str>,
}

const fn stops(
    filesystem: &'static str,
    name: &'static str,
    damage: fn(&mut Image),
    told: &'static str,
) -> Case {
    Case { filesystem, name, damage, stops: Some(told) }
}

const fn ends(filesystem: &'static str, name: &'static str, damage: fn(&mut Image)) -> Case {
    Case { filesystem, name, damage, stops: None }
}

const LOOP: &str = "refers to itself";
const BEYOND: &str = "is beyond the end of the device";
const NO_SUPERBLOCK: &str = "holds no superblock";
const STEPS: &str = "steps, more than an image of this size needs";

pub(super) const CASES: &[Case] = &[
    stops("ext2", "no superblock", |image| image.put16(1080, 0), NO_SUPERBLOCK),
    stops("ext2", "a block of pointers that points at itself, two levels", |image| indirect(image, 13), LOOP),
    stops(
        "ext2",
        "a block of pointers that points at itself, three levels",
        |image| indirect(image, 14),
        LOOP,
    ),
    stops("ext2", "two blocks of pointers that point at each other", indirect_pair, LOOP),
    stops("ext2", "one block of pointers below two", indirect_twice, "is referred to twice"),
    stops("ext2", "a pointer beyond the device", |image| journal_pointer(image, 0, u32::MAX), BEYOND),
    stops("ext2", "blocks_per_group 0", |image| image.put32(1056, 0), "s_blocks_per_group is 0"),
    stops("ext2", "log_block_size 64", |image| image.put32(1048, 64), "s_log_block_size is 64"),
    stops("ext2", "log_block_size 2^32 - 1", |image| image.put32(1048, u32::MAX), "s_log_block_size"),
    stops("ext2", "blocks of 2^32 - 1", |image| image.put32(1028, u32::MAX), "stopped"),
    ends("ext2", "a directory entry of no length", entry_without_length),
    ends("ext2", "inode_size 0", |image| image.put16(1112, 0)),
    stops("ext2", "inode_size 65535", |image| image.put16(1112, 65535), "s_inode_size is 65535"),
    stops("ext2", "inodes_per_group 2^32 - 1", |image| image.put32(1064, u32::MAX), BEYOND),
    stops("ext2", "first_data_block 2^32 - 1", |image| image.put32(1044, u32::MAX), "s_first_data_block"),
    stops("ext2", "groups whose tables of inodes are the device", tables_everywhere, STEPS),
    stops("ext3", "a block of pointers that points at itself", |image| indirect(image, 14), LOOP),
    stops("ext3", "the journal's inode beyond the device", |image| image.put32(1248, u32::MAX), BEYOND),
    stops("ext3", "a bitmap beyond the device", |image| image.put32(2048, u32::MAX), BEYOND),
    stops("ext3", "a table of inodes beyond the device", |image| image.put32(2056, u32::MAX), BEYOND),
    ends("ext3", "one block a group", |image| image.put32(1056, 1)),
    stops("ext4", "a node of extents that refers to itself", |image| extent_loop(image, 1), LOOP),
    stops(
        "ext4",
        "a node of extents that refers to itself, five levels",
        |image| extent_loop(image, 4),
        LOOP,
    ),
    stops(
        "ext4",
        "a node of extents on a wrong level",
        extent_level,
        "level 3, and its parent implies level 0",
    ),
    stops("ext4", "extents 65535 levels deep", |image| extent_depth(image, 65535), "eh_depth is 65535"),
    stops("ext4", "an extent beyond the device", extent_beyond, BEYOND),
    stops("ext4", "a bitmap at 2^63", |image| image.put32(4096 + 32, 1 << 31), BEYOND),
    stops("ext4", "desc_size 65535", |image| image.put16(1278, 65535), "s_desc_size is 65535"),
    stops("xfs", "no superblock", |image| image.put32(0, 0), NO_SUPERBLOCK),
    stops("xfs", "blocksize 0", |image| image.put32(4, 0), "sb_blocksize is 0"),
    stops("xfs", "sectsize 0", |image| image.put16(102, 0), "sb_sectsize is 0"),
    stops("xfs", "agblocks 0", |image| image.put32(84, 0), "sb_agblocks is 0"),
    stops("xfs", "agblocks 2^32 - 1", |image| image.put32(84, u32::MAX), BEYOND),
    stops("xfs", "agcount 2^32 - 1", |image| image.put32(88, u32::MAX), BEYOND),
    stops("xfs", "agblklog 64", |image| image.put(124, &[64]), "sb_agblklog is 64"),
    stops("xfs", "agblklog 255", |image| image.put(124, &[255]), "sb_agblklog is 255"),
    stops("xfs", "a log at 2^64 - 1", |image| image.put64(48, u64::MAX), BEYOND),
    stops("xfs", "a log of 2^32 - 1 blocks", |image| image.put32(96, u32::MAX), BEYOND),
    ends("xfs", "a B+tree whose root points at itself", xfs_tree),
    stops("btrfs", "no superblock", |image| image.put64(BTRFS + 64, 0), NO_SUPERBLOCK),
    stops("btrfs", "a root that points at itself", |image| btrfs_loop(image, 80), LOOP),
    stops("btrfs", "a root of chunks that points at itself", |image| btrfs_loop(image, 88), LOOP),
    stops("btrfs", "two nodes that point at each other", btrfs_pair, LOOP),
    stops("btrfs", "a node on a wrong level", btrfs_level, "level 0, and its parent implies level 1"),
    stops("btrfs", "level 255", btrfs_high, "level is 255"),
    stops(
        "btrfs",
        "a chunk that lies where another does",
        btrfs_overlap,
        "chunk onto blocks that another chunk has",
    ),
    stops("btrfs", "a chunk beyond the device", |image| image.put64(BTRFS + 828 + 56, 1 << 62), BEYOND),
    stops("btrfs", "a chunk of no length", |image| image.put64(BTRFS + 828, 0), "length is 0"),
    stops("btrfs", "a chunk of 2^64 - 1 bytes", |image| image.put64(BTRFS + 828, u64::MAX), "length is 184"),
    stops("btrfs", "a chunk without stripes", |image| image.put16(BTRFS + 828 + 44, 0), "num_stripes is 0"),
    stops(
        "btrfs",
        "a chunk of 65535 stripes",
        |image| image.put16(BTRFS + 872, 65535),
        "num_stripes is 65535",
    ),
    stops("btrfs", "a leaf of chunks of 65535 stripes", btrfs_chunks, "num_stripes is 65535"),
    stops("btrfs", "nodesize 0", |image| image.put32(BTRFS + 148, 0), "nodesize is 0"),
    stops("btrfs", "nodesize 2^32 - 1", |image| image.put32(BTRFS + 148, u32::MAX), "nodesize is 4294967295"),
    stops(
        "btrfs",
        "sys_chunk_array_size 2^32 - 1",
        |image| image.put32(BTRFS + 160, u32::MAX),
        "num_stripes",
    ),
    ends("btrfs", "a leaf of items of no length", btrfs_without_length),
    stops("f2fs", "no superblock", |image| image.put32(1024, 0), NO_SUPERBLOCK),
    stops("f2fs", "main_blkaddr 2^32 - 1", |image| image.put32(1116, u32::MAX), "main_blkaddr is 4294967295"),
    stops("f2fs", "cp_blkaddr 2^32 - 1", |image| image.put32(1100, u32::MAX), "cp_blkaddr is 4294967295"),
    ends("f2fs", "nodes that point at themselves", f2fs_nodes),
    ends("f2fs", "a table of nodes whose entries point into it", f2fs_table),
    ends("f2fs", "directories whose blocks are beyond the device", f2fs_directories),
    stops("jfs", "no superblock", |image| image.put32(0x8000, 0), NO_SUPERBLOCK),
    stops("jfs", "blocks of no size", |image| image.put32(0x8010, 0), "s_bsize is 0"),
    stops("jfs", "blocks of 2^32 - 1 bytes", |image| image.put32(0x8010, u32::MAX), "s_bsize is 4294967295"),
    stops("jfs", "a log beyond the device", |image| image.put64(0x8048, u64::MAX), BEYOND),
    ends("jfs", "extents that lead to themselves, entries of no length", jfs_trees),
    stops("nilfs2", "no superblock", |image| image.put16(1030, 0), NO_SUPERBLOCK),
    stops("nilfs2", "blocks of 2^74 bytes", |image| image.put32(1044, 64), "those of 4096 alone are read"),
    stops("nilfs2", "a last segment at 2^64 - 1", |image| image.put64(1088, u64::MAX), BEYOND),
    stops("nilfs2", "a device of 2^64 - 1 bytes", |image| image.put64(1056, u64::MAX), BEYOND),
    ends("nilfs2", "a device of no bytes", |image| image.put64(1056, 0)),
    stops("nilfs2", "summaries without end", nilfs2_summaries, STEPS),
    ends("nilfs2", "nodes that point at themselves", nilfs2_trees),
    stops("reiserfs", "no superblock", |image| image.put64(65588, 0), NO_SUPERBLOCK),
    stops("reiserfs", "2^32 - 1 blocks", |image| image.put32(65536, u32::MAX), BEYOND),
    stops("reiserfs", "a journal beyond the device", |image| image.put32(65548, u32::MAX), BEYOND),
    stops("reiserfs", "a journal of 2^32 - 1 blocks", |image| image.put32(65556, u32::MAX), BEYOND),
    stops("reiserfs", "blocks of 1 byte", |image| image.put16(65580, 1), "those of 4096 alone are read"),
    ends("reiserfs", "a root that points at itself", |image| reiserfs_root(image, 2)),
    ends("reiserfs", "a leaf of items and names of no length", |image| reiserfs_root(image, 1)),
];
