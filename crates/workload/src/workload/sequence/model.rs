//! Applies the steps of a sequence to the model of files.

use fsverdict_calls::{
    FileHistory, FileModel, FileNode, MODEL_BLOCK, NameKey, NodeKind, PromisedPart, SegmentOrigin,
};

use super::contents::fill_pattern;
use super::place::SequencePlace;
use super::step::{BLOCK, SequencePersist, SequenceStep};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SequenceModel {
    /// A seed for contents, in addition to the number of the write.
    identity: u64,
    writes: u32,
    pub(super) files: FileModel,
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
        let mut model = SequenceModel { identity, writes: 0, files: FileModel::default(), open: None };
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
        if let Some(node) = model.resolve(SequencePlace::AFoo) {
            model.files.set_attribute(node, Some(ATTRIBUTE));
        }
        model
    }

    /// Notes in a history what a call makes durable.
    pub(super) fn promise(&self, history: &mut FileHistory, persist: SequencePersist) {
        let (place, part) = match persist {
            SequencePersist::Sync => return history.promise_all(),
            SequencePersist::Fsync(place) => (place, PromisedPart::Everything),
            SequencePersist::Fdatasync(place) => (place, PromisedPart::Data),
            // A node without a name has no guarantees of its own; the filesystem must mount, and all other guarantees hold.
            SequencePersist::FsyncOpen => return,
        };
        if let Some(node) = self.resolve(place) {
            history.promise_node(&self.files, node, part);
        }
    }

    pub(super) fn resolve(&self, at: SequencePlace) -> Option<usize> {
        at.labels().try_fold(0, |directory, label| self.files.node_named(NameKey { directory, label }))
    }

    pub(super) fn kind(&self, at: SequencePlace) -> Option<NodeKind> {
        self.node(at).map(|node| node.kind)
    }

    pub(super) fn node(&self, at: SequencePlace) -> Option<&FileNode> {
        self.files.node(self.resolve(at)?)
    }

    fn key(&self, at: SequencePlace) -> Option<NameKey> {
        Some(NameKey { directory: self.resolve(at.parent())?, label: at.labels().last()? })
    }

    /// Applies a step to the state; `None` if the step is impossible in it.
    pub(super) fn apply_step(&mut self, step: SequenceStep) -> Option<()> {
        use SequenceStep as S;
        match step {
            S::Create(at) | S::LinkUnnamed(at) => self.make_node(at, NodeKind::File),
            S::MakeDirectory(at) => self.make_node(at, NodeKind::Directory),
            S::Symlink(at) => self.make_node(at, NodeKind::Symlink),
            S::MakeFifo(at) => self.make_node(at, NodeKind::Fifo),
            S::Link(from, to) => self.files.link_node(self.file_at(from)?, self.key(to)?),
            S::Unlink(at) => self.files.unlink(self.key(at)?),
            S::UnlinkOpen(at) => {
                let node = self.file_at(at)?;
                self.files.unlink(self.key(at)?)?;
                self.open = Some(node);
                Some(())
            }
            S::RemoveDirectory(at) => self.files.remove_directory(self.key(at)?),
            S::RemoveOpenDirectory(at) => {
                let node = self.resolve(at)?;
                self.files.remove_directory(self.key(at)?)?;
                self.open = Some(node);
                Some(())
            }
            S::Rename(from, to) => self.files.rename(self.key(from)?, self.key(to)?),
            S::Exchange(one, other) => self.files.exchange(self.key(one)?, self.key(other)?),
            S::Write(at, offset, length) | S::WriteDirect(at, offset, length) => {
                self.write_bytes(at, offset, length)
            }
            S::WriteMapped(at, offset, length) => {
                // A mapping cannot be written beyond the end of the file (SIGBUS).
                (self.file_size(at)? >= offset + length).then_some(())?;
                self.write_bytes(at, offset, length)
            }
            S::Clone(from, to) => self.clone_content(from, to),
            S::Append(at, length) => self.write_bytes(at, self.file_size(at)?, length),
            S::Truncate(at, size) => {
                (self.file_size(at)? != size).then_some(())?;
                self.files.set_size(self.file_at(at)?, u64::from(size))
            }
            S::Allocate(at, offset, length, keep_size) => {
                self.allocate(self.file_at(at)?, offset, length, keep_size)
            }
            S::ZeroRange(at, offset, length, keep_size) => {
                let node = self.file_at(at)?;
                self.allocate(node, offset, length, keep_size)?;
                self.files.overwrite(node, to_range(offset, length), None)
            }
            S::PunchHole(at, offset, length) => {
                let node = self.file_at(at)?;
                self.files.overwrite(node, to_range(offset, length), None)?;
                self.files.free_blocks(node, to_range(offset, length))
            }
            S::SetAttribute(at, value) => {
                matches!(self.kind(at)?, NodeKind::File | NodeKind::Directory).then_some(())?;
                self.files.set_attribute(self.resolve(at)?, Some(value))
            }
            S::RemoveAttribute(at) => {
                let node = self.file_at(at)?;
                self.files.node(node)?.attribute?;
                self.files.set_attribute(node, None)
            }
        }
    }

    /// The seed for the content of the next write.
    pub(super) fn next_fill(&self) -> u64 {
        self.identity ^ u64::from(self.writes + 1)
    }

    fn file_at(&self, at: SequencePlace) -> Option<usize> {
        self.resolve(at).filter(|node| self.files.is_file(*node))
    }

    fn file_size(&self, at: SequencePlace) -> Option<u32> {
        Some(self.files.node(self.file_at(at)?)?.content.size as u32)
    }

    fn make_node(&mut self, at: SequencePlace, kind: NodeKind) -> Option<()> {
        self.files.make_node(self.key(at)?, kind).map(drop)
    }

    fn allocate(&mut self, node: usize, offset: u32, length: u32, keep_size: bool) -> Option<()> {
        self.files.allocate_blocks(node, to_range(offset, length))?;
        if keep_size { Some(()) } else { self.files.grow_to(node, to_range(offset, length).end) }
    }

    /// The number of allocated blocks is not modelled: preallocated blocks may count as holes.
    fn clone_content(&mut self, from: SequencePlace, to: SequencePlace) -> Option<()> {
        let (from, onto) = (self.file_at(from)?, self.file_at(to)?);
        (from != onto).then_some(())?;
        let size = self.files.node(from)?.content.size;
        self.files.copy_range((from, 0), (onto, 0), size)?;
        self.files.free_blocks(onto, 0..size.next_multiple_of(MODEL_BLOCK))
    }

    fn write_bytes(&mut self, at: SequencePlace, offset: u32, length: u32) -> Option<()> {
        let node = self.file_at(at)?;
        self.writes += 1;
        let origin = SegmentOrigin { file: 0, shift: 0, written: self.writes };
        self.files.overwrite(node, to_range(offset, length), Some(origin))?;
        self.files.allocate_blocks(node, to_range(offset, length))
    }
}

fn to_range(offset: u32, length: u32) -> std::ops::Range<u64> {
    u64::from(offset)..u64::from(offset) + u64::from(length)
}

/// The bytes that a sequence's write put to a place.
pub(super) fn fill_of(identity: u64) -> impl Fn(SegmentOrigin, u64, &mut [u8]) {
    move |origin, place, bytes| fill_pattern(bytes, identity ^ u64::from(origin.written), place)
}
