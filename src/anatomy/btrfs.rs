//! Btrfs: trees of nodes in an address space of chunks, each of which may lie in several places (`include/uapi/linux/btrfs_tree.h`,
//! `fs/btrfs/ctree.h`).

use std::collections::BTreeSet;

use fsverdict_judgement::journal::BlockUse;

use super::held::HeldBlocks;
use super::image_reader::{ImageReader, le16, le32, le64};

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
/// More nodes than images of ours have.
const MOST: usize = 1 << 20;

/// A piece of the address space on this device.
struct Chunk {
    logical: u64,
    length: u64,
    /// Where on this device; twice where it is kept twice.
    places: Vec<u64>,
}

struct Btrfs<'a> {
    image: &'a ImageReader<'a>,
    node_bytes: u64,
    device: u64,
    chunks: Vec<Chunk>,
    seen: BTreeSet<u64>,
    held: HeldBlocks,
    roots: Vec<u64>,
}

pub(super) fn read(image: &ImageReader<'_>) -> Option<HeldBlocks> {
    let [first, ..] = SUPERBLOCKS;
    let top = image.bytes(first, SUPERBLOCK_BYTES)?;
    if top.get(64..72)? != MAGIC {
        return None;
    }
    let node_bytes = le32(&top, 148);
    if !(4096..=65536).contains(&node_bytes) {
        return None;
    }
    let mut btrfs = Btrfs {
        image,
        node_bytes,
        device: le64(&top, 201),
        chunks: Vec::new(),
        seen: BTreeSet::new(),
        held: HeldBlocks::default(),
        roots: Vec::new(),
    };
    // What it takes to find the tree of chunks stands in the superblock.
    let mut system = top.get(811..811 + usize::try_from(le32(&top, 160)).ok()?.min(2048))?;
    while let Some((key, rest)) = system.split_at_checked(17) {
        let taken = btrfs.chunk(le64(key, 9), rest);
        system = rest.get(taken..).unwrap_or_default();
        if taken == 0 {
            break;
        }
    }
    btrfs.tree(le64(&top, 88));
    btrfs.tree(le64(&top, 80));
    while let Some(root) = btrfs.roots.pop() {
        btrfs.tree(root);
    }
    for place in SUPERBLOCKS {
        if image.bytes(place, SUPERBLOCK_BYTES).is_some_and(|copy| copy.get(64..72) == Some(MAGIC)) {
            btrfs.held.add(place, SUPERBLOCK_BYTES, BlockUse::Superblock);
        }
    }
    Some(btrfs.held)
}

impl Btrfs<'_> {
    /// Notes a chunk; how many bytes tell of it.
    fn chunk(&mut self, logical: u64, item: &[u8]) -> usize {
        let stripes = usize::try_from(le16(item, 44)).unwrap_or(0);
        let stripe = |number: usize| (le64(item, 48 + 32 * number), le64(item, 56 + 32 * number));
        let here = (0..stripes).map(stripe).filter(|(device, _)| *device == self.device);
        let places = here.map(|(_, place)| place).collect();
        self.chunks.push(Chunk { logical, length: le64(item, 0), places });
        48 + 32 * stripes
    }

    fn places(&self, logical: u64) -> Vec<u64> {
        let chunk = self
            .chunks
            .iter()
            .find(|one| logical.checked_sub(one.logical).is_some_and(|within| within < one.length));
        chunk.map_or(Vec::new(), |chunk| {
            chunk.places.iter().map(|place| place + (logical - chunk.logical)).collect()
        })
    }

    /// Walks a tree from this node down.
    fn tree(&mut self, root: u64) {
        let mut waiting = vec![root];
        while let Some(logical) = waiting.pop() {
            if self.seen.len() > MOST || !self.seen.insert(logical) {
                continue;
            }
            let places = self.places(logical);
            let node = places.iter().find_map(|place| {
                let node = self.image.bytes(*place, self.node_bytes)?;
                (le64(&node, 48) == logical).then_some(node)
            });
            let Some(node) = node else { continue };
            let (owner, items) = (le64(&node, 88), usize::try_from(le32(&node, 96)).unwrap_or(0));
            let is_leaf = node.get(100) == Some(&0);
            let is_of_files = owner == FILES.0 || owner >= FILES.1 && owner < u64::MAX - 256;
            let held = if is_of_files && is_leaf { BlockUse::Inode } else { BlockUse::Map };
            places.iter().for_each(|place| self.held.add(*place, self.node_bytes, held));
            if !is_leaf {
                waiting.extend(
                    (0..items.min(node.len() / POINTER))
                        .map(|number| le64(&node, HEADER + POINTER * number + 17)),
                );
                continue;
            }
            for number in 0..items.min(node.len() / ITEM) {
                let at = HEADER + ITEM * number;
                let kind = node.get(at + 8).copied().unwrap_or(0);
                let offset = usize::try_from(le32(&node, at + 17)).unwrap_or(usize::MAX);
                let body = node.get(HEADER.saturating_add(offset)..).unwrap_or_default();
                match kind {
                    CHUNK_ITEM => drop(self.chunk(le64(&node, at + 9), body)),
                    ROOT_ITEM => self.roots.push(le64(body, 176)),
                    _ => {}
                }
            }
        }
    }
}
