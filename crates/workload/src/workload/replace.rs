//! `rename.replace`: every file of a directory is replaced as editors, package managers and key stores do it: the new contents
//! go into another file, that is synced and renamed over the old one.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::Body;

use super::hands::with_hands;
use super::pieces::{content_of, sync_if_due, to_result};
use super::{OperationResult, WorkError, Workplace};

pub(crate) fn rename_replace(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let folder = site.open_target()?;
    let (content, tree) = (content_of(site)?, site.expected_tree()?);
    let generation = site.known_entry().generation + 1;
    let totals = with_hands(site.threads, "replace", |hand| {
        let new = CString::new(format!(".new-{}", hand.number))
            .map_err(|_| site.io_failure("name", Errno::INVAL))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (mut bytes, mut calls) = (0, 0);
        for entry in hand.items_of_hand(&tree.entries) {
            let body = Body { identity: entry.what, generation, size: entry.size };
            let mode = Mode::from_raw_mode(entry.mode.into());
            let start = Instant::now();
            let file = rustix::fs::openat(&folder, &new, flags, mode)
                .map_err(|errno| site.io_failure("create a file in", errno))?;
            content
                .write_all(file.as_fd(), &body)
                .map_err(|errno| site.io_failure("write a file in", errno))?;
            calls += 1;
            sync_if_due(site, file.as_fd(), calls)?;
            drop(file);
            rustix::fs::renameat(&folder, &new, &folder, tree.name_at(entry.name))
                .map_err(|errno| site.io_failure("rename a file in", errno))?;
            hand.latency.record_since(start);
            bytes += body.size;
        }
        Ok(bytes)
    })?;
    let files = tree.entries.len() as u64;
    site.note_overwritten();
    Ok(to_result(&totals, "replace", files))
}
