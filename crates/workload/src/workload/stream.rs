//! `stream.write`, `stream.read`, `stream.rewrite`: one big file from beginning to end, 256 KiB at a time.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, DatasetOrigin, TRANSFER, read_some};

use super::latency::{LatencyRecorder, finish};
use super::ledger::LastSeen;
use super::{Done, WorkError, Workplace};

pub(crate) fn write(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let file = open(site, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let done = write_all(site, &file, 0)?;
    site.note_created();
    Ok(done)
}

pub(crate) fn rewrite(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let file = open(site, OFlags::WRONLY)?;
    let done = write_all(site, &file, site.known().generation + 1)?;
    site.note_overwritten();
    Ok(done)
}

pub(crate) fn read(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    let file = open(site, OFlags::RDONLY)?;
    let mut latency = LatencyRecorder::new("read")?;
    let mut buffer = vec![0; TRANSFER];
    let mut bytes = 0;
    loop {
        let start = Instant::now();
        let count = read_some(file.as_fd(), &mut buffer).map_err(|errno| site.failed("read", errno))?;
        if count == 0 {
            break;
        }
        latency.since(start);
        bytes += count as u64;
    }
    site.note_seen(LastSeen { files: 1, bytes, digests: 0 });
    Ok(Done {
        logical_bytes: bytes,
        files: 1,
        held: None,
        read_besides: 0,
        calls: finish(&[&latency]),
        main_call: "read",
    })
}

/// As many bytes were read as there must be, and they are the right ones.
pub(crate) fn verify_read(site: &Workplace<'_>) -> Result<(), WorkError> {
    let expected = site.tree()?.totals().bytes;
    let saw = site.seen().bytes;
    if saw != expected {
        return Err(site.miscounted(format!("{saw} bytes"), expected.to_string()));
    }
    site.compare()
}

/// Opens the file that the site is about, or makes it.
pub(super) fn open(site: &Workplace<'_>, flags: OFlags) -> Result<OwnedFd, WorkError> {
    let (above, file) = site.open_above(flags.contains(OFlags::CREATE))?;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, &file, flags, Mode::from_raw_mode(0o644)).map_err(|errno| match errno {
        Errno::EXIST => site.already_there(),
        Errno::NOENT => site.not_written(),
        errno => site.failed("open", errno),
    })
}

fn write_all(site: &Workplace<'_>, file: &OwnedFd, generation: u32) -> Result<Done, WorkError> {
    let DatasetOrigin::Generated { tree, content } = &site.dataset.origin else {
        return Err(site.not_written());
    };
    let body = Body { identity: 0, generation, size: tree.totals().bytes };
    let mut latency = LatencyRecorder::new("write")?;
    let mut position = 0;
    while position < body.size {
        let start = Instant::now();
        let count =
            content.write_some(file.as_fd(), &body, position).map_err(|errno| site.failed("write", errno))?;
        latency.since(start);
        position += count as u64;
    }
    Ok(Done {
        logical_bytes: body.size,
        files: 1,
        held: None,
        read_besides: 0,
        calls: finish(&[&latency]),
        main_call: "write",
    })
}
