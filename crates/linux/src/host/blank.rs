//! Whether a device holds nothing at all: every byte of it read, or known to be a hole of the file behind it.
//!
//! No kernel says of a disk which of its blocks were discarded (`BLKDISCARDZEROES` has answered "no" for every disk
//! since Linux 4.12), so a disk is read; a loop device over a sparse file is read only where its file has data.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, Mode, OFlags, SeekFrom, fadvise};

use super::block_device::BlockDevice;
use super::syscall;
use fsverdict_text::Bytes;

/// How long is read before the user is asked instead. A disk that takes longer to read than this is asked about.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes read at once.
const STEP: u64 = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survey {
    /// Nothing anywhere.
    Blank,
    /// Nothing in the first bytes, as many as this says; the rest was not looked at.
    Unfinished(u64),
    /// Something in the `STEP` that begins at this byte.
    Data(u64),
}

impl Survey {
    /// Describes the examined part of a device of `size` bytes; `None` if all of it was examined and is blank.
    pub fn describe(self, size: u64) -> Option<String> {
        match self {
            Survey::Blank => None,
            Survey::Unfinished(until) => Some(format!(
                "nothing in the first {} and in 256 samples of the rest; {} of it were not looked at",
                Bytes(until),
                Bytes(size.saturating_sub(until))
            )),
            Survey::Data(place) => {
                Some(format!("data that no known signature explains, {} from its start", Bytes(place)))
            }
        }
    }
}

/// Looks whether every byte of an open device of `size` bytes is `value`, for as long as `patience`. Reads only.
pub fn survey_blankness(
    device: &File,
    about: &BlockDevice,
    value: u8,
    size: u64,
    patience: Duration,
) -> io::Result<Survey> {
    let deadline = Instant::now() + patience;
    // Writes through the device must reach the file below before its holes are read.
    let backing = device.sync_all().ok().and_then(|()| backing_file(device, about)).filter(|_| value == 0);
    let expected = vec![value; STEP as usize];
    let mut buffer = vec![0; STEP as usize];
    let mut place = 0;
    while place < size {
        let data = match &backing {
            Some((file, offset)) => next_data(file, *offset, place..size)?,
            None => place..size,
        };
        place = data.start;
        while place < data.end {
            if Instant::now() > deadline {
                return Ok(Survey::Unfinished(place));
            }
            let length = STEP.min(data.end - place);
            let part = &mut buffer[..length as usize];
            device.read_exact_at(part, place)?;
            if *part != expected[..length as usize] {
                return Ok(Survey::Data(place));
            }
            // A whole disk must not drive everything else out of the caches.
            let _ = fadvise(device, place, std::num::NonZeroU64::new(length), Advice::DontNeed);
            place += length;
        }
    }
    Ok(Survey::Blank)
}

/// The first data within `range` of a device that begins at byte `offset` of `file`; an empty range at the end of
/// `range` if there are none.
fn next_data(file: &File, offset: u64, range: Range<u64>) -> io::Result<Range<u64>> {
    let seek = |from| rustix::fs::seek(file, from);
    let start = match seek(SeekFrom::Data(offset + range.start)) {
        Ok(start) => (start - offset).clamp(range.start, range.end),
        // No data up to the end of the file.
        Err(rustix::io::Errno::NXIO) => range.end,
        // A filesystem that cannot tell: everything is data.
        Err(_) => return Ok(range),
    };
    let end =
        seek(SeekFrom::Hole(offset + start)).map_or(range.end, |end| (end - offset).clamp(start, range.end));
    Ok(start..end)
}

/// The file behind a loop device, if its path still leads to it, and where in it the device begins.
fn backing_file(device: &File, about: &BlockDevice) -> Option<(File, u64)> {
    let path = about.backing_file.as_ref()?;
    let status = syscall::loop_status(device).ok()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && (metadata.dev(), metadata.ino()) == (status.device, status.inode))
        .then_some((file, status.offset))
}

/// The file of a loop device that shows only a part of it: a blank device does not imply a blank file.
pub fn unread_window(device: &File, about: &BlockDevice) -> Option<String> {
    let path = about.backing_file.as_ref()?;
    let status = syscall::loop_status(device).ok()?;
    let length = std::fs::metadata(path).ok().map(|file| file.len());
    let whole = status.offset == 0 && (status.size_limit == 0 || length == Some(about.size));
    (!whole).then(|| {
        let end = status.offset.saturating_add(about.size);
        format!("a part of the file {path}, bytes {} to {end}", status.offset)
    })
}
