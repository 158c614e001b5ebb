//! `directory.list` and `directory.empty`: one directory with very many files.

use std::convert::identity;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType};

use crate::dataset::{Listing, look, type_of};

use super::latency::{LatencyRecorder, finish};
use super::ledger::{LastSeen, LedgerEntry, Remains};
use super::{Done, WorkError, Workplace};

/// How often an emptied directory is read again for files the filesystem had not shown before.
const PASSES: usize = 4;

pub(crate) fn list(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let target = site.open_target()?;
    let mut latency = LatencyRecorder::new("statx")?;
    let mut seen = LastSeen::default();
    let read = Listing::new().each(target.as_fd(), identity, |name, _| {
        let start = Instant::now();
        let status = look(target.as_fd(), name)?;
        latency.since(start);
        if type_of(&status) == FileType::RegularFile {
            seen.files += 1;
            seen.bytes += status.stx_size;
        }
        Ok(())
    });
    read.map_err(|errno| site.failed("list", errno))?;
    site.note_seen(seen);
    Ok(Done {
        logical_bytes: 0,
        files: seen.files,
        held: None,
        calls: finish(&[&latency]),
        main_call: "statx",
    })
}

/// As many files and bytes were seen as there must be, and they are the right ones.
pub(crate) fn verify_list(site: &Workplace<'_>) -> Result<(), WorkError> {
    let expected = site.tree()?.totals();
    let seen = site.seen();
    if (seen.files, seen.bytes) != (expected.files, expected.bytes) {
        let saw = format!("{} files of {} bytes", seen.files, seen.bytes);
        return Err(site.miscounted(saw, format!("{} of {}", expected.files, expected.bytes)));
    }
    site.compare()
}

pub(crate) fn empty(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let target = site.open_target()?;
    let mut latency = LatencyRecorder::new("unlink")?;
    let mut files = 0;
    let mut listing = Listing::new();
    let expected = site.tree()?.totals().files;
    for pass in 0..PASSES {
        if pass > 0 {
            // A directory may show, from its beginning, what it did not while it was changing.
            rustix::fs::seek(&target, rustix::fs::SeekFrom::Start(0))
                .map_err(|errno| site.failed("list", errno))?;
        }
        let unread = |errno| site.failed("list", errno);
        listing.each(target.as_fd(), unread, |name, _| {
            let start = Instant::now();
            rustix::fs::unlinkat(&target, name, AtFlags::empty())
                .map_err(|errno| site.failed("remove a file from", errno))?;
            latency.since(start);
            files += 1;
            Ok(())
        })?;
        if files >= expected {
            break;
        }
    }
    let known = site.known();
    site.note(LedgerEntry { remains: Remains::EmptyDirectory, sure: true, ..known });
    Ok(Done { logical_bytes: 0, files, held: None, calls: finish(&[&latency]), main_call: "unlink" })
}
