//! Btrfs: trees of nodes in an address space of chunks, each of which may lie in several places (`include/uapi/linux/btrfs_tree.h`,
//! `fs/btrfs/ctree.h`).

use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

use super::block_uses::UsedBlocks;
use super::btrfs_chunks::{Chunks, ITEM_HEAD};
use super::image_reader::{BLOCK, ImageReader, read_le32, read_le64};
use super::visited::VisitedNodes;

/// Where copies of the superblock lie, bytes.
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const SUPERBLOCK_BYTES: u64 = 4096;
const MAGIC: &[u8] = b"_BHRfS_M";
/// Bytes of a node's header, of a leaf's item and of a node's pointer.
const HEADER: usize = 101;
const ITEM: usize = 25;
const POINTER: usize = 33;
/// Kinds of items.
const ROOT_ITEM: u8 = 132;
const CHUNK_ITEM: u8 = 228;
/// Trees of files have this number, or one from the second on.
const FILES: (u64, u64) = (5, 256);
/// No tree has more levels (`BTRFS_MAX_LEVEL`).
const LEVELS: u64 = 8;

struct Btrfs<'a> {
    image: &'a ImageReader<'a>,
    node_bytes: u64,
    chunks: Chunks,
    visited: VisitedNodes,
    held: &'a mut UsedBlocks,
    roots: Vec<u64>,
}

/// The properties of a child node that its parent records.
#[derive(Clone, Copy)]
struct ChildNode {
    logical: u64,
    level: u64,
    generation: u64,
}

pub(super) fn read_btrfs(image: &ImageReader<'_>, held: &mut UsedBlocks) -> Result<(), ReadingStopped> {
    let [first, ..] = SUPERBLOCKS;
    let top = image.read_bytes(first, SUPERBLOCK_BYTES)?;
    if top.get(64..72) != Some(MAGIC) {
        return Err(ReadingStopped::at_block(first / BLOCK, StopReason::NoSuperblock));
    }
    let node_bytes = read_le32(&top, 148);
    if !(4096..=65536).contains(&node_bytes) {
        return Err(ReadingStopped::implausible(first / BLOCK, "nodesize", node_bytes));
    }
    for place in SUPERBLOCKS.into_iter().filter(|place| image.has_range(*place, SUPERBLOCK_BYTES)) {
        if image.read_bytes(place, SUPERBLOCK_BYTES)?.get(64..72) == Some(MAGIC) {
            held.add_range(image, place, SUPERBLOCK_BYTES, BlockUse::Superblock)?;
        }
    }
    let chunks = Chunks::new(read_le64(&top, 201));
    let visited = VisitedNodes::default();
    let mut btrfs = Btrfs { image, node_bytes, chunks, visited, held, roots: Vec::new() };
    // The chunks needed to find the chunk tree are in the superblock.
    let system_bytes = usize::try_from(read_le32(&top, 160)).unwrap_or(usize::MAX).min(2048);
    let mut system = top.get(811..811 + system_bytes).unwrap_or_default();
    while let Some((key, rest)) = system.split_at_checked(17).filter(|(_, rest)| rest.len() >= ITEM_HEAD) {
        let taken = btrfs.chunks.add_chunk(image, first / BLOCK, read_le64(key, 9), rest)?;
        system = rest.get(taken..).unwrap_or_default();
    }
    btrfs.walk_node(read_le64(&top, 88), None)?;
    btrfs.walk_node(read_le64(&top, 80), None)?;
    while let Some(root) = btrfs.roots.pop() {
        btrfs.walk_node(root, None)?;
    }
    Ok(())
}

impl Btrfs<'_> {
    /// Walks a tree from this node down.
    fn walk_node(&mut self, logical: u64, expected: Option<ChildNode>) -> Result<(), ReadingStopped> {
        let places = self.chunks.device_offsets(logical);
        let at = places.first().map_or(0, |place| place / BLOCK);
        self.image.count_steps(at, 1)?;
        if self.visited.enter_node(logical, at)? {
            self.visit_node(logical, &places, expected)?;
        }
        self.visited.leave_node();
        Ok(())
    }

    fn visit_node(
        &mut self,
        logical: u64,
        places: &[u64],
        expected: Option<ChildNode>,
    ) -> Result<(), ReadingStopped> {
        let mut found = None;
        for place in places {
            let node = self.image.read_bytes(*place, self.node_bytes)?;
            if read_le64(&node, 48) == logical {
                found = Some((place / BLOCK, node));
                break;
            }
        }
        let Some((at, node)) = found else { return Ok(()) };
        let level = node.get(100).map_or(0, |level| u64::from(*level));
        if level >= LEVELS {
            return Err(ReadingStopped::implausible(at, "level", level));
        }
        if let Some(expected) = expected.filter(|expected| expected.level != level) {
            // A tree that is being deleted points at nodes that were written over since, by a later generation.
            if expected.generation != read_le64(&node, 80) {
                return Ok(());
            }
            let reason = StopReason::WrongLevel { level, expected: expected.level };
            return Err(ReadingStopped::at_block(at, reason));
        }
        let (owner, items) = (read_le64(&node, 88), usize::try_from(read_le32(&node, 96)).unwrap_or(0));
        let is_leaf = level == 0;
        let is_of_files = owner == FILES.0 || owner >= FILES.1 && owner < u64::MAX - 256;
        let block_use = if is_of_files && is_leaf { BlockUse::Inode } else { BlockUse::Map };
        for place in places {
            self.held.add_range(self.image, *place, self.node_bytes, block_use)?;
        }
        if !is_leaf {
            for number in 0..items.min(node.len() / POINTER) {
                let at = HEADER + POINTER * number + 17;
                let child = ChildNode {
                    logical: read_le64(&node, at),
                    level: level - 1,
                    generation: read_le64(&node, at + 8),
                };
                self.walk_node(child.logical, Some(child))?;
            }
            return Ok(());
        }
        for number in 0..items.min(node.len() / ITEM) {
            let item = HEADER + ITEM * number;
            let kind = node.get(item + 8).copied().unwrap_or(0);
            let offset = usize::try_from(read_le32(&node, item + 17)).unwrap_or(usize::MAX);
            let body = node.get(HEADER.saturating_add(offset)..).unwrap_or_default();
            match kind {
                CHUNK_ITEM => {
                    self.chunks.add_chunk(self.image, at, read_le64(&node, item + 9), body)?;
                }
                ROOT_ITEM => {
                    self.image.count_steps(at, 1)?;
                    self.roots.push(read_le64(body, 176));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
