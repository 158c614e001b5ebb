//! What is done to the structures of a layout: nodes that lead to themselves, places beyond the device, entries without length.

use super::images::{BLOCK, Image};

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
pub(super) fn journal_pointer(image: &mut Image, number: u64, to: u32) {
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

pub(super) fn indirect(image: &mut Image, number: u64) {
    let block = spare_of_ext(image, 0);
    journal_pointer(image, number, block as u32);
    fill_with_pointers(image, block, &[block]);
}

pub(super) fn indirect_pair(image: &mut Image) {
    let (one, other) = (spare_of_ext(image, 0), spare_of_ext(image, 1));
    journal_pointer(image, 14, one as u32);
    fill_with_pointers(image, one, &[other]);
    fill_with_pointers(image, other, &[one]);
}

pub(super) fn indirect_twice(image: &mut Image) {
    let (one, other) = (spare_of_ext(image, 0), spare_of_ext(image, 1));
    journal_pointer(image, 13, one as u32);
    fill_with_pointers(image, one, &[other]);
    fill_with_pointers(image, other, &[0]);
}

/// An entry of the root directory that has no length.
pub(super) fn entry_without_length(image: &mut Image) {
    let is_root = |block: &u64| image.get(block * BLOCK, 9) == [2, 0, 0, 0, 12, 0, 1, 2, b'.'];
    let root = *image.written.iter().find(|block| is_root(block)).unwrap();
    image.put32(root * BLOCK + 4, 0);
    image.put32(root * BLOCK + 16, 0);
}

/// As many groups as there can be, each with the whole device as its table of inodes, and all of the device written.
pub(super) fn tables_everywhere(image: &mut Image) {
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

pub(super) fn extent_loop(image: &mut Image, depth: u16) {
    let block = image.spare(0);
    put_journal_extents(image, depth + 1, block);
    image.put(block * BLOCK, &extent_node(depth, 340, block));
}

pub(super) fn extent_level(image: &mut Image) {
    let block = image.spare(0);
    put_journal_extents(image, 1, block);
    image.put(block * BLOCK, &extent_node(3, 340, block));
}

pub(super) fn extent_depth(image: &mut Image, depth: u16) {
    put_journal_extents(image, depth, image.spare(0));
}

pub(super) fn extent_beyond(image: &mut Image) {
    let inode = ext_journal(image);
    image.put32(inode + 40 + 12 + 8, u32::MAX);
}

/// A root of free space that is a node of pointers to itself.
pub(super) fn xfs_tree(image: &mut Image) {
    let roots: Vec<u64> =
        image.written.iter().copied().filter(|block| image.get(block * BLOCK, 4) == *b"AB3B").collect();
    let root = roots[0];
    image.put(root * BLOCK + 4, &[0, 1, 0, 200]);
    image.put(root * BLOCK + 64, &(root as u32).to_be_bytes().repeat(900));
}

pub(super) const BTRFS: u64 = 65536;

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

pub(super) fn btrfs_loop(image: &mut Image, field: u64) {
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

pub(super) fn btrfs_pair(image: &mut Image) {
    let (root, other) = btrfs_two(image);
    btrfs_point(image, root, 2, &[other]);
    btrfs_point(image, other, 1, &[root]);
}

pub(super) fn btrfs_level(image: &mut Image) {
    let (root, other) = btrfs_two(image);
    btrfs_point(image, root, 2, &[other]);
}

pub(super) fn btrfs_high(image: &mut Image) {
    let root = btrfs_root(image, 80);
    btrfs_places(image, root).into_iter().for_each(|place| image.put(place + 100, &[255]));
}

/// The last chunk in the tree of chunks lies where that tree itself does.
pub(super) fn btrfs_overlap(image: &mut Image) {
    let own = image.le64(BTRFS + 828 + 56);
    for place in btrfs_places(image, btrfs_root(image, 88)) {
        let mut items = (0..image.le32(place + 96)).map(|number| place + 101 + 25 * number);
        let last = items.rfind(|item| image.get(item + 8, 1) == [228]).unwrap();
        let body = place + 101 + image.le32(last + 17);
        image.put64(body + 56, own);
    }
}

/// A leaf each of whose items is a chunk with as many stripes as can be said, all of them on this device.
pub(super) fn btrfs_chunks(image: &mut Image) {
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

pub(super) fn btrfs_without_length(image: &mut Image) {
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

pub(super) fn f2fs_nodes(image: &mut Image) {
    for (block, node) in f2fs_inodes(image) {
        image.put(block * BLOCK + 4052, &node.to_le_bytes().repeat(5));
    }
}

pub(super) fn f2fs_table(image: &mut Image) {
    let table = image.le32(1024 + 84);
    for block in table..table + 4 {
        image.put(block * BLOCK, &(block as u32).to_le_bytes().repeat(1024));
    }
}

pub(super) fn f2fs_directories(image: &mut Image) {
    for (block, _) in f2fs_inodes(image) {
        image.put(block * BLOCK, &[0xed, 0x41, 0, 0]);
        image.put(block * BLOCK + 360, &0xffff_fff0_u32.to_le_bytes().repeat(923));
    }
}

pub(super) fn jfs_trees(image: &mut Image) {
    for inode in (0xb000..0xf000_u64).step_by(512) {
        image.put(inode + 224, &[0; 32]);
        image.put(inode + 256, &((inode / BLOCK) as u32).to_le_bytes().repeat(64));
    }
}

/// Blocks each of which is a summary of as many blocks as one can be, with other keys than the rest.
pub(super) fn nilfs2_summaries(image: &mut Image) {
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

pub(super) fn nilfs2_trees(image: &mut Image) {
    let blocks = image.written.iter().copied().filter(|block| *block > 1);
    let is_summary = |block: &u64| image.le32(block * BLOCK + 8) == 0x1eaf_fa11;
    let others: Vec<u64> = blocks.filter(|block| !is_summary(block)).collect();
    for block in others {
        image.put(block * BLOCK + 64, &block.to_le_bytes().repeat(500));
    }
}

pub(super) fn reiserfs_root(image: &mut Image, level: u16) {
    let root = image.le32(65536 + 8);
    image.put16(root * BLOCK, level);
    image.put16(root * BLOCK + 2, 100);
    let fill = if level == 1 { 0 } else { root as u32 };
    image.put(root * BLOCK + 24, &fill.to_le_bytes().repeat(1000));
}
