//! `directory.fill`, `directory.list`, `directory.empty`: one directory with very many files.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::dataset::{Kind, Listing, Manner, Stopped, look, type_of};

use super::latency::{Latency, finish};
use super::site::{Remains, Seen, Written};
use super::{Done, Operation, Site, WorkError, tree};

const FLATS: &[Kind] = &[Kind::Flat];
/// How often an emptied directory is read again for files the filesystem had not shown before.
const PASSES: usize = 4;

/// `directory.fill`.
pub(crate) struct Fill;

impl Operation for Fill {
    fn name(&self) -> &'static str {
        "directory.fill"
    }

    fn summary(&self) -> &'static str {
        "creates many small files in one directory"
    }

    fn datasets(&self) -> &'static [Kind] {
        FLATS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let target = site.make_target(self.name())?;
        let done = tree::write(self, site, &target, 0, Manner::Create, "create_file")?;
        site.note_created();
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        site.compare(self.name())
    }
}

/// `directory.list`.
pub(crate) struct List;

impl Operation for List {
    fn name(&self) -> &'static str {
        "directory.list"
    }

    fn summary(&self) -> &'static str {
        "reads a directory of many files and asks for the status of each, as ls -l does"
    }

    fn datasets(&self) -> &'static [Kind] {
        FLATS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let target = site.open_target(self.name())?;
        let mut latency = Latency::new("statx")?;
        let mut seen = Seen::default();
        let read = Listing::new().each(target.as_fd(), |name, _| {
            let start = Instant::now();
            let status = look(target.as_fd(), name)?;
            latency.since(start);
            if type_of(&status) == FileType::RegularFile {
                seen.files += 1;
                seen.bytes += status.stx_size;
            }
            Ok(())
        });
        read.map_err(|stopped| {
            let (Stopped::Reading(errno) | Stopped::Entry(errno)) = stopped;
            site.failed(self.name(), "list", errno)
        })?;
        site.note_seen(seen);
        Ok(Done { logical_bytes: 0, files: seen.files, histograms: finish(&[&latency]), main_call: "statx" })
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        let expected = site.tree()?.totals();
        let seen = site.seen();
        if (seen.files, seen.bytes) != (expected.files, expected.bytes) {
            return Err(WorkError::Miscounted {
                operation: self.name(),
                at: site.shown(),
                saw: format!("{} files of {} bytes", seen.files, seen.bytes),
                expected: format!("{} of {}", expected.files, expected.bytes),
            });
        }
        site.compare(self.name())
    }
}

/// `directory.empty`.
pub(crate) struct Empty;

impl Operation for Empty {
    fn name(&self) -> &'static str {
        "directory.empty"
    }

    fn summary(&self) -> &'static str {
        "removes all files of a directory, in the order it lists them, and keeps the directory"
    }

    fn datasets(&self) -> &'static [Kind] {
        FLATS
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let target = site.open_target(self.name())?;
        let mut latency = Latency::new("unlink")?;
        let mut files = 0;
        let mut listing = Listing::new();
        let expected = site.tree()?.totals().files;
        for pass in 0..PASSES {
            if pass > 0 {
                // A directory may show, from its beginning, what it did not while it was changing.
                rustix::fs::seek(&target, rustix::fs::SeekFrom::Start(0))
                    .map_err(|errno| site.failed(self.name(), "list", errno))?;
            }
            let read = listing.each(target.as_fd(), |name, _| {
                let start = Instant::now();
                rustix::fs::unlinkat(&target, name, AtFlags::empty())?;
                latency.since(start);
                files += 1;
                Ok::<(), Errno>(())
            });
            read.map_err(|stopped| match stopped {
                Stopped::Reading(errno) => site.failed(self.name(), "list", errno),
                Stopped::Entry(errno) => site.failed(self.name(), "remove a file from", errno),
            })?;
            if files >= expected {
                break;
            }
        }
        let known = site.known();
        site.note(Written { remains: Remains::EmptyDirectory, sure: true, ..known });
        Ok(Done { logical_bytes: 0, files, histograms: finish(&[&latency]), main_call: "unlink" })
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        super::verify::empty(self.name(), &site.target())
    }
}
