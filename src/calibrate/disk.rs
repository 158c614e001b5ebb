//! Disks that can be timed: a real one, past all caches of the kernel, and a modelled one.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::io::{Errno, pread};

use crate::device::{Action, Device, Model, ModelError, Request};

/// What buffers, offsets and lengths are multiples of: what any device's blocks fit into.
const ALIGNMENT: usize = 4096;
/// The longest read.
const LONGEST: usize = 1 << 20;

/// Something that can be read and timed.
pub trait Disk {
    /// Its size in bytes.
    fn size_bytes(&self) -> u64;

    /// Reads `bytes` from `offset` on, both multiples of 4096 and at most 1 MiB at once; returns how long that took, in
    /// nanoseconds.
    ///
    /// # Errors
    /// What the kernel says.
    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64>;
}

/// A block device, or a file, read with `O_DIRECT`.
#[derive(Debug)]
pub struct Raw {
    file: File,
    size_bytes: u64,
    buffer: Vec<u8>,
}

impl Raw {
    /// Opens it for reading.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(path: &Path) -> std::io::Result<Raw> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let mut file = File::options().read(true).custom_flags(direct).open(path)?;
        let size_bytes = file.seek(SeekFrom::End(0))?;
        Ok(Raw { file, size_bytes, buffer: vec![0; LONGEST + ALIGNMENT] })
    }
}

impl Disk for Raw {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        let aligned = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let end = aligned.saturating_add(bytes as usize);
        let buffer = self.buffer.get_mut(aligned..end).ok_or(std::io::ErrorKind::InvalidInput)?;
        let started = Instant::now();
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match pread(&self.file, rest, offset + done as u64) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(started.elapsed().as_nanos() as u64)
    }
}

/// A device of a model, in its own time.
#[derive(Debug)]
pub struct Modelled {
    device: Device,
    now_ns: u64,
    requests: u64,
}

impl Modelled {
    /// A fresh one.
    ///
    /// # Errors
    /// When the model does not stretch to this size.
    pub fn new(model: &Model, size_bytes: u64, seed: u64) -> Result<Modelled, ModelError> {
        Ok(Modelled { device: Device::new(model, size_bytes, seed)?, now_ns: 0, requests: 0 })
    }
}

impl Disk for Modelled {
    fn size_bytes(&self) -> u64 {
        self.device.limits().size_bytes
    }

    /// Split as a kernel would, all pieces submitted at once.
    fn read(&mut self, offset: u64, bytes: u64) -> std::io::Result<u64> {
        let (first, end) = (offset / 512, (offset + bytes) / 512);
        let most = usize::try_from(self.device.limits().max_sectors_kb * 2).unwrap_or(1);
        let mut underway = 0;
        for sector in (first..end).step_by(most) {
            let sectors = (end - sector).min(most as u64) as u32;
            let request = Request { id: self.requests, operation: Action::Read, sector, sectors };
            self.device.submit(self.now_ns, request);
            self.requests += 1;
            underway += 1;
        }
        let (started, mut completions) = (self.now_ns, Vec::new());
        while completions.len() < underway {
            self.now_ns = self.device.next_event().ok_or(std::io::ErrorKind::UnexpectedEof)?;
            self.device.advance(self.now_ns, &mut completions);
        }
        Ok(self.now_ns - started)
    }
}
