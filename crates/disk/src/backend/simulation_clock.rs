//! The clock a User-Mode-Linux guest asks for the time: messages on a socket, and memory shared with it where its
//! kernel knows that (Linux 6.11 and later), which leaves only those that wait for something.
//!
//! Protocol: `include/uapi/linux/um_timetravel.h` and its user in `arch/um/kernel/time.c`.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::BackendError;
use super::connection::{Connection, u32_at, u64_at};

const MESSAGE: usize = 16;

const ACKNOWLEDGE: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const FREE_UNTIL: u32 = 7;
const GET_TIME_OF_DAY: u32 = 8;

/// A guest without a timer asks for the end of time (`S64_MAX`): it waits for something from outside.
const FOREVER: u64 = 1 << 62;

/// Who is who in the shared memory.
const DEVICE: u16 = 0;
const GUEST: u16 = 1;
const PARTIES: u16 = 2;

/// `struct um_timetravel_schedshm`: a page of header, then 128 bytes for each party.
mod at {
    pub(super) const VERSION: usize = 0;
    pub(super) const LENGTH: usize = 4;
    pub(super) const FREE_UNTIL: usize = 8;
    pub(super) const NOW: usize = 16;
    pub(super) const RUNNING: usize = 24;
    pub(super) const PARTIES: usize = 26;
    pub(super) const HEADER: usize = 4096;
    pub(super) const PARTY: usize = 128;
    pub(super) const CAPABILITY: usize = 0;
    pub(super) const FLAGS: usize = 4;
    pub(super) const WANTS: usize = 8;
}
const SHARED_VERSION: u32 = 2;
/// The party reads and writes times in shared memory.
const SHARES: u32 = 1;
/// The party wants to run at the time it wrote.
const WANTS_TO_RUN: u32 = 1;

/// The connection to a guest's clock.
#[derive(Debug)]
pub(super) struct SimulationClock {
    pub(super) connection: Connection,
    shared: SharedClock,
    /// The guest's last word on when it wants to run, where it does not share memory.
    wanted: Option<u64>,
    /// Whether the guest has nothing to do before the time it wants.
    pub(super) waiting: bool,
    acknowledged: bool,
    sequence: u32,
    now: u64,
    pub(super) messages: u64,
}

impl SimulationClock {
    pub(super) fn new(socket: OwnedFd) -> Result<Self, BackendError> {
        Ok(SimulationClock {
            connection: Connection::new(socket),
            shared: SharedClock::new()?,
            wanted: None,
            waiting: false,
            acknowledged: true,
            sequence: 0,
            now: 0,
            messages: 0,
        })
    }

    /// The time, in nanoseconds since the guest was started.
    pub(super) fn now(&mut self) -> u64 {
        if self.shared.in_use() {
            self.now = self.now.max(self.shared.read(at::NOW));
        }
        self.now
    }

    /// When the guest wants to run next; `None` where it waits for the device alone.
    pub(super) fn wanted(&self) -> Option<u64> {
        let wanted = if self.shared.in_use() { self.shared.wanted() } else { self.wanted };
        wanted.filter(|time| *time < FOREVER)
    }

    /// Takes one message and answers it; false where the guest hung up.
    pub(super) fn serve(&mut self) -> Result<bool, BackendError> {
        let mut message = [0; MESSAGE];
        if !self.connection.receive(&mut message)? {
            return Ok(false);
        }
        self.messages += 1;
        let (operation, sequence, time) = (u32_at(&message, 0), u32_at(&message, 4), u64_at(&message, 8));
        let answer = match operation {
            ACKNOWLEDGE => {
                self.acknowledged = true;
                return Ok(true);
            }
            START => {
                let memory = [self.shared.file.as_fd(), self.shared.file.as_fd()];
                return Ok(self
                    .connection
                    .send(&compose(ACKNOWLEDGE, sequence, u64::from(GUEST)), &memory)?);
            }
            REQUEST => {
                self.wanted = Some(time);
                0
            }
            WAIT => {
                self.waiting = true;
                if self.shared.in_use() {
                    return Ok(true);
                }
                0
            }
            GET => self.now,
            UPDATE => {
                self.now = self.now.max(time);
                0
            }
            // The beginning is on the kernel's command line (`time-travel-start=`), so that this is not asked.
            GET_TIME_OF_DAY => 0,
            _ => return Err(BackendError::Calendar { operation }),
        };
        Ok(self.connection.send(&compose(ACKNOWLEDGE, sequence, answer), &[])?)
    }

    pub(super) fn device_runs(&mut self, time: u64) {
        self.now = self.now.max(time);
        self.shared.write(at::NOW, self.now);
        self.shared.write(at::RUNNING, DEVICE);
    }

    /// It is the guest's turn, at this time; it may go on by itself until then. False where
    /// the guest hung up.
    pub(super) fn guest_runs(&mut self, time: u64, until: u64) -> Result<bool, BackendError> {
        self.now = self.now.max(time);
        self.waiting = false;
        self.wanted = None;
        if self.shared.in_use() {
            self.shared.write(at::NOW, self.now);
            self.shared.write(at::FREE_UNTIL, until);
            self.shared.write(at::RUNNING, GUEST);
            self.sequence += 1;
            return Ok(self.connection.send(&compose(RUN, self.sequence, self.now), &[])?);
        }
        Ok(self.tell(RUN, self.now)? && self.tell(FREE_UNTIL, until)?)
    }

    /// Something will happen at the device earlier, or later, than was said. False where the guest hung up.
    pub(super) fn free_until(&mut self, until: u64) -> Result<bool, BackendError> {
        if self.shared.in_use() {
            self.shared.write(at::FREE_UNTIL, until);
            return Ok(true);
        }
        self.tell(FREE_UNTIL, until)
    }

    /// Sends a message and serves the guest's until it is acknowledged.
    fn tell(&mut self, operation: u32, time: u64) -> Result<bool, BackendError> {
        self.sequence += 1;
        self.acknowledged = false;
        if !self.connection.send(&compose(operation, self.sequence, time), &[])? {
            return Ok(false);
        }
        while !self.acknowledged {
            if !self.serve()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn compose(operation: u32, sequence: u32, time: u64) -> [u8; MESSAGE] {
    let mut message = [0; MESSAGE];
    let parts = operation.to_le_bytes().into_iter().chain(sequence.to_le_bytes()).chain(time.to_le_bytes());
    for (slot, byte) in message.iter_mut().zip(parts) {
        *slot = byte;
    }
    message
}

#[derive(Debug)]
struct SharedClock {
    file: File,
    memory: MmapRegion,
}

impl SharedClock {
    fn new() -> Result<Self, BackendError> {
        let length = at::HEADER + usize::from(PARTIES) * at::PARTY;
        let file =
            File::from(memfd_create("fsverdict-clock", MemfdFlags::CLOEXEC).map_err(std::io::Error::from)?);
        file.set_len(length as u64)?;
        let memory = MmapRegion::from_file(FileOffset::new(file.try_clone()?, 0), length)
            .map_err(BackendError::memory)?;
        let shared = SharedClock { file, memory };
        shared.write(at::VERSION, SHARED_VERSION);
        shared.write(at::LENGTH, length as u32);
        shared.write(at::PARTIES, PARTIES);
        shared.write(at::RUNNING, GUEST);
        shared.write(at::HEADER + usize::from(DEVICE) * at::PARTY + at::CAPABILITY, SHARES);
        Ok(shared)
    }

    /// Whether the guest's kernel knows of this memory: it says so in it.
    fn in_use(&self) -> bool {
        self.read::<u32>(guests(at::CAPABILITY)) & SHARES != 0
    }

    fn wanted(&self) -> Option<u64> {
        let wants = self.read::<u32>(guests(at::FLAGS)) & WANTS_TO_RUN != 0;
        wants.then(|| self.read(guests(at::WANTS)))
    }

    /// Every place here lies within the mapping, so that neither can fail.
    fn read<T: vm_memory::AtomicAccess + Default>(&self, offset: usize) -> T {
        self.memory.as_volatile_slice().load(offset, std::sync::atomic::Ordering::Acquire).unwrap_or_default()
    }

    fn write<T: vm_memory::AtomicAccess>(&self, offset: usize, value: T) {
        let _ = self.memory.as_volatile_slice().store(value, offset, std::sync::atomic::Ordering::Release);
    }
}

const fn guests(offset: usize) -> usize {
    at::HEADER + GUEST as usize * at::PARTY + offset
}
