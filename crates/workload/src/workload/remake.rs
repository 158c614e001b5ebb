//! Writes a copy of a folder's content to a newly made filesystem: the reference for an aged one.

use std::os::fd::AsFd;

use crate::dataset::{Manner, TreeSource, Untimed, write_tree};
use fsverdict_judgement::plan::Remake;

use super::ledger::{LedgerEntry, Remains};
use super::walk::remove_tree;
use super::{WorkError, Workplace};

/// Writes the former content of the site's folder again after a new mkfs, which removed it.
///
/// # Errors
/// When the former content is not a complete dataset, or a system call fails.
pub fn write_again(site: &mut Workplace<'_>, remake: &Remake) -> Result<(), WorkError> {
    let after = match remake {
        Remake::Now(_) => None,
        Remake::After(phase) => Some(phase.as_str()),
    };
    let known = site.ledger.start_over(site.into, after);
    let known =
        known.filter(|known| known.remains == Remains::Everything && known.dataset == site.dataset.name);
    let unknown = || WorkError::Unknown { operation: site.operation.name(), at: site.displayed_path() };
    let known = known.ok_or_else(unknown)?;
    let generation = known.generation;
    site.set_entry(LedgerEntry { sure: true, ..known });
    write_generation(site, generation)
}

/// Removes the files in the site's folder, however they were changed, and writes those of the dataset again.
///
/// # Errors
/// When the folder is missing, or a system call fails.
pub fn renew_files(site: &mut Workplace<'_>) -> Result<(), WorkError> {
    remove_tree(site)?;
    write_generation(site, 0)?;
    site.note_created();
    Ok(())
}

fn write_generation(site: &Workplace<'_>, generation: u32) -> Result<(), WorkError> {
    let target = site.make_target()?;
    let staged = site.open_staged()?;
    let source: TreeSource<'_> = site.source(staged.as_ref(), generation)?;
    write_tree(site.expected_tree()?, source, target.as_fd(), Manner::Create, &mut Untimed)
        .map_err(|failure| site.io_failure_below(failure))?;
    Ok(())
}
