//! `directory.list` and `directory.empty`: one directory with very many files.

use std::convert::identity;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::fs::{AtFlags, FileType};

use crate::dataset::{Listing, stat_entry, type_of};

use super::hands::with_hands;
use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::{LastSeen, LedgerEntry, Remains};
use super::pieces::to_result;
use super::{OperationResult, WorkError, Workplace};

/// How often an emptied directory is read again for files the filesystem had not shown before.
const PASSES: usize = 4;

pub(crate) fn list_names(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let target = site.open_target()?;
    if site.threads > 1 {
        return list_by_hands(site, &target);
    }
    let mut latency = LatencyRecorder::new("statx")?;
    let mut listed = LastSeen::default();
    let read = Listing::new().for_each_entry(target.as_fd(), identity, |name, _| {
        let start = Instant::now();
        let status = stat_entry(target.as_fd(), name)?;
        latency.record_since(start);
        if type_of(&status) == FileType::RegularFile {
            listed.files += 1;
            listed.bytes += status.stx_size;
        }
        Ok(())
    });
    read.map_err(|errno| site.io_failure("list", errno))?;
    site.note_seen(listed);
    Ok(OperationResult {
        logical_bytes: 0,
        files: listed.files,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "statx",
    })
}

/// As many files and bytes were seen as there must be, and they are the right ones.
pub(crate) fn verify_list(site: &Workplace<'_>) -> Result<(), WorkError> {
    let expected = site.expected_tree()?.totals();
    let listed = site.last_seen();
    if (listed.files, listed.bytes) != (expected.files, expected.bytes) {
        let saw = format!("{} files of {} bytes", listed.files, listed.bytes);
        return Err(site.miscount_error(saw, format!("{} of {}", expected.files, expected.bytes)));
    }
    site.compare_with_expected()
}

/// The same where several threads ask for the status of files, once one has listed them.
fn list_by_hands(site: &mut Workplace<'_>, target: &OwnedFd) -> Result<OperationResult, WorkError> {
    let names = names_in_order(site, target)?;
    let sums = Mutex::new((0, 0));
    let totals = with_hands(site.threads, "statx", |hand| {
        let (mut files, mut bytes) = (0, 0);
        for name in hand.items_of_hand(&names) {
            let start = Instant::now();
            let status = stat_entry(target.as_fd(), name).map_err(|errno| site.io_failure("list", errno))?;
            hand.latency.record_since(start);
            if type_of(&status) == FileType::RegularFile {
                files += 1;
                bytes += status.stx_size;
            }
        }
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        *sums = (sums.0 + files, sums.1 + bytes);
        Ok(0)
    })?;
    let (files, bytes) = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    site.note_seen(LastSeen { files, bytes, digests: 0 });
    Ok(to_result(&totals, "statx", files))
}

/// All names of a directory.
fn names_in_order(site: &Workplace<'_>, target: &OwnedFd) -> Result<Vec<CString>, WorkError> {
    let mut names = Vec::new();
    let read = Listing::new().for_each_entry(target.as_fd(), identity, |name, _| {
        names.push(name.to_owned());
        Ok(())
    });
    read.map_err(|errno| site.io_failure("list", errno))?;
    Ok(names)
}

/// The same where several threads remove files, once one has listed them.
fn empty_by_hands(site: &mut Workplace<'_>, target: &OwnedFd) -> Result<OperationResult, WorkError> {
    let names = names_in_order(site, target)?;
    let totals = with_hands(site.threads, "unlink", |hand| {
        for name in hand.items_of_hand(&names) {
            let start = Instant::now();
            rustix::fs::unlinkat(target, name, AtFlags::empty())
                .map_err(|errno| site.io_failure("remove a file from", errno))?;
            hand.latency.record_since(start);
        }
        Ok(0)
    })?;
    let known = site.known_entry();
    site.set_entry(LedgerEntry { remains: Remains::EmptyDirectory, sure: true, ..known });
    Ok(to_result(&totals, "unlink", names.len() as u64))
}

pub(crate) fn empty_directory(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let target = site.open_target()?;
    if site.threads > 1 {
        return empty_by_hands(site, &target);
    }
    let mut latency = LatencyRecorder::new("unlink")?;
    let mut files = 0;
    let mut listing = Listing::new();
    let expected = site.expected_tree()?.totals().files;
    for pass in 0..PASSES {
        if pass > 0 {
            // After a rewind a directory may show entries that it did not show while it was changing.
            rustix::fs::seek(&target, rustix::fs::SeekFrom::Start(0))
                .map_err(|errno| site.io_failure("list", errno))?;
        }
        let unread = |errno| site.io_failure("list", errno);
        listing.for_each_entry(target.as_fd(), unread, |name, _| {
            let start = Instant::now();
            rustix::fs::unlinkat(&target, name, AtFlags::empty())
                .map_err(|errno| site.io_failure("remove a file from", errno))?;
            latency.record_since(start);
            files += 1;
            Ok(())
        })?;
        if files >= expected {
            break;
        }
    }
    let known = site.known_entry();
    site.set_entry(LedgerEntry { remains: Remains::EmptyDirectory, sure: true, ..known });
    Ok(OperationResult {
        logical_bytes: 0,
        files,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "unlink",
    })
}
