//! `device.write` and `device.read`: the rate of the bare device, as a reference for the results of filesystems.
//!
//! Both run from the first byte on, before a filesystem exists, through the kernel's cache of the device like `hdparm
//! -t`. The written data are compared afterwards, outside the clock.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::{Body, Content, DatasetOrigin, IoFailure, Prepared, TRANSFER, read_some};
use fsverdict_calls::CallTrace;
use fsverdict_judgement::plan::{Operation, Pace};

use super::latency::{LatencyRecorder, to_recorded_calls};
use super::{OperationResult, WorkError, replay, replayed};

fn device_failure(operation: Operation, call: &'static str, device: &Path, errno: Errno) -> WorkError {
    WorkError::Io {
        operation: operation.name(),
        failure: IoFailure::new(call, device.display().to_string(), errno),
    }
}

fn open_device(operation: Operation, device: &Path, flags: OFlags) -> Result<OwnedFd, WorkError> {
    rustix::fs::open(device, flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| device_failure(operation, "open", device, errno))
}

/// The one file of a dataset that is a big file.
fn body_of(dataset: &Prepared) -> (Body, Option<&crate::dataset::Content>) {
    match &dataset.origin {
        DatasetOrigin::Generated { tree, content } => {
            let (identity, size) = tree.entries.first().map_or((0, 0), |entry| (entry.what, entry.size));
            (Body { identity, generation: 0, size }, Some(content))
        }
        DatasetOrigin::Folder { .. } => (Body { identity: 0, generation: 0, size: 0 }, None),
    }
}

/// Writes the dataset's bytes to the device from its first byte on. Making them durable is the caller's.
pub fn write_device(device: &Path, dataset: &Prepared) -> Result<OperationResult, WorkError> {
    let file = open_device(Operation::DeviceWrite, device, OFlags::WRONLY)?;
    let (body, content) = body_of(dataset);
    let mut latency = LatencyRecorder::new("write")?;
    let mut position = 0;
    while position < body.size {
        let Some(content) = content else { break };
        let start = Instant::now();
        let written = content.write_some(file.as_fd(), &body, position);
        latency.record_since(start);
        position +=
            written.map_err(|errno| device_failure(Operation::DeviceWrite, "write", device, errno))? as u64;
    }
    Ok(OperationResult {
        logical_bytes: position,
        files: 0,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "write",
    })
}

/// Reads as many bytes. The caller drops the cache before.
pub fn read_device(device: &Path, dataset: &Prepared) -> Result<OperationResult, WorkError> {
    let mut latency = LatencyRecorder::new("read")?;
    let mut position = 0;
    each_piece(device, body_of(dataset).0.size, |piece, start| {
        latency.record_since(start);
        position += piece.len() as u64;
        Ok(())
    })?;
    Ok(OperationResult {
        logical_bytes: position,
        files: 0,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "read",
    })
}

/// Makes the requests of a trace on the device, past the kernel's cache where they are of whole pages.
pub fn replay_device(
    device: &Path,
    dataset: &Prepared,
    pace: Pace,
    threads: u32,
) -> Result<OperationResult, WorkError> {
    let replay_failure = |call, errno| device_failure(Operation::DeviceReplay, call, device, errno);
    let (trace, content) = open_traced(dataset, device)?;
    let direct = if replay::of_whole_pages(trace) { OFlags::DIRECT } else { OFlags::empty() };
    let file = open_device(Operation::DeviceReplay, device, OFlags::RDWR | direct)?;
    let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
        .map_err(|errno| replay_failure("learn the size of", errno))?;
    let wanted = trace.totals().most_bytes;
    if wanted > size {
        return Err(WorkError::Miscounted {
            operation: Operation::DeviceReplay.name(),
            at: device.display().to_string(),
            saw: format!("a device of {size} bytes"),
            expected: format!("room for the {wanted} of the trace"),
        });
    }
    let (latency, read, written) =
        replay::replay_on(&file, trace, content, pace, threads).map_err(|failure| match failure {
            Ok(error) => error,
            Err((call, errno)) => replay_failure(call, errno),
        })?;
    Ok(OperationResult {
        logical_bytes: written,
        read_besides: read,
        files: 0,
        held: None,
        calls: to_recorded_calls(&[&latency]),
        main_call: "call",
    })
}

/// Compares the data that the requests of a trace wrote.
pub fn verify_replayed(device: &Path, dataset: &Prepared) -> Result<(), WorkError> {
    let (trace, content) = open_traced(dataset, device)?;
    let file = open_device(Operation::DeviceReplay, device, OFlags::RDONLY)?;
    match replayed::first_difference_on(&file, trace, content) {
        Ok(None) => Ok(()),
        Ok(Some(at)) => Err(WorkError::Miscounted {
            operation: Operation::DeviceReplay.name(),
            at: device.display().to_string(),
            saw: format!("other content from byte {at} on"),
            expected: "what it wrote".to_owned(),
        }),
        Err(errno) => Err(device_failure(Operation::DeviceReplay, "read", device, errno)),
    }
}

/// The calls of a dataset, and where their bytes come from.
fn open_traced<'a>(dataset: &'a Prepared, device: &Path) -> Result<(&'a CallTrace, &'a Content), WorkError> {
    match (&dataset.calls, &dataset.origin) {
        (Some(calls), DatasetOrigin::Generated { content, .. }) => Ok((calls, content)),
        _ => Err(WorkError::Unknown {
            operation: Operation::DeviceReplay.name(),
            at: device.display().to_string(),
        }),
    }
}

/// Compares the content of the device with the written data.
pub fn verify_device(device: &Path, dataset: &Prepared) -> Result<(), WorkError> {
    let (body, content) = body_of(dataset);
    let Some(content) = content else { return Ok(()) };
    let mut position = 0;
    each_piece(device, body.size, |piece, _| {
        if let Some(at) = content.first_difference(&body, position, piece) {
            return Err(WorkError::Miscounted {
                operation: Operation::DeviceRead.name(),
                at: device.display().to_string(),
                saw: format!("other content from byte {at} on"),
                expected: "what device.write wrote".to_owned(),
            });
        }
        position += piece.len() as u64;
        Ok(())
    })
}

/// Reads the device from its first byte on.
fn each_piece(
    device: &Path,
    size: u64,
    mut take: impl FnMut(&[u8], Instant) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let file = open_device(Operation::DeviceRead, device, OFlags::RDONLY)?;
    let mut buffer = vec![0; TRANSFER];
    let mut bytes_left = size;
    while bytes_left > 0 {
        let wanted = bytes_left.min(TRANSFER as u64) as usize;
        let start = Instant::now();
        let count = read_some(file.as_fd(), &mut buffer[..wanted])
            .and_then(|count| if count == 0 { Err(Errno::NOSPC) } else { Ok(count) })
            .map_err(|errno| device_failure(Operation::DeviceRead, "read", device, errno))?;
        take(&buffer[..count], start)?;
        bytes_left -= count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::{read_device, verify_device, write_device};
    use crate::dataset::prepare_dataset;
    use fsverdict_judgement::plan::Dataset;
    use fsverdict_text::Bytes;

    #[test]
    fn what_is_written_is_read_and_compared() {
        let dataset =
            prepare_dataset("big", &Dataset::File { size: Bytes(1_000_001), compressible: 0.0 }, 1).unwrap();
        let device = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(write_device(device.path(), &dataset).unwrap().logical_bytes, 1_000_001);
        assert_eq!(read_device(device.path(), &dataset).unwrap().logical_bytes, 1_000_001);
        verify_device(device.path(), &dataset).unwrap();
        device.as_file().write_at(b"!", 700_000).unwrap();
        let shown = verify_device(device.path(), &dataset).unwrap_err().to_string();
        assert!(shown.contains("from byte 700000 on"), "{shown}");
        device.as_file().set_len(1000).unwrap();
        assert!(
            read_device(device.path(), &dataset)
                .unwrap_err()
                .to_string()
                .starts_with("device.read: cannot read")
        );
    }
}
