//! Damaged layouts: what is done to an image, and the words with which its reader says where it stopped; `None` where the reader
//! does not follow what was damaged, and comes to its end.

use super::images::{BLOCK, Image};

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

fn ext_block(image: &Image) -> u64 {
    1024 << image.le32(1024 + 24)
}

/// Where the journal's inode lies; one that is none yet becomes it.
fn ext_journal(image: &mut Image) -> u64 {
    image.put32(1024 + 224, 8);
    let block = ext_block(image);
    let table = (image.le32(1024 + 20) + 1) * block;
    let inode_size = image.le32(1024 + 88) & 0xffff;
    image.le32(table + 8) * block + 7 * inode_size
}

/// Lets the journal's inode have this pointer.
fn journal_pointer(image: &mut Image, number: u64, to: u32) {
    let inode = ext_journal(image);
    image.put32(inode + 32, 0);
    image.put32(inode + 40 + 4 * number, to);
}

/// A block of the filesystem that is full of pointers to these in turn.
fn fill_with_pointers(image: &mut Image, block: u64, to: &[u64]) {
    let size = ext_block(image);
    let numbers = to.iter().cycle().take(size as usize / 4);
    let bytes: Vec<u8> = numbers.flat_map(|number| (*number as u32).to_le_bytes()).collect();
    image.put(block * size, &bytes);
}

fn spare_of_ext(image: &Image, number: u64) -> u64 {
    image.spare(number) * BLOCK / ext_block(image)
}

fn indirect(image: &mut Image, number: u64) {
    let block = spare_of_ext(image, 0);
    journal_pointer(image, number, block as u32);
    fill_with_pointers(image, block, &[block]);
}

fn indirect_pair(image: &mut Image) {
    let (one, other) = (spare_of_ext(image, 0), spare_of_ext(image, 1));
    journal_pointer(image, 14, one as u32);
    fill_with_pointers(image, one, &[other]);
    fill_with_pointers(image, other, &[one]);
}

fn indirect_twice(image: &mut Image) {
    let (one, other) = (spare_of_ext(image, 0), spare_of_ext(image, 1));
    journal_pointer(image, 13, one as u32);
    fill_with_pointers(image, one, &[other]);
    fill_with_pointers(image, other, &[0]);
}

/// An entry of the root directory that has no length.
fn entry_without_length(image: &mut Image) {
    let is_root = |block: &u64| image.get(block * BLOCK, 9) == [2, 0, 0, 0, 12, 0, 1, 2, b'.'];
    let root = *image.written.iter().find(|block| is_root(block)).unwrap();
    image.put32(root * BLOCK + 4, 0);
    image.put32(root * BLOCK + 16, 0);
}

/// As many groups as there can be, each with the whole device as its table of inodes, and all of the device written.
fn tables_everywhere(image: &mut Image) {
    let blocks = image.size / BLOCK;
    image.put32(1024 + 32, 16);
    image.put32(1024 + 40, 32000);
    image.put16(1024 + 88, 2048);
    let descriptor = [1_u32, 1, 0, 0, 0, 0, 0, 0];
    let bytes: Vec<u8> = descriptor.iter().flat_map(|number| number.to_le_bytes()).collect();
    image.put(4096, &bytes.repeat(1024));
    for block in 9..blocks {
        image.put(block * BLOCK, &[1]);
    }
}

/// A node of extents with this depth, all of whose entries lead to one block.
fn extent_node(depth: u16, entries: u16, leaf: u64) -> Vec<u8> {
    let head = [0xf30a_u16, entries, entries, depth, 0, 0];
    let mut bytes: Vec<u8> = head.iter().flat_map(|number| number.to_le_bytes()).collect();
    for number in 0..u32::from(entries) {
        bytes.extend(number.to_le_bytes());
        bytes.extend((leaf as u32).to_le_bytes());
        bytes.extend([0; 4]);
    }
    bytes
}

fn put_journal_extents(image: &mut Image, depth: u16, leaf: u64) {
    let inode = ext_journal(image);
    image.put32(inode + 32, 0x8_0000);
    image.put(inode + 40, &extent_node(depth, 4, leaf));
}

fn extent_loop(image: &mut Image, depth: u16) {
    let block = image.spare(0);
    put_journal_extents(image, depth + 1, block);
    image.put(block * BLOCK, &extent_node(depth, 340, block));
}

fn extent_level(image: &mut Image) {
    let block = image.spare(0);
    put_journal_extents(image, 1, block);
    image.put(block * BLOCK, &extent_node(3, 340, block));
}

fn extent_depth(image: &mut Image, depth: u16) {
    put_journal_extents(image, depth, image.spare(0));
}

fn extent_beyond(image: &mut Image) {
    let inode = ext_journal(image);
    image.put32(inode + 40 + 12 + 8, u32::MAX);
}

/// A root of free space that is a node of pointers to itself.
fn xfs_tree(image: &mut Image) {
    let roots: Vec<u64> =
        image.written.iter().copied().filter(|block| image.get(block * BLOCK, 4) == *b"AB3B").collect();
    let root = roots[0];
    image.put(root * BLOCK + 4, &[0, 1, 0, 200]);
    image.put(root * BLOCK + 64, &(root as u32).to_be_bytes().repeat(900));
}

const BTRFS: u64 = 65536;

/// Where the node with this address lies, once or twice.
fn btrfs_places(image: &Image, logical: u64) -> Vec<u64> {
    let id = image.get(BTRFS + 32, 16);
    let blocks = image.written.iter().map(|block| block * BLOCK).filter(|place| *place != BTRFS);
    let is_it = |place: &u64| image.get(place + 32, 16) == id && image.le64(place + 48) == logical;
    let places: Vec<u64> = blocks.filter(is_it).collect();
    assert!(!places.is_empty());
    places
}

/// Makes a node one of this level that points at these, with the generation of what it points at.
fn btrfs_point(image: &mut Image, logical: u64, level: u8, to: &[u64]) {
    for place in btrfs_places(image, logical) {
        image.put32(place + 96, to.len() as u32);
        image.put(place + 100, &[level]);
        for (number, child) in (0..).zip(to) {
            let generation = image.le64(btrfs_places(image, *child)[0] + 80);
            image.put64(place + 101 + 33 * number + 17, *child);
            image.put64(place + 101 + 33 * number + 25, generation);
        }
    }
}

fn btrfs_root(image: &Image, field: u64) -> u64 {
    image.le64(BTRFS + field)
}

fn btrfs_loop(image: &mut Image, field: u64) {
    let root = btrfs_root(image, field);
    btrfs_point(image, root, 1, &[root]);
}

/// The root of roots, and the root of a tree that it names.
fn btrfs_two(image: &Image) -> (u64, u64) {
    let root = btrfs_root(image, 80);
    let place = btrfs_places(image, root)[0];
    let items = (0..image.le32(place + 96)).map(|number| place + 101 + 25 * number);
    let roots = items.filter(|item| image.get(item + 8, 1) == [132]);
    let mut named = roots.map(|item| image.le64(place + 101 + image.le32(item + 17) + 176));
    let is_leaf = |logical: &u64| image.get(btrfs_places(image, *logical)[0] + 100, 1) == [0];
    (root, named.find(is_leaf).unwrap())
}

fn btrfs_pair(image: &mut Image) {
    let (root, other) = btrfs_two(image);
    btrfs_point(image, root, 2, &[other]);
    btrfs_point(image, other, 1, &[root]);
}

fn btrfs_level(image: &mut Image) {
    let (root, other) = btrfs_two(image);
    btrfs_point(image, root, 2, &[other]);
}

fn btrfs_high(image: &mut Image) {
    let root = btrfs_root(image, 80);
    btrfs_places(image, root).into_iter().for_each(|place| image.put(place + 100, &[255]));
}

/// The last chunk in the tree of chunks lies where that tree itself does.
fn btrfs_overlap(image: &mut Image) {
    let own = image.le64(BTRFS + 828 + 56);
    for place in btrfs_places(image, btrfs_root(image, 88)) {
        let items = (0..image.le32(place + 96)).map(|number| place + 101 + 25 * number);
        let last = items.filter(|item| image.get(item + 8, 1) == [228]).last().unwrap();
        let body = place + 101 + image.le32(last + 17);
        image.put64(body + 56, own);
    }
}

/// A leaf each of whose items is a chunk with as many stripes as can be said, all of them on this device.
fn btrfs_chunks(image: &mut Image) {
    image.put64(BTRFS + 201, 0);
    image.put64(BTRFS + 828 + 48, 0);
    for place in btrfs_places(image, btrfs_root(image, 88)) {
        image.put32(place + 96, 600);
        for number in 0..600 {
            let item = place + 101 + 25 * number;
            image.put(item + 8, &[228]);
            image.put64(item + 9, (number + 1) << 40);
            image.put32(item + 17, 15200);
        }
        let body = place + 101 + 15200;
        image.put64(body, 1 << 30);
        image.put16(body + 44, 65535);
    }
}

fn btrfs_without_length(image: &mut Image) {
    let (_, leaf) = btrfs_two(image);
    for place in btrfs_places(image, leaf) {
        for number in 0..image.le32(place + 96) {
            image.put64(place + 101 + 25 * number + 17, 0);
        }
    }
}

/// The node blocks of f2fs, with their numbers.
fn f2fs_inodes(image: &Image) -> Vec<(u64, u32)> {
    let main = image.le32(1024 + 92);
    let blocks = image.written.iter().copied().filter(|block| *block >= main);
    let nodes = blocks.map(|block| (block, image.le32(block * BLOCK + 4072) as u32));
    let nodes: Vec<(u64, u32)> = nodes.filter(|(_, node)| (1..1000).contains(node)).collect();
    assert!(!nodes.is_empty());
    nodes
}

fn f2fs_nodes(image: &mut Image) {
    for (block, node) in f2fs_inodes(image) {
        image.put(block * BLOCK + 4052, &node.to_le_bytes().repeat(5));
    }
}

fn f2fs_table(image: &mut Image) {
    let table = image.le32(1024 + 84);
    for block in table..table + 4 {
        image.put(block * BLOCK, &(block as u32).to_le_bytes().repeat(1024));
    }
}

fn f2fs_directories(image: &mut Image) {
    for (block, _) in f2fs_inodes(image) {
        image.put(block * BLOCK, &[0xed, 0x41, 0, 0]);
        image.put(block * BLOCK + 360, &0xffff_fff0_u32.to_le_bytes().repeat(923));
    }
}

fn jfs_trees(image: &mut Image) {
    for inode in (0xb000..0xf000_u64).step_by(512) {
        image.put(inode + 224, &[0; 32]);
        image.put(inode + 256, &((inode / BLOCK) as u32).to_le_bytes().repeat(64));
    }
}

/// Blocks each of which is a summary of as many blocks as one can be, with other keys than the rest.
fn nilfs2_summaries(image: &mut Image) {
    for number in 0..3000 {
        let mut bytes: Vec<u8> = (0..512_u64).flat_map(|at| (number * 512 + at).to_le_bytes()).collect();
        let mut put =
            |at: usize, value: u64| bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
        put(8, 0x1eaf_fa11);
        put(40, 65536);
        put(44, 1);
        put(48, 65536);
        put(64, 100 + number);
        put(80, u64::from(u32::MAX));
        put(84, 0);
        image.put(image.spare(number) * BLOCK, &bytes);
    }
}

fn nilfs2_trees(image: &mut Image) {
    let blocks = image.written.iter().copied().filter(|block| *block > 1);
    let is_summary = |block: &u64| image.le32(block * BLOCK + 8) == 0x1eaf_fa11;
    let others: Vec<u64> = blocks.filter(|block| !is_summary(block)).collect();
    for block in others {
        image.put(block * BLOCK + 64, &block.to_le_bytes().repeat(500));
    }
}

fn reiserfs_root(image: &mut Image, level: u16) {
    let root = image.le32(65536 + 8);
    image.put16(root * BLOCK, level);
    image.put16(root * BLOCK + 2, 100);
    let fill = if level == 1 { 0 } else { root as u32 };
    image.put(root * BLOCK + 24, &fill.to_le_bytes().repeat(1000));
}
