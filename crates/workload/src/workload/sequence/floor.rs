//! Computes the guarantees for a sequence at a moment: for each name, content and attribute, the first version that it may
//! have after a power cut.

use std::collections::{BTreeMap, BTreeSet};

use super::enumerate::CallSequence;
use super::model::{NameKey, SequenceModel};
use super::node::NodeKind;
use super::step::{SequenceCall, SequencePersist, SequenceStep};

/// The progress of a sequence when power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SequenceProgress {
    /// The number of calls that had returned.
    pub(super) returned: usize,
    /// The number of calls that had begun.
    pub(super) begun: usize,
    /// Whether all calls that had returned were synced afterwards.
    pub(super) is_synced: bool,
    /// The number of the call that was refused; no call followed it.
    pub(super) refused: Option<usize>,
}

/// The guarantees for a sequence, and its possible states.
#[derive(Debug)]
pub(super) struct SequenceFloor {
    /// The states after zero steps, one step and so on, for all steps that had begun.
    pub(super) versions: Vec<SequenceModel>,
    /// The first version that a name may have, because of a sync or an fsync of its directory.
    pub(super) names: BTreeMap<NameKey, usize>,
    /// The same because of an fsync of the file under that name: only the strictest reading of POSIX does not expect this.
    pub(super) entries: BTreeMap<NameKey, usize>,
    /// The first version of the content, by the number of the node.
    pub(super) contents: BTreeMap<usize, usize>,
    /// The first version of the attribute and the allocated blocks, by the number of the node.
    pub(super) metadata: BTreeMap<usize, usize>,
    /// The first version of everything, because of a sync.
    pub(super) all: usize,
    pub(super) renamed: Vec<Renamed>,
    /// Nodes that were exchanged (renameat2(2), RENAME_EXCHANGE): it is not agreed whether an fsync of the file
    /// persists its names.
    exchanged: BTreeSet<usize>,
}

/// A new name that a rename gave to a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renamed {
    pub(super) node: usize,
    pub(super) from: NameKey,
    pub(super) to: NameKey,
    /// The first version with the new name.
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

    /// The number of the version after all calls that had begun.
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
            // A node without a name has no guarantees of its own; the filesystem must mount, and all other guarantees hold.
            SequencePersist::FsyncOpen => return,
        };
        let Some(node) = node else { return };
        if data_only {
            self.contents.insert(node, last);
            return;
        }
        self.metadata.insert(node, last);
        if model.node(node).is_some_and(|node| node.kind == NodeKind::Directory) {
            // Every current and former name of the node.
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
        let old = self
            .renamed
            .iter()
            .filter(|renamed| renamed.node == node)
            .map(|renamed| (renamed.from, renamed.since));
        for (key, version) in now.chain(old) {
            let entry = self.entries.entry(key).or_insert(version);
            *entry = version.max(*entry);
        }
    }
}
