//! Disks that calibration can time: a real one, bypassing the kernel's caches, and a modelled one.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::{Errno, pread, pwrite};

use crate::device::random::mix_bits;
use crate::device::{Action, Device, Model, ModelError, Request};
use fsverdict_folders::name_file_type;

/// Buffers, offsets and lengths are multiples of this, in bytes, which is a multiple of any device's block.
const ALIGNMENT: usize = 4096;
/// Largest read or write, in bytes.
const MAX_LENGTH: usize = 1 << 20;

/// A disk that can be read, written and timed. Offsets and lengths are multiples of 4096 bytes; a length is at most 1
/// MiB. Times are in nanoseconds.
pub trait TimedDisk {
    fn size_bytes(&self) -> u64;

    /// Reads `bytes` from `offset` on; returns the time that this took.
    fn time_read(&mut self, offset: u64, bytes: u64) -> io::Result<u64>;

    /// Writes `bytes` of arbitrary data from `offset` on; returns the time that this took.
    fn time_write(&mut self, offset: u64, bytes: u64) -> io::Result<u64>;

    /// Makes written data durable; returns the time that this took.
    fn time_flush(&mut self) -> io::Result<u64>;
}

/// A block device, or a file, used with `O_DIRECT`.
#[derive(Debug)]
pub struct Raw {
    file: File,
    size_bytes: u64,
    buffer: Vec<u8>,
}

impl Raw {
    /// Opens a block device or a regular file; anything else is not opened, since that could wait for ever.
    ///
    /// # Errors
    /// As open(2), and if the path names something else.
    pub fn open_device(path: &Path, write: bool) -> io::Result<Raw> {
        // The type is checked before opening, because opening alone can affect a device.
        must_be_disk(&rustix::fs::stat(path)?)?;
        let flags = (OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut file = File::options().read(true).write(write).custom_flags(flags).open(path)?;
        must_be_disk(&rustix::fs::fstat(&file)?)?;
        let size_bytes = file.seek(SeekFrom::End(0))?;
        // The data is not compressible and not zero, because some devices treat such data specially.
        let buffer = (0..MAX_LENGTH + ALIGNMENT).map(|index| mix_bits(index as u64) as u8).collect();
        Ok(Raw { file, size_bytes, buffer })
    }

    /// Repeats a call until all of `bytes` are done; returns the time that this took, in nanoseconds.
    fn time_call(
        &mut self,
        offset: u64,
        bytes: u64,
        call: impl Fn(&File, &mut [u8], u64) -> rustix::io::Result<usize>,
    ) -> io::Result<u64> {
        let aligned = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let end = aligned.saturating_add(bytes as usize);
        let buffer = self.buffer.get_mut(aligned..end).ok_or(ErrorKind::InvalidInput)?;
        let start = Instant::now();
        let mut done_bytes = 0;
        while let Some(rest) = buffer.get_mut(done_bytes..).filter(|rest| !rest.is_empty()) {
            match call(&self.file, rest, offset + done_bytes as u64) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => done_bytes += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(start.elapsed().as_nanos() as u64)
    }
}

fn must_be_disk(status: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::BlockDevice | FileType::RegularFile => Ok(()),
        FileType::CharacterDevice => {
            Err(Error::new(ErrorKind::InvalidInput, "it is a device of characters, and no disk"))
        }
        kind => {
            let statement = format!("it is {}, and neither a block device nor a file", name_file_type(kind));
            Err(Error::new(ErrorKind::InvalidInput, statement))
        }
    }
}

impl TimedDisk for Raw {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn time_read(&mut self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.time_call(offset, bytes, |file, buffer, offset| pread(file, buffer, offset))
    }

    fn time_write(&mut self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.time_call(offset, bytes, |file, buffer, offset| pwrite(file, buffer, offset))
    }

    fn time_flush(&mut self) -> io::Result<u64> {
        let start = Instant::now();
        self.file.sync_data()?;
        Ok(start.elapsed().as_nanos() as u64)
    }
}

/// A modelled device, which computes its times.
#[derive(Debug)]
pub struct ModelledDisk {
    device: Device,
    now_ns: u64,
    requests: u64,
}

impl ModelledDisk {
    pub fn new(model: &Model, size_bytes: u64, seed: u64) -> Result<ModelledDisk, ModelError> {
        Ok(ModelledDisk { device: Device::new(model, size_bytes, seed)?, now_ns: 0, requests: 0 })
    }

    /// Splits a request as a kernel would, submits all pieces at once, and returns the time until the last is done,
    /// in nanoseconds.
    fn time_request(&mut self, operation: Action, offset: u64, bytes: u64) -> io::Result<u64> {
        let (first, end) = (offset / 512, (offset + bytes) / 512);
        let max_sectors = usize::try_from(self.device.limits().max_sectors_kb * 2).unwrap_or(1);
        let pieces = (first..end)
            .step_by(max_sectors)
            .map(|sector| (sector, (end - sector).min(max_sectors as u64) as u32));
        // A flush has no sectors.
        let pieces: Vec<_> = if bytes == 0 { vec![(0, 0)] } else { pieces.collect() };
        for &(sector, sectors) in &pieces {
            self.device.submit(self.now_ns, Request { id: self.requests, operation, sector, sectors });
            self.requests += 1;
        }
        let (start_ns, mut completions) = (self.now_ns, Vec::new());
        while completions.len() < pieces.len() {
            self.now_ns = self.device.next_event().ok_or(ErrorKind::UnexpectedEof)?;
            self.device.advance(self.now_ns, &mut completions);
        }
        Ok(self.now_ns - start_ns)
    }
}

impl TimedDisk for ModelledDisk {
    fn size_bytes(&self) -> u64 {
        self.device.limits().size_bytes
    }

    fn time_read(&mut self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.time_request(Action::Read, offset, bytes)
    }

    fn time_write(&mut self, offset: u64, bytes: u64) -> io::Result<u64> {
        self.time_request(Action::Write, offset, bytes)
    }

    fn time_flush(&mut self) -> io::Result<u64> {
        // A kernel sends no flush to a device that reports no volatile cache.
        if self.device.limits().volatile_cache { self.time_request(Action::Flush, 0, 0) } else { Ok(0) }
    }
}
