//! Moves the bytes of replayed calls: reads and writes through a buffer, and the calls that change a file's blocks.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::dataset::{Body, Content};
use fsverdict_calls::CallWork;

use super::WorkError;
use super::latency::LatencyRecorder;
use super::page_buffer::PageBuffer;
use super::positioned::{read_at, write_at};

/// The nominal size of files: their contents do not depend on their sizes.
pub(super) const ENDLESS: u64 = 1 << 60;

/// Why a call of a trace could not be made.
pub(super) type CallFailure = (&'static str, Errno);

/// Calls that move bytes, and their latencies.
pub(super) struct Mover<'a> {
    content: &'a Content,
    buffer: PageBuffer,
    pub(super) reads: LatencyRecorder,
    pub(super) writes: LatencyRecorder,
    pub(super) syncs: LatencyRecorder,
    pub(super) read: u64,
    pub(super) written: u64,
}

impl<'a> Mover<'a> {
    pub(super) fn new(content: &'a Content) -> Result<Self, WorkError> {
        Ok(Mover {
            content,
            buffer: PageBuffer::default(),
            reads: LatencyRecorder::new("read")?,
            writes: LatencyRecorder::new("write")?,
            syncs: LatencyRecorder::new("sync")?,
            read: 0,
            written: 0,
        })
    }

    /// A call on an open file, if it is one; writes write this content.
    pub(super) fn apply_to_file(
        &mut self,
        file: BorrowedFd<'_>,
        body: Body,
        work: CallWork,
    ) -> Result<(), CallFailure> {
        match work {
            CallWork::Read { offset, length, .. } => {
                let wanted = self.buffer.with_length(length as usize);
                let start = Instant::now();
                read_at(file, wanted, offset).map_err(|errno| ("read", errno))?;
                self.reads.record_since(start);
                self.read += length;
            }
            CallWork::Write { offset, length, .. } => {
                let bytes = self.buffer.with_length(length as usize);
                self.content.fill_range(&body, offset, bytes);
                let start = Instant::now();
                write_at(file, bytes, offset).map_err(|errno| ("write", errno))?;
                self.writes.record_since(start);
                self.written += length;
            }
            CallWork::Fsync { .. } => {
                let start = Instant::now();
                rustix::fs::fsync(file).map_err(|errno| ("fsync", errno))?;
                self.syncs.record_since(start);
            }
            CallWork::Fdatasync { .. } => {
                let start = Instant::now();
                rustix::fs::fdatasync(file).map_err(|errno| ("fdatasync", errno))?;
                self.syncs.record_since(start);
            }
            CallWork::Truncate { size, .. } => {
                rustix::fs::ftruncate(file, size).map_err(|errno| ("truncate a file in", errno))?;
            }
            CallWork::Reserve { offset, length, .. } => {
                rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length)
                    .map_err(|errno| ("set bytes aside in", errno))?;
            }
            _ => {}
        }
        Ok(())
    }
}
