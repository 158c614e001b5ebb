//! Generations of a backup: which files changed in which, and the expected content of each.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::dataset::{HardLinks, Manifest, Prepared, SharedFiles, Sharing, Staged};

use super::WorkError;

/// A share as parts of a million.
pub(super) const WHOLE: u32 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generations {
    pub(super) oldest: u32,
    /// How each generation after the first was derived from the one before.
    pub(super) steps: Vec<GenerationStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GenerationStep {
    /// Parts per million of the files that changed.
    pub(super) changed: u32,
    /// How all others are those of the generation before.
    pub(super) sharing: Sharing,
}

impl Generations {
    pub(super) fn newest(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The generation in which this file was last rewritten, as seen from `generation`.
    fn written_in(&self, entry: usize, generation: u32) -> u32 {
        (1..=generation).rev().find(|at| self.changes_entry(entry, *at)).unwrap_or(0)
    }

    pub(super) fn changes_entry(&self, entry: usize, generation: u32) -> bool {
        let share = self.step_to(generation).map_or(0, |step| step.changed);
        let place = ((entry as u64) << 32) | u64::from(generation);
        // The remainder of 64 random bits is even enough for shares in millionths.
        xxh3_64(&place.to_le_bytes()) % u64::from(WHOLE) < u64::from(share)
    }

    /// The step that made this generation; `None` for the first.
    fn step_to(&self, generation: u32) -> Option<&GenerationStep> {
        self.steps.get((generation as usize).checked_sub(1)?)
    }

    /// The generation in which this file, as seen from `generation`, began to be one of its own.
    fn made_in(&self, entry: usize, generation: u32) -> u32 {
        let size_of = |at: &u32| {
            self.changes_entry(entry, *at)
                || self.step_to(*at).is_some_and(|step| step.sharing == Sharing::Clone)
        };
        (1..=generation).rev().find(size_of).unwrap_or(0)
    }

    /// The expected content of one generation, links included.
    fn manifest_of(
        &self,
        prepared: &Prepared,
        staged: Option<&Staged>,
        generation: u32,
    ) -> Result<Manifest, WorkError> {
        let manifest = Manifest::for_generation(prepared, staged, 0)?;
        let count = manifest.tree.entries.len();
        let written_in: Vec<u32> = (0..count).map(|entry| self.written_in(entry, generation)).collect();
        let holders = (0..count).map(|entry| {
            let made = self.made_in(entry, generation);
            let same = |other: &u32| self.made_in(entry, *other) == made;
            (self.oldest..=self.newest()).filter(same).count() as u32
        });
        let holders = holders.collect();
        Ok(manifest.with_shared_files(SharedFiles { written_in, holders }))
    }

    pub(super) fn verify_generation(
        &self,
        operation: &'static str,
        prepared: &Prepared,
        staged: Option<&Staged>,
        at: &Path,
        generation: u32,
    ) -> Result<(), WorkError> {
        self.manifest_of(prepared, staged, generation)?
            .compare_with(&at.join(generation.to_string()), HardLinks::Exact)
            .map_err(|problem| WorkError::Wrong { operation, problem })
    }

    /// Compares every remaining generation with its expected state: names, contents, and the number of links of each
    /// file.
    pub(crate) fn verify_all(
        &self,
        operation: &'static str,
        prepared: &Prepared,
        staged: Option<&Staged>,
        at: &Path,
    ) -> Result<(), WorkError> {
        (self.oldest..=self.newest())
            .try_for_each(|generation| self.verify_generation(operation, prepared, staged, at, generation))
    }
}
