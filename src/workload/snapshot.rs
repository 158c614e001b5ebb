//! `snapshot.create`, `snapshot.delete`: what is kept of the whole filesystem, and what must be found in it. Making one is the
//! filesystem's, by programs of its own.

use std::path::{Path, PathBuf};

use super::ledger::{Ledger, LedgerEntry};
use super::verify::{absent, verify_entry};
use super::{WorkError, Workplace};

/// A state of the filesystem that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// What the filesystem calls it.
    pub id: String,
    /// The folder below the mount point where it is seen; none where it would have to be mounted.
    pub shown: Option<PathBuf>,
    /// What lay where at that time.
    folders: Vec<(PathBuf, LedgerEntry)>,
}

impl Ledger {
    /// The number of the next snapshot, from 1; none has it twice.
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

    /// It is kept no more.
    pub fn give_up_oldest_snapshot(&mut self) {
        self.given_up = (!self.snapshots.is_empty()).then(|| self.snapshots.remove(0));
    }
}

impl KeptSnapshot {
    /// What must be found in it, with the path where it is now; nothing where it is not seen.
    pub(super) fn expected(&self, mount: &Path) -> impl Iterator<Item = (PathBuf, &LedgerEntry)> {
        let at = self.shown.as_ref().map(|shown| mount.join(shown));
        let sure = self.folders.iter().filter(|(_, entry)| entry.sure);
        sure.filter_map(move |(into, entry)| Some((at.as_ref()?.join(into), entry)))
    }
}

/// The newest snapshot has what the folder had of the dataset.
pub(super) fn verify_newest(site: &Workplace<'_>) -> Result<(), WorkError> {
    let operation = site.operation.name();
    let newest = site.ledger.snapshots.last().ok_or(WorkError::NoSnapshot { operation })?;
    let mut own = newest.expected(site.mount).filter(|(_, entry)| entry.dataset == site.dataset.name);
    own.try_for_each(|(at, entry)| verify_entry(operation, entry, site.dataset, site.staged, &at))
}

/// The one that was given up is not seen any more.
pub(super) fn verify_deleted(site: &Workplace<'_>) -> Result<(), WorkError> {
    let shown = site.ledger.given_up.as_ref().and_then(|one| one.shown.as_ref());
    shown.map_or(Ok(()), |shown| absent(site.operation.name(), &site.mount.join(shown)))
}
