//! The ledger of a trial: the datasets that built-in operations left on the filesystem under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dataset::{AgedTree, DatasetOrigin, HardLinks, Manifest, Prepared, Staged, Tree};
use fsverdict_calls::WritePeriods;
use fsverdict_judgement::journal::{ProgramPromise, Save};

use super::WorkError;
use super::copies::Copies;
use super::generations::Generations;

/// The content of a folder of the filesystem under test, as far as built-in operations wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    pub dataset: String,
    /// How often it was overwritten since it was first written.
    pub generation: u32,
    pub remains: Remains,
    /// Whether its hard links are known to be links.
    pub hard_links: HardLinks,
    /// Whether nothing else has worked on the filesystem since.
    pub sure: bool,
    /// The result of the last reading or listing.
    pub(crate) seen: LastSeen,
    /// The state after a history of changes.
    pub(crate) aged: Option<AgedDataset>,
}

/// A dataset's tree after a history of changes: the state to continue from, and the expected content.
#[derive(Debug, Clone)]
pub(crate) struct AgedDataset {
    pub(crate) state: Arc<AgedTree>,
    pub(crate) tree: Arc<Tree>,
}

impl PartialEq for AgedDataset {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for AgedDataset {}

impl LedgerEntry {
    /// The expected content in this generation if nothing was removed.
    pub(crate) fn manifest_of(
        &self,
        prepared: &Prepared,
        staged: Option<&Staged>,
        generation: u32,
    ) -> Result<Manifest, WorkError> {
        match (&self.aged, &prepared.origin) {
            (Some(aged), DatasetOrigin::Generated { content, .. }) => {
                Ok(Manifest::of_aged(&aged.tree, content, generation))
            }
            _ => Ok(Manifest::for_generation(prepared, staged, generation)?),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remains {
    Everything,
    /// Its directory, empty.
    EmptyDirectory,
    /// Nothing is left, not even the directory.
    Nothing,
    /// Several generations of it, which share files.
    Generations(Generations),
    /// The files that the calls of a trace left.
    Replayed(WritePeriods),
    /// Copies of it that fill the filesystem.
    Copies(Copies),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastSeen {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Sum of the digests of all files read.
    pub(crate) digests: u64,
}

/// The folders with datasets on the filesystem under test: one ledger for each trial, kept across its phases and
/// remounts.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) folders: BTreeMap<PathBuf, LedgerEntry>,
    /// Sorted by time, the oldest first.
    pub(super) snapshots: Vec<KeptSnapshot>,
    /// How many were made.
    pub(super) snapshots_made: u32,
    /// The snapshot deleted last.
    pub(super) given_up: Option<KeptSnapshot>,
    /// The snapshot that was sent last.
    sent: Option<KeptSnapshot>,
    /// The snapshot that was received last, as it is seen where it was received.
    pub(super) received: Option<KeptSnapshot>,
    /// The files saved in the current phase.
    pub(super) saves: Vec<Save>,
    /// The calls of a trace in the current phase that made something durable, from 1, with the times of their return.
    pub(super) durable_calls: Vec<ProgramPromise>,
    /// The content of the folder of each finished phase, by the phase's name.
    past: BTreeMap<String, LedgerEntry>,
}

impl Ledger {
    pub fn new() -> Self {
        Self::default()
    }

    /// A command or adapter has run: it may have changed anything, so that nothing is sure any more.
    pub fn mark_all_unsure(&mut self) {
        for written in self.folders.values_mut() {
            written.sure = false;
            written.hard_links = HardLinks::MayBeCopies;
        }
    }

    /// A comparison found the dataset, as first written, in `into`.
    pub fn note_found(&mut self, into: &Path, dataset: &str) {
        let written = LedgerEntry {
            dataset: dataset.into(),
            generation: 0,
            remains: Remains::Everything,
            hard_links: HardLinks::MayBeCopies,
            sure: true,
            seen: LastSeen::default(),
            aged: None,
        };
        self.folders.insert(into.into(), written);
    }

    /// Takes the saves recorded since the last call.
    pub fn take_saves(&mut self) -> Vec<Save> {
        std::mem::take(&mut self.saves)
    }

    /// Takes the calls of a trace that made something durable since the last call.
    pub fn take_durable_calls(&mut self) -> Vec<ProgramPromise> {
        std::mem::take(&mut self.durable_calls)
    }

    /// Remembers the content of the folder of a finished phase.
    pub fn remember_phase(&mut self, phase: &str, into: &Path) {
        if let Some(entry) = self.folders.get(into) {
            self.past.insert(phase.to_owned(), entry.clone());
        }
    }

    /// Forgets everything after a new mkfs. Returns the former content of this folder, now or after the phase of this
    /// name, which is to be written again.
    pub fn start_over(&mut self, into: &Path, after: Option<&str>) -> Option<LedgerEntry> {
        let now = std::mem::take(&mut self.folders).remove(into);
        self.forget_snapshots();
        after.map_or(now, |phase| self.past.get(phase).cloned())
    }

    /// The known contents, by folder below the mount point.
    pub fn known_folders(&self) -> impl Iterator<Item = (&Path, &LedgerEntry)> {
        self.folders.iter().map(|(into, written)| (into.as_path(), written))
    }
}

/// A state of the filesystem that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// The filesystem's own identifier of it.
    pub id: String,
    /// The folder below the mount point where it is seen; none where it would have to be mounted.
    pub shown: Option<PathBuf>,
    /// The contents of the folders at that time.
    folders: Vec<(PathBuf, LedgerEntry)>,
}

impl Ledger {
    /// The number of the next snapshot, from 1; no number is used twice.
    pub fn next_snapshot(&self) -> u32 {
        self.snapshots_made + 1
    }

    /// Everything is kept as it is now.
    pub fn keep_snapshot(&mut self, id: String, shown: Option<PathBuf>) {
        let folders = self.folders.iter().map(|(into, entry)| (into.clone(), entry.clone())).collect();
        self.snapshots.push(KeptSnapshot { id, shown, folders });
        self.snapshots_made += 1;
    }

    /// The snapshot that was made first of those that are kept.
    pub fn oldest_snapshot(&self) -> Option<&KeptSnapshot> {
        self.snapshots.first()
    }

    /// The one that was made last.
    pub fn newest_snapshot(&self) -> Option<&KeptSnapshot> {
        self.snapshots.last()
    }

    /// Everything is as it was when the newest was made. None is where it was seen before, or to be given up by its name.
    pub fn roll_back(&mut self) {
        let newest = self.snapshots.pop();
        self.forget_snapshots();
        self.folders = newest.map(|newest| newest.folders.into_iter().collect()).unwrap_or_default();
    }

    /// None is where it was seen, or can be named.
    fn forget_snapshots(&mut self) {
        self.snapshots.clear();
        (self.given_up, self.sent, self.received) = (None, None, None);
    }

    /// The last snapshot that was sent, if it is still kept: the next stream has the changes since.
    pub fn sent_snapshot(&self) -> Option<&KeptSnapshot> {
        self.sent.as_ref().filter(|sent| self.snapshots.contains(sent))
    }

    /// The newest was sent.
    pub fn send_newest_snapshot(&mut self) {
        self.sent = self.snapshots.last().cloned();
    }

    /// The last one that was sent was received, and is seen in this folder below the mount point.
    pub fn receive_sent_snapshot(&mut self, shown: Option<PathBuf>) {
        self.received = self.sent.clone().map(|sent| KeptSnapshot { shown, ..sent });
    }

    /// It is kept no more.
    pub fn give_up_oldest_snapshot(&mut self) {
        self.given_up = (!self.snapshots.is_empty()).then(|| self.snapshots.remove(0));
    }
}

impl KeptSnapshot {
    /// The expected contents, with their current paths; empty if the snapshot is not visible as a folder.
    pub(crate) fn expected_folders(&self, mount: &Path) -> impl Iterator<Item = (PathBuf, &LedgerEntry)> {
        let at = self.shown.as_ref().map(|shown| mount.join(shown));
        let sure = self.folders.iter().filter(|(_, entry)| entry.sure);
        sure.filter_map(move |(into, entry)| Some((at.as_ref()?.join(into), entry)))
    }
}
