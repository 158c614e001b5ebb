//! Generations of a backup: which files changed in which, and what each must therefore look like.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::dataset::{HardLinks, Manifest, Prepared, SharedFiles, Staged};

use super::WorkError;

/// A share as parts of a million.
pub(super) const WHOLE: u32 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generations {
    pub(super) oldest: u32,
    /// For each generation after the first: parts per million of the files that changed in it.
    pub(super) changed: Vec<u32>,
}

impl Generations {
    pub(super) fn newest(&self) -> u32 {
        self.changed.len() as u32
    }

    /// The generation in which this file was last written anew, as seen from `generation`.
    fn written_in(&self, entry: usize, generation: u32) -> u32 {
        (1..=generation).rev().find(|at| self.changes(entry, *at)).unwrap_or(0)
    }

    pub(super) fn changes(&self, entry: usize, generation: u32) -> bool {
        let share = self.changed.get(generation as usize - 1).copied().unwrap_or(0);
        let place = ((entry as u64) << 32) | u64::from(generation);
        // The remainder of 64 random bits is even enough for shares in millionths.
        xxh3_64(&place.to_le_bytes()) % u64::from(WHOLE) < u64::from(share)
    }

    /// What one generation must look like, links included.
    fn manifest(
        &self,
        prepared: &Prepared,
        staged: Option<&Staged>,
        generation: u32,
    ) -> Result<Manifest, WorkError> {
        let manifest = Manifest::of(prepared, staged, 0)?;
        let count = manifest.tree.entries.len();
        let written_in: Vec<u32> = (0..count).map(|entry| self.written_in(entry, generation)).collect();
        let holders = written_in.iter().enumerate().map(|(entry, written)| {
            let same = |other: &u32| self.written_in(entry, *other) == *written;
            (self.oldest..=self.newest()).filter(same).count() as u32
        });
        let holders = holders.collect();
        Ok(manifest.sharing(SharedFiles { written_in, holders }))
    }

    pub(super) fn check(
        &self,
        operation: &'static str,
        (prepared, staged): (&Prepared, Option<&Staged>),
        at: &Path,
        generation: u32,
    ) -> Result<(), WorkError> {
        self.manifest(prepared, staged, generation)?
            .compare(&at.join(generation.to_string()), HardLinks::Exact)
            .map_err(|problem| WorkError::Wrong { operation, problem })
    }

    /// Compares every generation that is left with what it must be: names, contents, and how many links each file has.
    pub(crate) fn verify(
        &self,
        operation: &'static str,
        prepared: &Prepared,
        staged: Option<&Staged>,
        at: &Path,
    ) -> Result<(), WorkError> {
        (self.oldest..=self.newest())
            .try_for_each(|generation| self.check(operation, (prepared, staged), at, generation))
    }
}
