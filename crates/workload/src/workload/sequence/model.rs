//! Models the state of a filesystem after each call of a sequence: names and the nodes that they refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contents::fill_pattern;
use super::place::SequencePlace;
use super::step::{BLOCK, SequenceStep};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NodeKind {
    File,
    Directory,
    Symlink,
    Fifo,
}

/// Something that names stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SequenceNode {
    pub(super) kind: NodeKind,
    pub(super) bytes: Arc<Vec<u8>>,
    /// Blocks that were written or set aside, by their number.
    pub(super) blocks: BTreeSet<u32>,
    pub(super) attribute: Option<u8>,
}

/// A name: the number of the directory's node, and the entry's name.
pub(super) type NameKey = (usize, &'static str);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SequenceModel {
    /// A seed for contents, in addition to the number of the write.
    identity: u64,
    writes: u64,
    pub(super) nodes: Vec<SequenceNode>,
    pub(super) names: BTreeMap<NameKey, usize>,
    /// The node that was unlinked or removed last while it was open.
    pub(super) open: Option<usize>,
}

/// Sizes of the two files that are there at first, in bytes.
pub(super) const FOO: u32 = 3 * BLOCK;
pub(super) const BAR: u32 = BLOCK;
/// The value of the attribute that the first of them has.
pub(super) const ATTRIBUTE: u8 = 1;

impl SequenceModel {
    /// Two directories, of which one has two files.
    pub(super) fn with_prepared_files(identity: u64) -> SequenceModel {
        let mut model =
            SequenceModel { identity, writes: 0, nodes: Vec::new(), names: BTreeMap::new(), open: None };
        model.nodes.push(SequenceNode::new(NodeKind::Directory));
        for (at, kind) in [
            (SequencePlace::A, NodeKind::Directory),
            (SequencePlace::B, NodeKind::Directory),
            (SequencePlace::AFoo, NodeKind::File),
            (SequencePlace::ABar, NodeKind::File),
        ] {
            model.make_node(at, kind);
        }
        model.write_bytes(SequencePlace::AFoo, 0, FOO);
        model.write_bytes(SequencePlace::ABar, 0, BAR);
        model.change_file(SequencePlace::AFoo, |node| node.attribute = Some(ATTRIBUTE));
        model
    }

    pub(super) fn resolve(&self, at: SequencePlace) -> Option<usize> {
        at.components().iter().try_fold(0, |directory, name| self.names.get(&(directory, *name)).copied())
    }

    pub(super) fn kind(&self, at: SequencePlace) -> Option<NodeKind> {
        self.node(self.resolve(at)?).map(|node| node.kind)
    }

    pub(super) fn node(&self, number: usize) -> Option<&SequenceNode> {
        self.nodes.get(number)
    }

    /// How many names it has.
    pub(super) fn links(&self, number: usize) -> usize {
        self.names.values().filter(|node| **node == number).count()
    }

    pub(super) fn key(&self, at: SequencePlace) -> Option<NameKey> {
        Some((self.resolve(at.parent())?, *at.components().last()?))
    }

    /// Does it; nothing where it cannot be done.
    pub(super) fn apply_step(&mut self, step: SequenceStep) -> Option<()> {
        use SequenceStep as S;
        match step {
            S::Create(at) | S::LinkUnnamed(at) => self.make_node(at, NodeKind::File),
            S::MakeDirectory(at) => self.make_node(at, NodeKind::Directory),
            S::Symlink(at) => self.make_node(at, NodeKind::Symlink),
            S::MakeFifo(at) => self.make_node(at, NodeKind::Fifo),
            S::Link(from, to) => {
                let (node, key) = (self.file_at(from)?, self.key(to)?);
                if self.names.contains_key(&key) {
                    return None;
                }
                self.names.insert(key, node);
                Some(())
            }
            S::Unlink(at) => {
                (self.kind(at)? != NodeKind::Directory).then_some(())?;
                self.names.remove(&self.key(at)?).map(drop)
            }
            S::UnlinkOpen(at) => {
                let node = self.file_at(at)?;
                self.apply_step(S::Unlink(at))?;
                self.open = Some(node);
                Some(())
            }
            S::RemoveOpenDirectory(at) => {
                let node = self.resolve(at)?;
                self.apply_step(S::RemoveDirectory(at))?;
                self.open = Some(node);
                Some(())
            }
            S::RemoveDirectory(at) => {
                let node = self.resolve(at).filter(|_| self.kind(at) == Some(NodeKind::Directory))?;
                self.names.keys().all(|(directory, _)| *directory != node).then_some(())?;
                self.names.remove(&self.key(at)?).map(drop)
            }
            S::Rename(from, to) => self.rename_node(from, to),
            S::Exchange(one, other) => {
                let (first, second) = (self.key(one)?, self.key(other)?);
                let (a, b) = (*self.names.get(&first)?, *self.names.get(&second)?);
                (a != b).then_some(())?;
                self.names.insert(first, b);
                self.names.insert(second, a);
                Some(())
            }
            S::Write(at, offset, length) | S::WriteDirect(at, offset, length) => {
                self.file_at(at)?;
                self.write_bytes(at, offset, length)
            }
            S::WriteMapped(at, offset, length) => {
                // Behind the end there is nothing to be written through (SIGBUS).
                let size = self.node(self.file_at(at)?)?.bytes.len();
                (size >= (offset + length) as usize).then_some(())?;
                self.write_bytes(at, offset, length)
            }
            S::Clone(from, to) => {
                let (from, onto) = (self.file_at(from)?, self.file_at(to)?);
                (from != onto).then_some(())?;
                let content = self.node(from)?.bytes.clone();
                self.change_file(to, |node| node.take_over(&content))
            }
            S::Append(at, length) => {
                let end = self.node(self.file_at(at)?)?.bytes.len() as u32;
                self.write_bytes(at, end, length)
            }
            S::Truncate(at, size) => {
                let node = self.file_at(at)?;
                (self.node(node)?.bytes.len() != size as usize).then_some(())?;
                self.change_file(at, |node| {
                    Arc::make_mut(&mut node.bytes).resize(size as usize, 0);
                    node.blocks.retain(|block| *block < size.div_ceil(BLOCK));
                })
            }
            S::Allocate(at, offset, length, keep) => {
                self.file_at(at)?;
                self.change_file(at, |node| node.allocate_blocks(offset, length, keep))
            }
            S::ZeroRange(at, offset, length, keep) => {
                self.file_at(at)?;
                self.change_file(at, |node| {
                    node.allocate_blocks(offset, length, keep);
                    node.zero_bytes(offset, length);
                })
            }
            S::PunchHole(at, offset, length) => {
                self.file_at(at)?;
                self.change_file(at, |node| {
                    node.zero_bytes(offset, length);
                    let whole = offset.div_ceil(BLOCK)..(offset + length) / BLOCK;
                    node.blocks.retain(|block| !whole.contains(block));
                })
            }
            S::SetAttribute(at, value) => {
                self.resolve(at)?;
                let takes = matches!(self.kind(at)?, NodeKind::File | NodeKind::Directory);
                takes.then_some(())?;
                self.change_file(at, |node| node.attribute = Some(value))
            }
            S::RemoveAttribute(at) => {
                let node = self.file_at(at)?;
                self.node(node)?.attribute?;
                self.change_file(at, |node| node.attribute = None)
            }
        }
    }

    /// The seed for the content of the next write.
    pub(super) fn next_fill(&self) -> u64 {
        self.identity ^ (self.writes + 1)
    }

    fn file_at(&self, at: SequencePlace) -> Option<usize> {
        self.resolve(at).filter(|_| self.kind(at) == Some(NodeKind::File))
    }

    fn make_node(&mut self, at: SequencePlace, kind: NodeKind) -> Option<()> {
        let key = self.key(at)?;
        let is_directory = self.node(key.0)?.kind == NodeKind::Directory;
        (is_directory && !self.names.contains_key(&key)).then_some(())?;
        self.nodes.push(SequenceNode::new(kind));
        self.names.insert(key, self.nodes.len() - 1);
        Some(())
    }

    fn rename_node(&mut self, from: SequencePlace, to: SequencePlace) -> Option<()> {
        let (old, new) = (self.key(from)?, self.key(to)?);
        let node = *self.names.get(&old)?;
        if let Some(over) = self.names.get(&new).copied() {
            // Two names of the same are left as they are; directories would have to be empty.
            let is_directory = |number| self.node(number).is_none_or(|one| one.kind == NodeKind::Directory);
            (over != node && !is_directory(node) && !is_directory(over)).then_some(())?;
        }
        // A directory cannot be moved into itself.
        (new.0 != node).then_some(())?;
        self.names.remove(&old);
        self.names.insert(new, node);
        Some(())
    }

    fn change_file(&mut self, at: SequencePlace, change: impl FnOnce(&mut SequenceNode)) -> Option<()> {
        let number = self.resolve(at)?;
        self.nodes.get_mut(number).map(change)
    }

    fn write_bytes(&mut self, at: SequencePlace, offset: u32, length: u32) -> Option<()> {
        let with = self.next_fill();
        self.change_file(at, |node| {
            node.allocate_blocks(offset, length, false);
            let range = offset as usize..(offset + length) as usize;
            if let Some(bytes) = Arc::make_mut(&mut node.bytes).get_mut(range) {
                fill_pattern(bytes, with, u64::from(offset));
            }
        })?;
        self.writes += 1;
        Some(())
    }
}

impl SequenceNode {
    fn new(kind: NodeKind) -> SequenceNode {
        SequenceNode { kind, bytes: Arc::default(), blocks: BTreeSet::new(), attribute: None }
    }

    fn allocate_blocks(&mut self, offset: u32, length: u32, keep_size: bool) {
        self.blocks.extend(offset / BLOCK..(offset + length).div_ceil(BLOCK));
        let end = (offset + length) as usize;
        if !keep_size && self.bytes.len() < end {
            Arc::make_mut(&mut self.bytes).resize(end, 0);
        }
    }

    /// The number of allocated blocks is not modelled: preallocated blocks may count as holes.
    fn take_over(&mut self, content: &[u8]) {
        let bytes = Arc::make_mut(&mut self.bytes);
        bytes.resize(bytes.len().max(content.len()), 0);
        if let Some(beginning) = bytes.get_mut(..content.len()) {
            beginning.copy_from_slice(content);
        }
        let behind = (content.len() as u32).div_ceil(BLOCK);
        self.blocks.retain(|block| *block >= behind);
    }

    fn zero_bytes(&mut self, offset: u32, length: u32) {
        let bytes = Arc::make_mut(&mut self.bytes);
        let end = bytes.len().min((offset + length) as usize);
        if let Some(bytes) = bytes.get_mut(offset as usize..end) {
            bytes.fill(0);
        }
    }
}
