//! `stream.write`, `stream.read`, `stream.rewrite`: one big file from beginning to end, 256 KiB at a time.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, DatasetOrigin, TRANSFER, read_some};

use super::latency::{LatencyRecorder, to_recorded_calls};
use super::ledger::LastSeen;
use super::{OperationResult, WorkError, Workplace};

pub(crate) fn write_file(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let file = open_target_file(site, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let result = write_all(site, &file, 0)?;
    site.note_created();
    Ok(result)
}

pub(crate) fn rewrite_file(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let file = open_target_file(site, OFlags::WRONLY)?;
    let result = write_all(site, &file, site.known_entry().generation + 1)?;
    site.note_overwritten();
    Ok(result)
}

pub(crate) fn read_file(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let file = open_target_file(site, OFlags::RDONLY)?;
    let mut latency = LatencyRecorder::new("read")?;
    let mut buffer = vec![0; TRANSFER];
    let mut bytes = 0;
    loop {
        let start = Instant::now();
        let count = read_some(file.as_fd(), &mut buffer).map_err(|errno| site.io_failure("read", errno))?;
        if count == 0 {
            break;
        }
        latency.record_since(start);
        bytes += count as u64;
    }
    site.note_seen(LastSeen { files: 1, bytes, digests: 0 });
    Ok(OperationResult {
        logical_bytes: bytes,
        files: 1,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "read",
    })
}

/// As many bytes were read as there must be, and they are the right ones.
pub(crate) fn verify_read(site: &Workplace<'_>) -> Result<(), WorkError> {
    let expected = site.expected_tree()?.totals().bytes;
    let saw = site.last_seen().bytes;
    if saw != expected {
        return Err(site.miscount_error(format!("{saw} bytes"), expected.to_string()));
    }
    site.compare_with_expected()
}

/// Opens the file that the site is about, or makes it.
pub(super) fn open_target_file(site: &Workplace<'_>, flags: OFlags) -> Result<OwnedFd, WorkError> {
    let (above, file) = site.open_above(flags.contains(OFlags::CREATE))?;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, &file, flags, Mode::from_raw_mode(0o644)).map_err(|errno| match errno {
        Errno::EXIST => site.already_there_error(),
        Errno::NOENT => site.not_written_error(),
        errno => site.io_failure("open", errno),
    })
}

fn write_all(site: &Workplace<'_>, file: &OwnedFd, generation: u32) -> Result<OperationResult, WorkError> {
    let DatasetOrigin::Generated { tree, content } = &site.dataset.origin else {
        return Err(site.not_written_error());
    };
    let body = Body { identity: 0, generation, size: tree.totals().bytes };
    let mut latency = LatencyRecorder::new("write")?;
    let mut position = 0;
    while position < body.size {
        let start = Instant::now();
        let count = content
            .write_some(file.as_fd(), &body, position)
            .map_err(|errno| site.io_failure("write", errno))?;
        latency.record_since(start);
        position += count as u64;
    }
    Ok(OperationResult {
        logical_bytes: body.size,
        files: 1,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "write",
    })
}
