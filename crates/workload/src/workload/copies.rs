//! The copies of a dataset that fill a filesystem, and their verification.

use std::path::Path;

use crate::dataset::{HardLinks, Manifest, Prepared, Staged, mix_bits};

use super::WorkError;

/// The copies of a dataset that fill a filesystem. Copy `n` lies in the folder of that number, and has the contents of
/// generation `n`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    pub(super) written: u32,
    pub(super) left: Vec<u32>,
    /// Bytes of the files of one.
    pub(super) bytes: u64,
}

impl Copies {
    /// Takes out the next to be removed.
    pub(super) fn take_next_to_remove(&mut self) -> Option<u32> {
        let at = mix_bits(u64::from(self.written)).checked_rem(self.left.len() as u64)?;
        Some(self.left.remove(at as usize))
    }

    /// Bytes of the files of all that are left.
    pub(super) fn bytes_held(&self) -> u64 {
        self.bytes.saturating_mul(self.left.len() as u64)
    }

    /// Compares every remaining copy with its expected content.
    pub(crate) fn verify_all(
        &self,
        operation: &'static str,
        prepared: &Prepared,
        staged: Option<&Staged>,
        at: &Path,
    ) -> Result<(), WorkError> {
        self.left
            .iter()
            .try_for_each(|copy| verify_copy(operation, prepared, staged, &at.join(copy.to_string()), *copy))
    }
}

/// Compares one copy, wherever it lies.
pub(super) fn verify_copy(
    operation: &'static str,
    prepared: &Prepared,
    staged: Option<&Staged>,
    at: &Path,
    copy: u32,
) -> Result<(), WorkError> {
    Manifest::for_generation(prepared, staged, copy)?
        .compare_with(at, HardLinks::Exact)
        .map_err(|problem| WorkError::Wrong { operation, problem })
}
