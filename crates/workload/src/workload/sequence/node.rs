//! A node in the model of a filesystem: its kind, content, blocks and attribute.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::step::BLOCK;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NodeKind {
    File,
    Directory,
    Symlink,
    Fifo,
}

/// A file, directory, symbolic link or FIFO to which names refer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SequenceNode {
    pub(super) kind: NodeKind,
    pub(super) bytes: Arc<Vec<u8>>,
    /// The numbers of the blocks that were written or allocated.
    pub(super) blocks: BTreeSet<u32>,
    pub(super) attribute: Option<u8>,
}

impl SequenceNode {
    pub(super) fn new(kind: NodeKind) -> SequenceNode {
        SequenceNode { kind, bytes: Arc::default(), blocks: BTreeSet::new(), attribute: None }
    }

    pub(super) fn allocate_blocks(&mut self, offset: u32, length: u32, keep_size: bool) {
        self.blocks.extend(offset / BLOCK..(offset + length).div_ceil(BLOCK));
        let end = (offset + length) as usize;
        if !keep_size && self.bytes.len() < end {
            self.bytes_mut().resize(end, 0);
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.bytes)
    }

    pub(super) fn truncate(&mut self, size: u32) {
        self.bytes_mut().resize(size as usize, 0);
        self.blocks.retain(|block| *block < size.div_ceil(BLOCK));
    }

    pub(super) fn punch_hole(&mut self, offset: u32, length: u32) {
        self.zero_bytes(offset, length);
        let whole = offset.div_ceil(BLOCK)..(offset + length) / BLOCK;
        self.blocks.retain(|block| !whole.contains(block));
    }

    /// Replaces the beginning of the content by that of a cloned file.
    ///
    /// The number of allocated blocks is not modelled: preallocated blocks may count as holes.
    pub(super) fn replace_beginning(&mut self, content: &[u8]) {
        let bytes = self.bytes_mut();
        bytes.resize(bytes.len().max(content.len()), 0);
        if let Some(beginning) = bytes.get_mut(..content.len()) {
            beginning.copy_from_slice(content);
        }
        let behind = (content.len() as u32).div_ceil(BLOCK);
        self.blocks.retain(|block| *block >= behind);
    }

    pub(super) fn zero_bytes(&mut self, offset: u32, length: u32) {
        let bytes = self.bytes_mut();
        let end = bytes.len().min((offset + length) as usize);
        if let Some(bytes) = bytes.get_mut(offset as usize..end) {
            bytes.fill(0);
        }
    }
}
