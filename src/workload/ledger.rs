//! What built-in operations left on the filesystem under test: one ledger for each trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::dataset::HardLinks;

use super::copies::Copies;
use super::generations::Generations;

/// What lies in a folder of the filesystem under test, as far as built-in operations put it there.
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
    /// What the last reading or listing saw.
    pub(crate) seen: LastSeen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remains {
    Everything,
    /// Its directory, empty.
    EmptyDirectory,
    /// Nothing, not even the directory.
    Nothing,
    /// Several generations of it, which share files.
    Generations(Generations),
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

/// What lies where on the filesystem under test: one for each trial, kept across its phases and remounts.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) folders: BTreeMap<PathBuf, LedgerEntry>,
}

impl Ledger {
    pub fn new() -> Self {
        Self::default()
    }

    /// A command or adapter has run: it may have changed anything, so that nothing is sure any more.
    pub fn doubt(&mut self) {
        for written in self.folders.values_mut() {
            written.sure = false;
            written.hard_links = HardLinks::MayBeCopies;
        }
    }

    /// A comparison found the dataset, as first written, in `into`.
    pub fn found(&mut self, into: &Path, dataset: &str) {
        let written = LedgerEntry {
            dataset: dataset.into(),
            generation: 0,
            remains: Remains::Everything,
            hard_links: HardLinks::MayBeCopies,
            sure: true,
            seen: LastSeen::default(),
        };
        self.folders.insert(into.into(), written);
    }

    /// What is known, by folder below the mount point.
    pub fn written(&self) -> impl Iterator<Item = (&Path, &LedgerEntry)> {
        self.folders.iter().map(|(into, written)| (into.as_path(), written))
    }
}
