//! How much of a sequence is promised at a moment: for each name, content and attribute the step from which on it must be as it was.

use std::collections::{BTreeMap, BTreeSet};

use super::enumerate::CallSequence;
use super::model::{NameKey, NodeKind, SequenceModel};
use super::step::{SequenceCall, SequencePersist, SequenceStep};

/// How far a sequence had come when power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SequenceProgress {
    /// Calls that had returned.
    pub(super) returned: usize,
    /// Calls that had begun.
    pub(super) begun: usize,
    /// Whether everything that had returned was synced afterwards.
    pub(super) is_synced: bool,
    /// The call of this number was refused, and none came after it.
    pub(super) refused: Option<usize>,
}

/// The guarantees for a sequence, and its possible states.
#[derive(Debug)]
pub(super) struct SequenceFloor {
    /// The states after no step, one, two …: as many as had begun.
    pub(super) versions: Vec<SequenceModel>,
    /// The first version in which a name may be, by a sync, or an fsync of its directory.
    pub(super) names: BTreeMap<NameKey, usize>,
    /// The same by an fsync of the file under that name: all but the strictest reading of POSIX expects this.
    pub(super) entries: BTreeMap<NameKey, usize>,
    /// Keyed by the number of the node.
    pub(super) contents: BTreeMap<usize, usize>,
    /// Attributes and blocks that were set aside.
    pub(super) metadata: BTreeMap<usize, usize>,
    /// The first version for everything, by a sync.
    pub(super) all: usize,
    pub(super) renamed: Vec<Renamed>,
    /// Nodes that were exchanged (renameat2(2), RENAME_EXCHANGE): it is not agreed whether an fsync of the file
    /// persists its names.
    exchanged: BTreeSet<usize>,
}

/// A name that a node was given in place of another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renamed {
    pub(super) node: usize,
    pub(super) from: NameKey,
    pub(super) to: NameKey,
    /// The first version in which it is so.
    since: usize,
}

impl SequenceFloor {
    pub(super) fn at_progress(
        sequence: &CallSequence,
        identity: u64,
        progress: SequenceProgress,
    ) -> SequenceFloor {
        let mut floor = SequenceFloor {
            versions: vec![SequenceModel::with_prepared_files(identity)],
            names: BTreeMap::new(),
            entries: BTreeMap::new(),
            contents: BTreeMap::new(),
            metadata: BTreeMap::new(),
            all: 0,
            renamed: Vec::new(),
            exchanged: BTreeSet::new(),
        };
        for (number, call) in sequence.calls.iter().enumerate().take(progress.begun) {
            if progress.refused == Some(number) {
                break;
            }
            match call {
                SequenceCall::Step(step) => floor.apply_step(*step),
                SequenceCall::Persist(persist) if number < progress.returned => floor.apply_persist(*persist),
                SequenceCall::Persist(_) => {}
            }
        }
        if progress.is_synced {
            floor.all = floor.last_version();
        }
        floor
    }

    /// The number of the version of all that had begun.
    pub(super) fn last_version(&self) -> usize {
        self.versions.len() - 1
    }

    pub(super) fn first_version_of_name(&self, key: NameKey) -> usize {
        self.names.get(&key).copied().unwrap_or(0).max(self.all)
    }

    pub(super) fn first_version_of_entry(&self, key: NameKey) -> usize {
        self.entries.get(&key).copied().unwrap_or(0).max(self.first_version_of_name(key))
    }

    pub(super) fn first_version_of_content(&self, node: usize) -> usize {
        self.contents.get(&node).copied().unwrap_or(0).max(self.all)
    }

    pub(super) fn first_version_of_metadata(&self, node: usize) -> usize {
        self.metadata.get(&node).copied().unwrap_or(0).max(self.all)
    }

    fn apply_step(&mut self, step: SequenceStep) {
        let Some(mut model) = self.versions.last().cloned() else { return };
        let moves: Vec<_> = match step {
            SequenceStep::Rename(from, to) => vec![(from, to)],
            SequenceStep::Exchange(one, other) => vec![(one, other), (other, one)],
            _ => Vec::new(),
        };
        for (from, to) in moves {
            if let (Some(node), Some(from), Some(to)) = (model.resolve(from), model.key(from), model.key(to))
            {
                self.renamed.push(Renamed { node, from, to, since: self.versions.len() });
                if matches!(step, SequenceStep::Exchange(..)) {
                    self.exchanged.insert(node);
                }
            }
        }
        if model.apply_step(step).is_some() {
            self.versions.push(model);
        }
    }

    fn apply_persist(&mut self, persist: SequencePersist) {
        let last = self.last_version();
        let Some(model) = self.versions.last() else { return };
        let (node, data_only) = match persist {
            SequencePersist::Sync => {
                self.all = last;
                return;
            }
            SequencePersist::Fsync(place) => (model.resolve(place), false),
            SequencePersist::Fdatasync(place) => (model.resolve(place), true),
            // Nothing is promised of what has no name, but that all else is as it was promised, and can be mounted.
            SequencePersist::FsyncOpen => return,
        };
        let Some(node) = node else { return };
        if data_only {
            self.contents.insert(node, last);
            return;
        }
        self.metadata.insert(node, last);
        if model.node(node).is_some_and(|node| node.kind == NodeKind::Directory) {
            // Every name that it has, or had.
            let keys = self.versions.iter().flat_map(|version| version.names.keys());
            for key in keys.filter(|(directory, _)| *directory == node) {
                self.names.insert(*key, last);
            }
        } else {
            self.contents.insert(node, last);
        }
        if self.exchanged.contains(&node) {
            return;
        }
        // Its current names, and the removal of names that a rename took from it. The file that has such a name since
        // was not synced with it.
        let now = model.names.iter().filter(|(_, named)| **named == node).map(|(key, _)| (*key, last));
        let old = self.renamed.iter().filter(|one| one.node == node).map(|one| (one.from, one.since));
        for (key, version) in now.chain(old) {
            let entry = self.entries.entry(key).or_insert(version);
            *entry = version.max(*entry);
        }
    }
}
