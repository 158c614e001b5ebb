//! Numbers out of an image, wherever they are said to lie: what is not there is none.

use xxhash_rust::xxh3::xxh3_128;

use fsverdict_disk::crash::ROT_BLOCK;
use fsverdict_disk::device::Store;

/// Bytes.
pub const BLOCK: u64 = ROT_BLOCK;
/// No structure is longer, bytes.
const LONGEST: u64 = 1 << 20;

/// An image, and which of its blocks were written, in the order of the last write to each.
#[derive(Debug, Clone, Copy)]
pub struct ImageReader<'a> {
    store: &'a Store,
    written: &'a [u64],
}

/// By which the content of a block is known again.
pub(super) fn digest(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

impl<'a> ImageReader<'a> {
    pub fn new(store: &'a Store, written: &'a [u64]) -> ImageReader<'a> {
        ImageReader { store, written }
    }

    pub(super) fn written(&self) -> &'a [u64] {
        self.written
    }

    /// So many bytes at this place.
    pub(super) fn bytes(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length.min(LONGEST)).ok()?];
        self.store.read_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    pub(super) fn block(&self, block: u64) -> Option<Vec<u8>> {
        self.bytes(block.checked_mul(BLOCK)?, BLOCK)
    }

    /// The blocks that were written within these bytes and hold something.
    pub(super) fn filled(&self, offset: u64, bytes: u64) -> Vec<u64> {
        let (first, end) = (offset / BLOCK, offset.saturating_add(bytes).div_ceil(BLOCK));
        let within = self.written.iter().copied().filter(|block| (first..end).contains(block));
        within
            .filter(|block| self.block(*block).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)))
            .collect()
    }
}

/// Little-endian numbers in a piece of memory; 0 beyond its end.
pub(super) fn le16(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 2, false)
}

pub(super) fn le32(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 4, false)
}

pub(super) fn le64(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 8, false)
}

/// Big-endian ones.
pub(super) fn be16(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 2, true)
}

pub(super) fn be32(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 4, true)
}

pub(super) fn be64(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 8, true)
}

fn number(bytes: &[u8], at: usize, length: usize, is_big: bool) -> u64 {
    let piece = at.checked_add(length).and_then(|end| bytes.get(at..end)).unwrap_or_default();
    let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    if is_big { piece.iter().fold(0, add) } else { piece.iter().rev().fold(0, add) }
}
