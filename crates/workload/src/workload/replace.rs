//! `rename.replace`: every file of a directory is replaced as editors, package managers and key stores do it: the new contents
//! go into another file, that is synced and renamed over the old one.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::Body;

use super::hands::with_hands;
use super::pieces::{content, sync_if_due, told};
use super::{Done, WorkError, Workplace};

pub(crate) fn replace(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let folder = site.open_target()?;
    let (content, tree) = (content(site)?, site.tree()?);
    let generation = site.known().generation + 1;
    let done = with_hands(site.threads, "replace", |hand| {
        let new =
            CString::new(format!(".new-{}", hand.number)).map_err(|_| site.failed("name", Errno::INVAL))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (mut bytes, mut calls) = (0, 0);
        for entry in hand.own(&tree.entries) {
            let body = Body { identity: entry.what, generation, size: entry.size };
            let mode = Mode::from_raw_mode(entry.mode.into());
            let start = Instant::now();
            let file = rustix::fs::openat(&folder, &new, flags, mode)
                .map_err(|errno| site.failed("create a file in", errno))?;
            content.write_all(file.as_fd(), &body).map_err(|errno| site.failed("write a file in", errno))?;
            calls += 1;
            sync_if_due(site, file.as_fd(), calls)?;
            drop(file);
            rustix::fs::renameat(&folder, &new, &folder, tree.name_at(entry.name))
                .map_err(|errno| site.failed("rename a file in", errno))?;
            hand.latency.since(start);
            bytes += body.size;
        }
        Ok(bytes)
    })?;
    let files = tree.entries.len() as u64;
    site.note_overwritten();
    Ok(told(&done, "replace", files))
}
