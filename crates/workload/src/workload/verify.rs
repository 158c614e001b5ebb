//! Verifies outside any clock that all expected files exist and all removed ones are gone.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use crate::dataset::{IoFailure, Listing, Prepared, Staged, open_path_quietly};

use super::ledger::{Ledger, LedgerEntry, Remains};
use super::{WorkError, replayed};

/// Compares all certain entries of the ledger with the filesystem: the last step of a trial, after fsck and a fresh
/// mount.
///
/// `dataset` finds a dataset and its staged folder by name; unknown datasets are skipped.
pub fn verify_written<'a>(
    mount: &Path,
    ledger: &Ledger,
    dataset: impl Fn(&str) -> Option<(&'a Prepared, Option<&'a Staged>)>,
) -> Result<(), WorkError> {
    let now = ledger.known_folders().filter(|(_, written)| written.sure);
    let now = now.map(|(into, written)| (mount.join(into), written));
    let snapshot_folders = ledger.snapshots.iter().flat_map(|snapshot| snapshot.expected_folders(mount));
    for (at, written) in now.chain(snapshot_folders) {
        let Some((prepared, staged)) = dataset(&written.dataset) else { continue };
        verify_entry("verify", written, prepared, staged, &at)?;
    }
    Ok(())
}

/// Compares a folder with its expected content.
pub(super) fn verify_entry(
    operation: &'static str,
    written: &LedgerEntry,
    prepared: &Prepared,
    staged: Option<&Staged>,
    at: &Path,
) -> Result<(), WorkError> {
    match &written.remains {
        Remains::Everything => written
            .manifest_of(prepared, staged, written.generation)?
            .compare_with(at, written.hard_links)
            .map_err(|problem| WorkError::Wrong { operation, problem }),
        Remains::EmptyDirectory => verify_empty(operation, at),
        Remains::Nothing => verify_absent(operation, at),
        Remains::Replayed(periods) => replayed::verify_replayed_files(operation, prepared, *periods, at),
        Remains::Generations(generations) => generations.verify_all(operation, prepared, staged, at),
        Remains::Copies(copies) => copies.verify_all(operation, prepared, staged, at),
    }
}

/// The directory must be there and empty.
pub(crate) fn verify_empty(operation: &'static str, at: &Path) -> Result<(), WorkError> {
    let failed = |call, errno| WorkError::Io {
        operation,
        failure: IoFailure::new(call, at.display().to_string(), errno),
    };
    let directory = open_path_quietly(at).map_err(|errno| failed("open", errno))?;
    let unread = |errno| failed("list", errno);
    Listing::new().for_each_entry(directory.as_fd(), unread, |name, _| {
        Err(WorkError::Miscounted {
            operation,
            at: at.display().to_string(),
            saw: format!("`{}`", name.to_string_lossy()),
            expected: "nothing".into(),
        })
    })
}

pub(crate) fn verify_absent(operation: &'static str, at: &Path) -> Result<(), WorkError> {
    match rustix::fs::lstat(at) {
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(WorkError::Io {
            operation,
            failure: IoFailure::new("look at", at.display().to_string(), errno),
        }),
        Ok(_) => Err(WorkError::Miscounted {
            operation,
            at: at.display().to_string(),
            saw: "something".into(),
            expected: "nothing".into(),
        }),
    }
}
