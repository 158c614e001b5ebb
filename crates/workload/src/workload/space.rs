//! `space.fill` and `space.free`: a filesystem that is nearly full, and not by one file after the other.
//!
//! Copies of the dataset are written, each into its own folder with its own contents, and each is synced; after every
//! fourth, one of the existing copies is removed, so that free space is fragmented. The choice depends only on the
//! number of written copies. Fullness is computed as df(1) does for an ordinary user: used blocks divided by used and
//! available ones.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::io::Errno;

use crate::dataset::{HardLinks, Manner, open_path};
use fsverdict_judgement::plan::Operation;

use super::copies::{Copies, verify_copy};
use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{LedgerEntry, Remains};
use super::verify::verify_absent;
use super::{OperationResult, WorkError, Workplace, tree, walk};

/// After so many copies one is removed.
const REMOVED_AFTER: u32 = 4;
/// If copies hold so many times the filesystem's capacity, it will never fill up.
const NEVER_FULL: u64 = 16;

fn known_copies(site: &Workplace<'_>) -> Copies {
    match site.known_entry().remains {
        Remains::Copies(copies) => copies,
        _ => Copies::default(),
    }
}

fn note_copies(site: &mut Workplace<'_>, copies: Copies) {
    let remains = Remains::Copies(copies);
    let known = site.known_entry();
    site.set_entry(LedgerEntry { generation: 0, remains, sure: true, hard_links: HardLinks::Exact, ..known });
}

fn folder_of_copy(site: &Workplace<'_>, copy: u32) -> PathBuf {
    site.into.join(copy.to_string())
}

/// The fullness of the filesystem for an ordinary user, and its size: both as df(1) reports them.
pub(super) struct Fullness {
    pub(super) share: f64,
    pub(super) bytes: u64,
}

impl Fullness {
    /// Syncs the filesystem first: delayed allocations are not counted before.
    pub(super) fn measure(site: &Workplace<'_>) -> Result<Self, WorkError> {
        let mount = open_path(site.mount).map_err(|errno| site.io_failure("open the mount point", errno))?;
        rustix::fs::syncfs(&mount).map_err(|errno| site.io_failure("sync the filesystem", errno))?;
        let status =
            rustix::fs::fstatvfs(&mount).map_err(|errno| site.io_failure("ask for the room", errno))?;
        let used = status.f_blocks.saturating_sub(status.f_bfree);
        let total = used.saturating_add(status.f_bavail);
        let share = if total == 0 { 1.0 } else { used as f64 / total as f64 };
        Ok(Fullness { share, bytes: status.f_blocks.saturating_mul(status.f_frsize) })
    }
}

/// Whether a write ended for want of room.
pub(super) fn is_full(error: &WorkError) -> bool {
    matches!(error, WorkError::Io { failure, .. } if matches!(failure.errno, Errno::NOSPC | Errno::DQUOT))
}

/// Writes copies until so much of the filesystem is in use, or it takes no more; a copy that did not fit is removed.
pub(crate) fn fill_space(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let mut copies = known_copies(site);
    let mut latency = LatencyRecorder::new("write_copy")?;
    let (mut bytes, mut files) = (0_u64, 0);
    let mut now = Fullness::measure(site)?;
    while now.share < site.to {
        if bytes > now.bytes.saturating_mul(NEVER_FULL) {
            return Err(WorkError::NeverFull {
                operation: site.operation.name(),
                at: site.displayed_path(),
                bytes,
            });
        }
        let path = folder_of_copy(site, copies.written);
        let start = Instant::now();
        match write_copy(site, &path, copies.written).and_then(|done| Ok((done, Fullness::measure(site)?))) {
            Ok((done, reached)) => {
                latency.record_since(start);
                bytes += done.logical_bytes;
                files += done.files;
                copies.bytes = done.logical_bytes;
                copies.left.push(copies.written);
                copies.written += 1;
                now = reached;
            }
            Err(error) if is_full(&error) => {
                match walk::remove_tree(&site.in_folder(&path)) {
                    // Not even its folder went in.
                    Ok(_) | Err(WorkError::NotWritten { .. }) => {}
                    Err(error) => return Err(error),
                }
                break;
            }
            Err(error) => return Err(error),
        }
        if copies.written.is_multiple_of(REMOVED_AFTER)
            && let Some(chosen) = copies.take_next_to_remove()
        {
            let path = folder_of_copy(site, chosen);
            walk::remove_tree(&site.in_folder(&path))?;
            now = Fullness::measure(site)?;
        }
    }
    let bytes_held = Some(copies.bytes_held());
    note_copies(site, copies);
    let calls = to_recorded_calls(&[&latency]);
    Ok(OperationResult {
        logical_bytes: bytes,
        files,
        read_besides: 0,
        held: bytes_held,
        calls,
        main_call: "write_copy",
    })
}

fn write_copy(site: &mut Workplace<'_>, path: &Path, copy: u32) -> Result<OperationResult, WorkError> {
    let inner = site.in_folder(path);
    let target = inner.make_target()?;
    tree::write_generation(&inner, &target, copy, Manner::Create, "write_file")
}

/// Removes copies until no more than so much of the filesystem is in use, or none is left.
pub(crate) fn free_space(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let LedgerEntry { remains: Remains::Copies(mut copies), .. } = site.known_entry() else {
        return Err(site.not_written_by_error(Operation::SpaceFill));
    };
    let mut latency = LatencyRecorder::new("remove_copy")?;
    let mut files = 0;
    let mut now = Fullness::measure(site)?;
    while now.share > site.to
        && let Some(chosen) = copies.take_next_to_remove()
    {
        let path = folder_of_copy(site, chosen);
        let start = Instant::now();
        files += walk::remove_tree(&site.in_folder(&path))?.files;
        now = Fullness::measure(site)?;
        latency.record_since(start);
    }
    let bytes_held = Some(copies.bytes_held());
    note_copies(site, copies);
    let calls = to_recorded_calls(&[&latency]);
    Ok(OperationResult {
        logical_bytes: 0,
        files,
        read_besides: 0,
        held: bytes_held,
        calls,
        main_call: "remove_copy",
    })
}

/// Verifies the copy written last; the others are verified when the trial ends.
pub(crate) fn verify_fill(site: &Workplace<'_>) -> Result<(), WorkError> {
    let Some(newest) = known_copies(site).left.last().copied() else { return Ok(()) };
    let at = site.target_path().join(newest.to_string());
    verify_copy(site.operation.name(), site.dataset, site.staged, &at, newest)
}

/// Verifies that all removed copies are gone.
pub(crate) fn verify_free(site: &Workplace<'_>) -> Result<(), WorkError> {
    let copies = known_copies(site);
    let gone = (0..copies.written).filter(|copy| !copies.left.contains(copy));
    gone.map(|copy| site.target_path().join(copy.to_string()))
        .try_for_each(|at| verify_absent(site.operation.name(), &at))
}
