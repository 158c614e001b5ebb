//! Models the state of a filesystem after each call of a sequence: names and the nodes that they refer to.

use std::collections::BTreeMap;

use super::contents::fill_pattern;
use super::node::{NodeKind, SequenceNode};
use super::place::SequencePlace;
use super::step::{BLOCK, SequenceStep};

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

/// The initial sizes of the two prepared files, in bytes.
pub(super) const FOO: u32 = 3 * BLOCK;
pub(super) const BAR: u32 = BLOCK;
/// The value of the attribute of the first prepared file.
pub(super) const ATTRIBUTE: u8 = 1;

impl SequenceModel {
    /// Creates the initial state: two directories, one of them with two files.
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
        model.change_node(SequencePlace::AFoo, |node| node.attribute = Some(ATTRIBUTE));
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

    /// The number of names of a node.
    pub(super) fn links(&self, number: usize) -> usize {
        self.names.values().filter(|node| **node == number).count()
    }

    pub(super) fn key(&self, at: SequencePlace) -> Option<NameKey> {
        Some((self.resolve(at.parent())?, *at.components().last()?))
    }

    /// Applies a step to the state; `None` if the step is impossible in it.
    pub(super) fn apply_step(&mut self, step: SequenceStep) -> Option<()> {
        use SequenceStep as S;
        match step {
            S::Create(at) | S::LinkUnnamed(at) => self.make_node(at, NodeKind::File),
            S::MakeDirectory(at) => self.make_node(at, NodeKind::Directory),
            S::Symlink(at) => self.make_node(at, NodeKind::Symlink),
            S::MakeFifo(at) => self.make_node(at, NodeKind::Fifo),
            S::Link(from, to) => self.link_file(from, to),
            S::Unlink(at) => self.unlink_node(at),
            S::UnlinkOpen(at) => {
                let node = self.file_at(at)?;
                self.unlink_node(at)?;
                self.open = Some(node);
                Some(())
            }
            S::RemoveDirectory(at) => self.remove_directory(at),
            S::RemoveOpenDirectory(at) => {
                let node = self.resolve(at)?;
                self.remove_directory(at)?;
                self.open = Some(node);
                Some(())
            }
            S::Rename(from, to) => self.rename_node(from, to),
            S::Exchange(one, other) => self.exchange_names(one, other),
            S::Write(at, offset, length) | S::WriteDirect(at, offset, length) => {
                self.file_at(at)?;
                self.write_bytes(at, offset, length)
            }
            S::WriteMapped(at, offset, length) => {
                // A mapping cannot be written beyond the end of the file (SIGBUS).
                (self.file_size(at)? >= (offset + length) as usize).then_some(())?;
                self.write_bytes(at, offset, length)
            }
            S::Clone(from, to) => self.clone_content(from, to),
            S::Append(at, length) => self.write_bytes(at, self.file_size(at)? as u32, length),
            S::Truncate(at, size) => {
                (self.file_size(at)? != size as usize).then_some(())?;
                self.change_node(at, |node| node.truncate(size))
            }
            S::Allocate(at, offset, length, keep_size) => {
                self.file_at(at)?;
                self.change_node(at, |node| node.allocate_blocks(offset, length, keep_size))
            }
            S::ZeroRange(at, offset, length, keep_size) => {
                self.file_at(at)?;
                self.change_node(at, |node| {
                    node.allocate_blocks(offset, length, keep_size);
                    node.zero_bytes(offset, length);
                })
            }
            S::PunchHole(at, offset, length) => {
                self.file_at(at)?;
                self.change_node(at, |node| node.punch_hole(offset, length))
            }
            S::SetAttribute(at, value) => {
                matches!(self.kind(at)?, NodeKind::File | NodeKind::Directory).then_some(())?;
                self.change_node(at, |node| node.attribute = Some(value))
            }
            S::RemoveAttribute(at) => {
                self.node(self.file_at(at)?)?.attribute?;
                self.change_node(at, |node| node.attribute = None)
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

    fn file_size(&self, at: SequencePlace) -> Option<usize> {
        Some(self.node(self.file_at(at)?)?.bytes.len())
    }

    fn make_node(&mut self, at: SequencePlace, kind: NodeKind) -> Option<()> {
        let key = self.key(at)?;
        let is_directory = self.node(key.0)?.kind == NodeKind::Directory;
        (is_directory && !self.names.contains_key(&key)).then_some(())?;
        self.nodes.push(SequenceNode::new(kind));
        self.names.insert(key, self.nodes.len() - 1);
        Some(())
    }

    fn link_file(&mut self, from: SequencePlace, to: SequencePlace) -> Option<()> {
        let (node, key) = (self.file_at(from)?, self.key(to)?);
        (!self.names.contains_key(&key)).then_some(())?;
        self.names.insert(key, node);
        Some(())
    }

    fn unlink_node(&mut self, at: SequencePlace) -> Option<()> {
        (self.kind(at)? != NodeKind::Directory).then_some(())?;
        self.names.remove(&self.key(at)?).map(drop)
    }

    fn remove_directory(&mut self, at: SequencePlace) -> Option<()> {
        let node = self.resolve(at).filter(|_| self.kind(at) == Some(NodeKind::Directory))?;
        self.names.keys().all(|(directory, _)| *directory != node).then_some(())?;
        self.names.remove(&self.key(at)?).map(drop)
    }

    fn exchange_names(&mut self, one: SequencePlace, other: SequencePlace) -> Option<()> {
        let (first, second) = (self.key(one)?, self.key(other)?);
        let (a, b) = (*self.names.get(&first)?, *self.names.get(&second)?);
        (a != b).then_some(())?;
        self.names.insert(first, b);
        self.names.insert(second, a);
        Some(())
    }

    fn clone_content(&mut self, from: SequencePlace, to: SequencePlace) -> Option<()> {
        let (from, onto) = (self.file_at(from)?, self.file_at(to)?);
        (from != onto).then_some(())?;
        let content = self.node(from)?.bytes.clone();
        self.change_node(to, |node| node.replace_beginning(&content))
    }

    fn rename_node(&mut self, from: SequencePlace, to: SequencePlace) -> Option<()> {
        let (old, new) = (self.key(from)?, self.key(to)?);
        let node = *self.names.get(&old)?;
        if let Some(over) = self.names.get(&new).copied() {
            // Renaming between two names of the same node does nothing; a directory would have to be empty.
            let is_directory = |number| self.node(number).is_none_or(|node| node.kind == NodeKind::Directory);
            (over != node && !is_directory(node) && !is_directory(over)).then_some(())?;
        }
        // A directory cannot be moved into itself.
        (new.0 != node).then_some(())?;
        self.names.remove(&old);
        self.names.insert(new, node);
        Some(())
    }

    fn change_node(&mut self, at: SequencePlace, change: impl FnOnce(&mut SequenceNode)) -> Option<()> {
        let number = self.resolve(at)?;
        self.nodes.get_mut(number).map(change)
    }

    fn write_bytes(&mut self, at: SequencePlace, offset: u32, length: u32) -> Option<()> {
        let with = self.next_fill();
        self.change_node(at, |node| {
            node.allocate_blocks(offset, length, false);
            let range = offset as usize..(offset + length) as usize;
            if let Some(bytes) = node.bytes_mut().get_mut(range) {
                fill_pattern(bytes, with, u64::from(offset));
            }
        })?;
        self.writes += 1;
        Some(())
    }
}
