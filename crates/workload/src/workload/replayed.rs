//! Verifies the result of a replayed trace: every name, every file's size, every byte.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::dataset::{
    Body, Content, DatasetOrigin, IoFailure, Listing, Prepared, TRANSFER, open_directory_below,
    open_path_quietly, open_to_read,
};
use fsverdict_calls::{CallTrace, FileContent, SegmentOrigin, WritePeriods};

use super::WorkError;
use super::mover::ENDLESS;
use super::positioned::read_at;

/// Compares all that lies in the folder.
pub(super) fn verify_replayed_files(
    operation: &'static str,
    prepared: &Prepared,
    periods: WritePeriods,
    at: &Path,
) -> Result<(), WorkError> {
    let (Some(trace), DatasetOrigin::Generated { content, .. }) = (&prepared.calls, &prepared.origin) else {
        return Err(WorkError::Unknown { operation, at: at.display().to_string() });
    };
    let wrong = |path: &Path, saw: String, expected: String| WorkError::Miscounted {
        operation,
        at: at.join(path).display().to_string(),
        saw,
        expected,
    };
    let end = trace
        .final_state(periods)
        .map_err(|fault| wrong(Path::new(""), fault.to_string(), "a trace that was checked".to_owned()))?;
    let root = open_path_quietly(at).map_err(|errno| verify_failure(operation, at, errno))?;
    let mut paths = vec![PathBuf::new()];
    for (number, name) in (1_u32..).zip(trace.names()) {
        let above = paths.get(name.parent as usize).cloned().unwrap_or_default();
        paths.push(above.join(trace.name_text(number)));
    }
    let mut buffer = vec![0; TRANSFER];
    for (number, path) in (0_u32..).zip(&paths) {
        let fails = |errno| verify_failure(operation, &at.join(path), errno);
        if end.is_directory(number) {
            let folder = open_directory_below(root.as_fd(), path, false).map_err(fails)?;
            let mut entries = 0;
            Listing::new().for_each_entry(folder.as_fd(), fails, |_, _| {
                entries += 1;
                Ok(())
            })?;
            if entries != end.entries_in(number) {
                return Err(wrong(path, format!("{entries} names"), end.entries_in(number).to_string()));
            }
        }
        let Some((_, file)) = end.file_of(number) else { continue };
        let opened = open_file(root.as_fd(), path).map_err(fails)?;
        let size = rustix::fs::fstat(&opened).map_err(fails)?.st_size;
        if u64::try_from(size) != Ok(file.size) {
            return Err(wrong(path, format!("{size} bytes"), file.size.to_string()));
        }
        let mut compared = ComparedFile { content, file: opened.as_fd(), buffer: &mut buffer };
        if let Some(differs) = compared.first_difference(file).map_err(fails)? {
            return Err(wrong(
                path,
                format!("other content from byte {differs} on"),
                "what was written".into(),
            ));
        }
    }
    Ok(())
}

fn verify_failure(operation: &'static str, path: &Path, errno: Errno) -> WorkError {
    WorkError::Io { operation, failure: IoFailure::new("look at", path.display().to_string(), errno) }
}

fn open_file(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let folder = open_directory_below(root, path.parent().unwrap_or(Path::new("")), false)?;
    let name = path.file_name().unwrap_or_default();
    open_to_read(folder.as_fd(), name)
}

/// Finds the first byte of a device that differs from the data written by a trace's requests.
pub(super) fn first_difference_on(
    device: &OwnedFd,
    trace: &CallTrace,
    content: &Content,
) -> Result<Option<u64>, Errno> {
    let end = trace.final_state(WritePeriods::One).ok();
    let Some(file) = end.and_then(|end| end.file_of(1).map(|(_, file)| file.clone())) else {
        return Ok(None);
    };
    let mut buffer = vec![0; TRANSFER];
    let mut compared = ComparedFile { content, file: device.as_fd(), buffer: &mut buffer };
    // Blocks that were not written may have any content.
    for (start, segment) in file.segments.iter().filter(|(_, segment)| segment.origin.written > 0) {
        if let Some(differs) = compared.in_part(*start, segment.end, Some(segment.origin))? {
            return Ok(Some(differs));
        }
    }
    Ok(None)
}

/// The bytes that a trace's file has from an origin.
pub(super) fn body_of(origin: SegmentOrigin) -> Body {
    Body { identity: origin.file, generation: origin.written, size: ENDLESS }
}

/// A file that is being compared with the written data.
struct ComparedFile<'a> {
    content: &'a Content,
    file: BorrowedFd<'a>,
    buffer: &'a mut [u8],
}

impl ComparedFile<'_> {
    fn first_difference(&mut self, file: &FileContent) -> Result<Option<u64>, Errno> {
        let mut at = 0;
        for (start, segment) in &file.segments {
            let hole = self.in_part(at, *start, None)?;
            let differs = match hole {
                None => self.in_part(*start, segment.end, Some(segment.origin))?,
                differs => differs,
            };
            if differs.is_some() {
                return Ok(differs);
            }
            at = segment.end;
        }
        self.in_part(at, file.size, None)
    }

    /// In the part from `at` to `end`, which holds bytes of this origin, or zeros.
    fn in_part(
        &mut self,
        mut at: u64,
        end: u64,
        origin: Option<SegmentOrigin>,
    ) -> Result<Option<u64>, Errno> {
        while at < end {
            let count = (end - at).min(self.buffer.len() as u64) as usize;
            let bytes = &mut self.buffer[..count];
            read_at(self.file, bytes, at)?;
            let differs = match origin {
                Some(origin) => {
                    // Copied bytes are those of another place.
                    let place = origin.place_of(at);
                    let differs = self.content.first_difference(&body_of(origin), place, bytes);
                    differs.map(|place| place.saturating_add_signed(origin.shift))
                }
                None => bytes.iter().position(|byte| *byte != 0).map(|place| at + place as u64),
            };
            if differs.is_some() {
                return Ok(differs);
            }
            at += count as u64;
        }
        Ok(None)
    }
}
