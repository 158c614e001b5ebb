//! Disks that can be timed: a real one, past all caches of the kernel, and a modelled one.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::io::{Errno, pread, pwrite};

use crate::device::random::mix;
use crate::device::{Action, Device, Model, ModelError, Request};

/// What buffers, offsets and lengths are multiples of: what any device's blocks fit into.
const ALIGNMENT: usize = 4096;
const LONGEST: usize = 1 << 20;

/// Something that can be read, written and timed. What is read and written begins at a multiple of 4096 and is one, of at most
/// 1 MiB at once; times are in nanoseconds.
pub trait TimedDisk {
    fn size_bytes(&self) -> u64;

    /// Reads `bytes` from `offset` on; returns how long that took.
    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64>;

    /// Writes `bytes` from `offset` on, whatever they are; returns how long that took.
    fn write(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64>;

    /// Makes what was written durable; returns how long that took.
    fn flush(&mut self) -> std::io::Result<u64>;
}

/// A block device, or a file, used with `O_DIRECT`.
#[derive(Debug)]
pub struct Raw {
    file: File,
    size_bytes: u64,
    buffer: Vec<u8>,
}

impl Raw {
    pub fn open(path: &Path, write: bool) -> std::io::Result<Raw> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let mut file = File::options().read(true).write(write).custom_flags(direct).open(path)?;
        let size_bytes = file.seek(SeekFrom::End(0))?;
        // Devices that compress, or know zeroes, are not to.
        let buffer = (0..LONGEST + ALIGNMENT).map(|at| mix(at as u64) as u8).collect();
        Ok(Raw { file, size_bytes, buffer })
    }

    /// Repeats a call until all of `bytes` are done.
    fn timed(
        &mut self,
        offset: u64,
        bytes: u64,
        call: impl Fn(&File, &mut [u8], u64) -> rustix::io::Result<usize>,
    ) -> std::io::Result<u64> {
        let aligned = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let end = aligned.saturating_add(bytes as usize);
        let buffer = self.buffer.get_mut(aligned..end).ok_or(std::io::ErrorKind::InvalidInput)?;
        let started = Instant::now();
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match call(&self.file, rest, offset + done as u64) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(started.elapsed().as_nanos() as u64)
    }
}

impl TimedDisk for Raw {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        self.timed(offset, bytes, |file, buffer, at| pread(file, buffer, at))
    }

    fn write(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        self.timed(offset, bytes, |file, buffer, at| pwrite(file, buffer, at))
    }

    fn flush(&mut self) -> std::io::Result<u64> {
        let started = Instant::now();
        self.file.sync_data()?;
        Ok(started.elapsed().as_nanos() as u64)
    }
}

/// A device of a model, in its own time.
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

    /// Split as a kernel would, all pieces submitted at once.
    fn timed(&mut self, operation: Action, offset: u64, bytes: u64) -> std::io::Result<u64> {
        let (first, end) = (offset / 512, (offset + bytes) / 512);
        let most = usize::try_from(self.device.limits().max_sectors_kb * 2).unwrap_or(1);
        let pieces =
            (first..end).step_by(most).map(|sector| (sector, (end - sector).min(most as u64) as u32));
        // A flush has no sectors.
        let pieces: Vec<_> = if bytes == 0 { vec![(0, 0)] } else { pieces.collect() };
        for &(sector, sectors) in &pieces {
            self.device.submit(self.now_ns, Request { id: self.requests, operation, sector, sectors });
            self.requests += 1;
        }
        let (started, mut completions) = (self.now_ns, Vec::new());
        while completions.len() < pieces.len() {
            self.now_ns = self.device.next_event().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            self.device.advance(self.now_ns, &mut completions);
        }
        Ok(self.now_ns - started)
    }
}

impl TimedDisk for ModelledDisk {
    fn size_bytes(&self) -> u64 {
        self.device.limits().size_bytes
    }

    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        self.timed(Action::Read, offset, bytes)
    }

    fn write(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        self.timed(Action::Write, offset, bytes)
    }

    fn flush(&mut self) -> std::io::Result<u64> {
        // A kernel sends none to a device that says it has no volatile cache.
        if self.device.limits().volatile_cache { self.timed(Action::Flush, 0, 0) } else { Ok(0) }
    }
}
