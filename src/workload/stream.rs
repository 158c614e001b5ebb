//! `stream.write`, `stream.read`, `stream.rewrite`: one big file from beginning to end, 256 KiB at a time.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, Kind, Origin, TRANSFER, read_some};

use super::latency::{Latency, finish};
use super::site::Seen;
use super::{Done, Operation, Site, WorkError};

const FILES: &[Kind] = &[Kind::File];

/// `stream.write`.
pub(crate) struct Write;

impl Operation for Write {
    fn name(&self) -> &'static str {
        "stream.write"
    }

    fn summary(&self) -> &'static str {
        "writes one big file from beginning to end"
    }

    fn datasets(&self) -> &'static [Kind] {
        FILES
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let file = open(self, site, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let done = write(self, site, &file, 0)?;
        site.note_created();
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        site.compare(self.name())
    }
}

/// `stream.rewrite`.
pub(crate) struct Rewrite;

impl Operation for Rewrite {
    fn name(&self) -> &'static str {
        "stream.rewrite"
    }

    fn summary(&self) -> &'static str {
        "writes other bytes over one big file, in place, without truncating it"
    }

    fn datasets(&self) -> &'static [Kind] {
        FILES
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let file = open(self, site, OFlags::WRONLY)?;
        let done = write(self, site, &file, site.known().generation + 1)?;
        site.note_overwritten();
        Ok(done)
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        site.compare(self.name())
    }
}

/// `stream.read`.
pub(crate) struct Read;

impl Operation for Read {
    fn name(&self) -> &'static str {
        "stream.read"
    }

    fn summary(&self) -> &'static str {
        "reads one big file from beginning to end, and does nothing with it"
    }

    fn datasets(&self) -> &'static [Kind] {
        FILES
    }

    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError> {
        site.check(self)?;
        let file = open(self, site, OFlags::RDONLY)?;
        let mut latency = Latency::new("read")?;
        let mut buffer = vec![0; TRANSFER];
        let mut bytes = 0;
        loop {
            let start = Instant::now();
            let count = read_some(file.as_fd(), &mut buffer)
                .map_err(|errno| site.failed(self.name(), "read", errno))?;
            if count == 0 {
                break;
            }
            latency.since(start);
            bytes += count as u64;
        }
        site.note_seen(Seen { files: 1, bytes, digests: 0 });
        Ok(Done { logical_bytes: bytes, files: 1, histograms: finish(&[&latency]), main_call: "read" })
    }

    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError> {
        let expected = site.tree()?.totals().bytes;
        let saw = site.seen().bytes;
        if saw != expected {
            let (saw, expected) = (format!("{saw} bytes"), format!("{expected}"));
            return Err(WorkError::Miscounted { operation: self.name(), at: site.shown(), saw, expected });
        }
        site.compare(self.name())
    }
}

fn open(operation: &dyn Operation, site: &Site<'_>, flags: OFlags) -> Result<OwnedFd, WorkError> {
    let name = operation.name();
    let (above, file) = site.open_above(name, flags.contains(OFlags::CREATE))?;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, &file, flags, Mode::from_raw_mode(0o644)).map_err(|errno| match errno {
        Errno::EXIST => WorkError::AlreadyThere { operation: name, at: site.shown() },
        Errno::NOENT => site.not_written(name),
        errno => site.failed(name, "open", errno),
    })
}

fn write(
    operation: &dyn Operation,
    site: &Site<'_>,
    file: &OwnedFd,
    generation: u32,
) -> Result<Done, WorkError> {
    let Origin::Generated { tree, content } = site.dataset.origin() else {
        return Err(site.not_written(operation.name()));
    };
    let body = Body { identity: 0, generation, size: tree.totals().bytes };
    let mut latency = Latency::new("write")?;
    let mut position = 0;
    while position < body.size {
        let start = Instant::now();
        let count = content
            .write_some(file.as_fd(), &body, position)
            .map_err(|errno| site.failed(operation.name(), "write", errno))?;
        latency.since(start);
        position += count as u64;
    }
    Ok(Done { logical_bytes: body.size, files: 1, histograms: finish(&[&latency]), main_call: "write" })
}
