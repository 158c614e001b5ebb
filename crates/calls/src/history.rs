//! The history of a model of files, and the one oracle of power cuts: which names, contents and metadata may be found
//! after a cut, given the calls that made something durable.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::content::SegmentOrigin;
use super::content_versions::ContentVersions;
use super::model::{FileModel, ModelChange, NameKey, NodeKind, RenamedNode, keys_of};

/// The parts of a file that a call makes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromisedPart {
    /// Content alone (fdatasync(2), O_DSYNC).
    Data,
    /// Content, metadata and, as most filesystems have it, the file's names; of a directory the names in it.
    Everything,
}

/// Names and nodes by version: each step that changes something makes the next one.
#[derive(Debug)]
pub struct FileHistory {
    version: u32,
    names: BTreeMap<NameKey, Vec<(u32, Option<usize>)>>,
    nodes: Vec<NodeHistory>,
    renamed: Vec<RenamedNode>,
    /// The first version that is promised of everything, because of a sync.
    all: u32,
    /// The same of a name, because of an fsync of the file under it: only the strictest reading of POSIX does not expect
    /// this.
    entries: BTreeMap<NameKey, u32>,
}

#[derive(Debug)]
struct NodeHistory {
    kind: NodeKind,
    created: u32,
    bytes: Vec<ByteChange>,
    metadata: Vec<(u32, NodeMetadata)>,
    /// Every name that it had, and each name that a rename took from it with the first version without it.
    keys: BTreeSet<NameKey>,
    left: Vec<(NameKey, u32)>,
    /// Whether its names were exchanged with another's (renameat2(2), RENAME_EXCHANGE): it is not agreed whether an
    /// fsync of the file persists its names.
    exchanged: bool,
    /// Whether it had no name in some version.
    was_nameless: bool,
    /// The first promised versions of content, metadata and, of a directory, the names in it.
    content: u32,
    rest: u32,
}

#[derive(Debug)]
struct ByteChange {
    version: u32,
    bytes: Range<u64>,
    origin: Option<SegmentOrigin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NodeMetadata {
    size: u64,
    held: u64,
    attribute: Option<u8>,
}

impl FileHistory {
    /// Begins with the current state, which is durable.
    pub fn new(model: &mut FileModel) -> Self {
        model.keep_changes();
        let mut history = FileHistory {
            version: 0,
            names: model.names().iter().map(|(key, node)| (*key, vec![(0, Some(*node))])).collect(),
            nodes: Vec::new(),
            renamed: Vec::new(),
            all: 0,
            entries: BTreeMap::new(),
        };
        history.note_new_nodes(model);
        for (key, node) in model.names() {
            if let Some(node) = history.nodes.get_mut(*node) {
                node.keys.insert(*key);
            }
        }
        for (history, node) in history.nodes.iter_mut().zip(model.nodes()) {
            history.bytes.extend(node.content.segments.iter().map(|(start, segment)| ByteChange {
                version: 0,
                bytes: *start..segment.end,
                origin: Some(segment.origin),
            }));
        }
        history
    }

    fn note_new_nodes(&mut self, model: &FileModel) {
        for number in self.nodes.len()..model.nodes().len() {
            let Some(node) = model.node(number) else { return };
            self.nodes.push(NodeHistory {
                kind: node.kind,
                created: self.version,
                bytes: Vec::new(),
                metadata: Vec::new(),
                keys: BTreeSet::new(),
                left: Vec::new(),
                exchanged: false,
                was_nameless: false,
                content: 0,
                rest: 0,
            });
            self.note_metadata(model, number);
        }
    }

    fn note_metadata(&mut self, model: &FileModel, number: usize) {
        let (Some(history), Some(node)) = (self.nodes.get_mut(number), model.node(number)) else { return };
        let (size, held) = (node.content.size, node.blocks.bytes_held());
        let metadata = NodeMetadata { size, held, attribute: node.attribute };
        match history.metadata.last_mut() {
            Some((_, last)) if *last == metadata => {}
            Some((version, last)) if *version == self.version => *last = metadata,
            _ => history.metadata.push((self.version, metadata)),
        }
    }

    /// Notes the changes of a call.
    pub fn note_step(&mut self, model: &mut FileModel) {
        let changes = model.take_changes();
        self.version += u32::from(!changes.is_empty());
        self.note_new_nodes(model);
        let version = self.version;
        for change in changes {
            match change {
                ModelChange::Name(key, before) => {
                    let node = model.node_named(key);
                    let versions = self.names.entry(key).or_default();
                    versions.retain(|(at, _)| *at < version);
                    versions.push((version, node));
                    if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
                        node.keys.insert(key);
                    }
                    let is_nameless = |node: &usize| model.node(*node).is_some_and(|node| node.links == 0);
                    if let Some(node) = before.filter(is_nameless).and_then(|node| self.nodes.get_mut(node)) {
                        node.was_nameless = true;
                    }
                }
                ModelChange::Renamed(renamed, exchanged) => {
                    self.renamed.push(renamed);
                    if let Some(node) = self.nodes.get_mut(renamed.node) {
                        node.left.push((renamed.from, version));
                        node.exchanged |= exchanged;
                    }
                }
                ModelChange::Bytes { node, start, end, origin } => {
                    if let Some(node) = self.nodes.get_mut(node) {
                        node.bytes.push(ByteChange { version, bytes: start..end, origin });
                    }
                }
                ModelChange::Metadata(node) => self.note_metadata(model, node),
            }
        }
    }

    /// Everything so far is durable (sync(2), syncfs(2)).
    pub fn promise_all(&mut self) {
        self.all = self.version;
    }

    /// A node is durable in its current state (fsync(2), fdatasync(2)).
    pub fn promise_node(&mut self, model: &FileModel, number: usize, part: PromisedPart) {
        let version = self.version;
        let Some(node) = self.nodes.get_mut(number) else { return };
        match (part, node.kind) {
            (PromisedPart::Data, _) => {
                node.content = version;
                return;
            }
            (PromisedPart::Everything, NodeKind::Directory) => node.rest = version,
            (PromisedPart::Everything, _) => (node.content, node.rest) = (version, version),
        }
        if node.exchanged {
            return;
        }
        // Its current names, and the removal of names that a rename took from it. The file that has such a name since
        // was not synced with it.
        let current = node.keys.iter().filter(|key| model.node_named(**key) == Some(number));
        for (key, version) in current.map(|key| (*key, version)).chain(node.left.iter().copied()) {
            let entry = self.entries.entry(key).or_insert(version);
            *entry = version.max(*entry);
        }
    }

    /// The labels of all names that a directory ever had.
    pub fn labels_of(&self, directory: usize) -> impl Iterator<Item = u32> {
        self.names.range(keys_of(directory)).map(|(key, _)| key.label)
    }

    /// The first version of a name that may be found, because of a sync or an fsync of its directory.
    fn promised_name(&self, key: NameKey) -> u32 {
        self.nodes.get(key.directory).map_or(0, |directory| directory.rest).max(self.all)
    }

    /// The nodes that a name may have as an fsync of its directory or a sync has it; `None` if it may be absent.
    pub fn nodes_by_directory(&self, key: NameKey) -> Vec<Option<usize>> {
        self.nodes_since(key, self.promised_name(key))
    }

    /// The same as an fsync of the file under that name has it, too.
    pub fn nodes_by_entry(&self, key: NameKey) -> Vec<Option<usize>> {
        let entry = self.entries.get(&key).copied().unwrap_or(0);
        self.nodes_since(key, entry.max(self.promised_name(key)))
    }

    /// The nodes that a name had in this version and after it.
    pub fn nodes_since(&self, key: NameKey, version: u32) -> Vec<Option<usize>> {
        let versions = self.names.get(&key).map(Vec::as_slice).unwrap_or_default();
        let later = versions.partition_point(|(at, _)| *at <= version);
        let at_version = later.checked_sub(1).and_then(|at| versions.get(at)).and_then(|(_, node)| *node);
        let later = versions.get(later..).unwrap_or_default();
        std::iter::once(at_version).chain(later.iter().map(|(_, node)| *node)).collect()
    }

    /// Whether a name was there before the first step, and no sync followed.
    pub fn was_there_at_first(&self, key: NameKey) -> bool {
        self.all == 0 && self.first_node(key).is_some()
    }

    fn first_node(&self, key: NameKey) -> Option<usize> {
        self.names.get(&key)?.first().filter(|(version, _)| *version == 0)?.1
    }

    pub fn kind_of(&self, node: usize) -> Option<NodeKind> {
        self.nodes.get(node).map(|node| node.kind)
    }

    /// Whether a node was there before the first step.
    pub fn is_old(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.created == 0)
    }

    fn promised_content(&self, node: &NodeHistory) -> u32 {
        node.content.max(self.all)
    }

    /// Whether a call made the content of a node durable since the first step.
    pub fn has_promised_content(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| self.promised_content(node) > 0)
    }

    /// The contents that a node may have after a cut.
    pub fn allowed_content(&self, node: usize) -> Option<ContentVersions> {
        let node = self.nodes.get(node)?;
        Some(node.contents_since(self.promised_content(node)))
    }

    /// The contents that a node had at any time.
    pub fn all_content(&self, node: usize) -> Option<ContentVersions> {
        Some(self.nodes.get(node)?.contents_since(0))
    }

    /// The attributes that a node may have.
    pub fn allowed_attributes(&self, node: usize) -> Vec<Option<u8>> {
        let Some(node) = self.nodes.get(node) else { return Vec::new() };
        node.metadata_since(node.rest.max(self.all)).map(|metadata| metadata.attribute).collect()
    }

    /// The least bytes in blocks that a node may have.
    pub fn least_held(&self, node: usize) -> u64 {
        let Some(node) = self.nodes.get(node) else { return 0 };
        let held = node.metadata_since(self.promised_content(node)).map(|metadata| metadata.held);
        held.min().unwrap_or(0)
    }

    pub fn renamed(&self) -> &[RenamedNode] {
        &self.renamed
    }

    /// Whether two names ever referred to the same node at the same time.
    pub fn were_same(&self, one: NameKey, other: NameKey) -> bool {
        let versions = [one, other].into_iter().flat_map(|key| self.names.get(&key)).flatten();
        let at = |key, version| self.nodes_since(key, version).first().copied().flatten();
        versions.map(|(version, _)| *version).any(|version| {
            let node = at(one, version);
            node.is_some() && node == at(other, version)
        })
    }

    /// The nodes that were there before the first step and always had a name, each with the label of its first one.
    pub fn kept_nodes(&self) -> impl Iterator<Item = (usize, u32)> {
        let old = self.nodes.iter().enumerate().skip(1);
        old.filter(|(_, node)| node.created == 0 && !node.was_nameless).map(|(number, node)| {
            let first = node.keys.iter().find(|key| self.first_node(**key) == Some(number));
            (number, first.map_or(0, |key| key.label))
        })
    }

    /// The names that a node ever had.
    pub fn keys_of_node(&self, node: usize) -> impl Iterator<Item = NameKey> {
        self.nodes.get(node).into_iter().flat_map(|node| node.keys.iter().copied())
    }
}

impl NodeHistory {
    fn metadata_since(&self, version: u32) -> impl Iterator<Item = NodeMetadata> {
        let later = self.metadata.partition_point(|(at, _)| *at <= version);
        let since = self.metadata.get(later.saturating_sub(1)..).unwrap_or_default();
        since.iter().map(|(_, metadata)| *metadata)
    }

    fn contents_since(&self, version: u32) -> ContentVersions {
        let version = version.max(self.created);
        let later = self.bytes.partition_point(|change| change.version <= version);
        let (before, later) = self.bytes.split_at(later);
        let sizes = || self.metadata_since(version).map(|metadata| metadata.size);
        let mut versions = ContentVersions::new(sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        for change in before {
            versions.add_first(&change.bytes, change.origin);
        }
        for change in later {
            versions.add_later(&change.bytes, change.origin);
        }
        versions
    }
}
