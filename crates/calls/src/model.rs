//! The one model of files: directories, names, and the nodes to which they refer. Calls of traces and of short sequences
//! are applied to it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::content::{FileContent, SegmentOrigin};

/// The block size that the model assumes, in bytes.
pub const MODEL_BLOCK: u64 = 4096;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the file type of its name")]
pub enum NodeKind {
    File,
    Directory,
    Symlink,
    Fifo,
}

/// A name: the node of its directory, and a number that stands for its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameKey {
    pub directory: usize,
    pub label: u32,
}

/// A file, directory, symbolic link or FIFO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNode {
    pub kind: NodeKind,
    /// How many files had been made before it.
    pub file: u32,
    /// The number of its names.
    pub links: u32,
    pub content: FileContent,
    /// The blocks that were written or set aside, as far as calls note them.
    pub blocks: FileContent,
    /// The value of its extended attribute.
    pub attribute: Option<u8>,
}

/// A change of the model, of which a history is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelChange {
    /// A name refers to another node than this one.
    Name(NameKey, Option<usize>),
    /// A node has a new name in place of another; `true` if two names were exchanged.
    Renamed(RenamedNode, bool),
    /// Bytes of a node were overwritten.
    Bytes { node: usize, start: u64, end: u64, origin: Option<SegmentOrigin> },
    /// Size, blocks or attribute of a node.
    Metadata(usize),
}

/// A node that a rename gave another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenamedNode {
    pub node: usize,
    pub from: NameKey,
    pub to: NameKey,
}

/// The names and nodes after some call. The root is node 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileModel {
    nodes: Vec<FileNode>,
    names: BTreeMap<NameKey, usize>,
    files: u32,
    bytes: u64,
    /// The changes since they were last taken, where a history is kept.
    changes: Option<Vec<ModelChange>>,
}

impl Default for FileModel {
    fn default() -> Self {
        let mut model =
            FileModel { nodes: Vec::new(), names: BTreeMap::new(), files: 0, bytes: 0, changes: None };
        model.new_node(NodeKind::Directory);
        model
    }
}

impl FileModel {
    pub fn node(&self, number: usize) -> Option<&FileNode> {
        self.nodes.get(number)
    }

    /// All nodes, also those without a name.
    pub fn nodes(&self) -> &[FileNode] {
        &self.nodes
    }

    pub fn node_named(&self, key: NameKey) -> Option<usize> {
        self.names.get(&key).copied()
    }

    /// The existing names of a directory, with their nodes.
    pub fn entries_of(&self, directory: usize) -> impl Iterator<Item = (NameKey, usize)> {
        self.names.range(keys_of(directory)).map(|(key, node)| (*key, *node))
    }

    pub(super) fn names(&self) -> &BTreeMap<NameKey, usize> {
        &self.names
    }

    /// Bytes of all files that were ever there, as they are now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_directory(&self, node: usize) -> bool {
        self.is_kind(node, NodeKind::Directory)
    }

    pub fn is_file(&self, node: usize) -> bool {
        self.is_kind(node, NodeKind::File)
    }

    fn is_kind(&self, node: usize, kind: NodeKind) -> bool {
        self.node(node).is_some_and(|node| node.kind == kind)
    }

    /// Notes changes from now on.
    pub(super) fn keep_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    pub(super) fn take_changes(&mut self) -> Vec<ModelChange> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, change: ModelChange) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    /// A node that has no name yet.
    pub fn new_node(&mut self, kind: NodeKind) -> usize {
        let (content, blocks) = (FileContent::default(), FileContent::default());
        self.nodes.push(FileNode { kind, file: self.files, links: 0, content, blocks, attribute: None });
        self.files += u32::from(kind == NodeKind::File);
        self.nodes.len() - 1
    }

    /// Makes a node under a name that is free, in a directory; `None` where that is impossible.
    pub fn make_node(&mut self, key: NameKey, kind: NodeKind) -> Option<usize> {
        self.require_free(key)?;
        let node = self.new_node(kind);
        self.set_name(key, Some(node));
        Some(node)
    }

    fn require_free(&self, key: NameKey) -> Option<()> {
        (self.is_directory(key.directory) && !self.names.contains_key(&key)).then_some(())
    }

    fn set_name(&mut self, key: NameKey, node: Option<usize>) {
        let before = match node {
            Some(node) => self.names.insert(key, node),
            None => self.names.remove(&key),
        };
        for (node, more) in [(before, false), (node, true)] {
            if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
                node.links = if more { node.links + 1 } else { node.links.saturating_sub(1) };
            }
        }
        self.note(ModelChange::Name(key, before));
    }

    /// Gives a node another name.
    pub fn link_node(&mut self, node: usize, key: NameKey) -> Option<()> {
        self.require_free(key)?;
        self.set_name(key, Some(node));
        Some(())
    }

    /// Removes the name of anything but a directory.
    pub fn unlink(&mut self, key: NameKey) -> Option<()> {
        let node = self.node_named(key)?;
        (!self.is_directory(node)).then(|| self.set_name(key, None))
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, key: NameKey) -> Option<()> {
        let node = self.node_named(key).filter(|node| self.is_directory(*node))?;
        let is_empty = self.entries_of(node).next().is_none();
        is_empty.then(|| self.set_name(key, None))
    }

    /// Renames a node, over another one that is no directory.
    pub fn rename(&mut self, from: NameKey, to: NameKey) -> Option<()> {
        let node = self.node_named(from)?;
        if let Some(over) = self.node_named(to) {
            // Renaming between two names of the same node does nothing; a directory would have to be empty.
            (over != node && !self.is_directory(node) && !self.is_directory(over)).then_some(())?;
        }
        // A directory cannot be moved into itself.
        (to.directory != node && self.is_directory(to.directory)).then_some(())?;
        self.note(ModelChange::Renamed(RenamedNode { node, from, to }, false));
        self.set_name(from, None);
        self.set_name(to, Some(node));
        Some(())
    }

    /// Exchanges two names (renameat2(2), RENAME_EXCHANGE).
    pub fn exchange(&mut self, one: NameKey, other: NameKey) -> Option<()> {
        let (first, second) = (self.node_named(one)?, self.node_named(other)?);
        (first != second).then_some(())?;
        self.note(ModelChange::Renamed(RenamedNode { node: first, from: one, to: other }, true));
        self.note(ModelChange::Renamed(RenamedNode { node: second, from: other, to: one }, true));
        self.set_name(one, Some(second));
        self.set_name(other, Some(first));
        Some(())
    }

    /// Overwrites bytes of a file by those of an origin, or by zeros. Only bytes of an origin make a file longer.
    pub fn overwrite(&mut self, node: usize, bytes: Range<u64>, origin: Option<SegmentOrigin>) -> Option<()> {
        let file = self.nodes.get_mut(node)?;
        let size = file.content.size;
        let (before, after) = file.content.overwrite_range(bytes.start, bytes.end, origin);
        let has_grown = file.content.size != size;
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
        self.note(ModelChange::Bytes { node, start: bytes.start, end: bytes.end, origin });
        if has_grown {
            self.note(ModelChange::Metadata(node));
        }
        Some(())
    }

    /// Truncates or extends a file.
    pub fn set_size(&mut self, node: usize, size: u64) -> Option<()> {
        if size < self.node(node)?.content.size {
            self.overwrite(node, size..u64::MAX, None)?;
        }
        self.free_blocks(node, size.next_multiple_of(MODEL_BLOCK)..u64::MAX)?;
        self.nodes.get_mut(node)?.content.size = size;
        self.note(ModelChange::Metadata(node));
        Some(())
    }

    /// Extends a file to a size, if it is shorter.
    pub fn grow_to(&mut self, node: usize, size: u64) -> Option<()> {
        let content = &mut self.nodes.get_mut(node)?.content;
        content.size = content.size.max(size);
        self.note(ModelChange::Metadata(node));
        Some(())
    }

    /// Notes that a file has the blocks of these bytes.
    pub fn allocate_blocks(&mut self, node: usize, bytes: Range<u64>) -> Option<()> {
        const HELD: SegmentOrigin = SegmentOrigin { file: 0, shift: 0, written: 0 };
        let (start, end) = (bytes.start / MODEL_BLOCK * MODEL_BLOCK, bytes.end.next_multiple_of(MODEL_BLOCK));
        self.nodes.get_mut(node)?.blocks.overwrite_range(start, end, Some(HELD));
        self.note(ModelChange::Metadata(node));
        Some(())
    }

    /// Notes that a file no longer has the whole blocks among these bytes.
    pub fn free_blocks(&mut self, node: usize, bytes: Range<u64>) -> Option<()> {
        let (start, end) = (bytes.start.next_multiple_of(MODEL_BLOCK), bytes.end / MODEL_BLOCK * MODEL_BLOCK);
        self.nodes.get_mut(node)?.blocks.overwrite_range(start, end.max(start), None);
        self.note(ModelChange::Metadata(node));
        Some(())
    }

    /// Copies bytes from file to file; a copy of a hole is a hole.
    pub fn copy_range(&mut self, from: (usize, u64), to: (usize, u64), length: u64) -> Option<()> {
        let (from_end, end) = (from.1.checked_add(length)?, to.1.checked_add(length)?);
        let copied = self.node(from.0)?.content.segments_in(from.1, from_end);
        self.overwrite(to.0, to.1..end, None)?;
        let shift = to.1 as i64 - from.1 as i64;
        for (start, segment) in copied {
            let moved = |at: u64| at.saturating_add_signed(shift);
            let origin =
                SegmentOrigin { shift: segment.origin.shift.saturating_add(shift), ..segment.origin };
            self.overwrite(to.0, moved(start)..moved(segment.end), Some(origin))?;
        }
        self.grow_to(to.0, end)
    }

    pub fn set_attribute(&mut self, node: usize, value: Option<u8>) -> Option<()> {
        self.nodes.get_mut(node)?.attribute = value;
        self.note(ModelChange::Metadata(node));
        Some(())
    }
}

/// All names that a directory may have.
pub(super) fn keys_of(directory: usize) -> Range<NameKey> {
    NameKey { directory, label: 0 }..NameKey { directory: directory + 1, label: 0 }
}
