//! Keeps the simulation clock of a User-Mode-Linux guest: messages on a socket, and memory shared with the guest
//! where its kernel supports that (Linux 6.11 and later), which replaces all messages but those that wait for an
//! event.
//!
//! Protocol: `include/uapi/linux/um_timetravel.h` and its user in `arch/um/kernel/time.c`.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use super::BackendError;
use super::connection::{Connection, u32_at, u64_at};

const MESSAGE_BYTES: usize = 16;

const ACKNOWLEDGE: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const FREE_UNTIL: u32 = 7;
const GET_TIME_OF_DAY: u32 = 8;

/// A guest without a timer requests the end of time (`S64_MAX`): it waits for an external event. No clock goes further, so
/// that a guest which says that it is later cannot make the times of its devices overflow.
const FOREVER: u64 = 1 << 62;

/// Indices of the parties in the shared memory, and their number.
const DEVICE: u16 = 0;
const GUEST: u16 = 1;
const PARTIES: u16 = 2;

/// Offsets in `struct um_timetravel_schedshm`: a page of header, then 128 bytes for each party.
mod offset {
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

/// A connection to a guest's clock, with the time that it keeps.
#[derive(Debug)]
pub(super) struct SimulationClock {
    pub(super) connection: Connection,
    shared: SharedClock,
    /// Time at which the guest last asked to run, where it does not share memory.
    requested_ns: Option<u64>,
    /// Whether the guest has nothing to do before the time that it requested.
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
            requested_ns: None,
            waiting: false,
            acknowledged: true,
            sequence: 0,
            now: 0,
            messages: 0,
        })
    }

    /// The time, in nanoseconds since the guest was started.
    pub(super) fn now_ns(&mut self) -> u64 {
        if self.shared.is_in_use() {
            self.now = self.now.max(self.shared.read_field::<u64>(offset::NOW).min(FOREVER));
        }
        self.now
    }

    /// The time at which the guest wants to run next, in nanoseconds; `None` if it waits for the devices alone.
    pub(super) fn wanted_ns(&self) -> Option<u64> {
        let requested_ns =
            if self.shared.is_in_use() { self.shared.requested_ns() } else { self.requested_ns };
        requested_ns.filter(|time| *time < FOREVER)
    }

    /// Receives one message and answers it; returns false if the guest hung up.
    pub(super) fn serve_message(&mut self) -> Result<bool, BackendError> {
        let mut message = [0; MESSAGE_BYTES];
        if !self.connection.receive_message(&mut message)? {
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
                    .send_message(&build_message(ACKNOWLEDGE, sequence, u64::from(GUEST)), &memory)?);
            }
            REQUEST => {
                self.requested_ns = Some(time);
                0
            }
            WAIT => {
                self.waiting = true;
                if self.shared.is_in_use() {
                    return Ok(true);
                }
                0
            }
            GET => self.now,
            UPDATE => {
                self.now = self.now.max(time.min(FOREVER));
                0
            }
            // The start time is on the kernel's command line (`time-travel-start=`), so that no guest asks for it.
            GET_TIME_OF_DAY => 0,
            _ => return Err(BackendError::Calendar { operation }),
        };
        Ok(self.connection.send_message(&build_message(ACKNOWLEDGE, sequence, answer), &[])?)
    }

    /// Gives the turn to a device, at this time in nanoseconds.
    pub(super) fn device_runs(&mut self, time: u64) {
        self.now = self.now.max(time);
        self.shared.write_field(offset::NOW, self.now);
        self.shared.write_field(offset::RUNNING, DEVICE);
    }

    /// Gives the turn to the guest, at `time`; it may run by itself until `until`, both in nanoseconds. Returns false
    /// if the guest hung up.
    pub(super) fn guest_runs(&mut self, time: u64, until: u64) -> Result<bool, BackendError> {
        self.now = self.now.max(time);
        self.waiting = false;
        self.requested_ns = None;
        if self.shared.is_in_use() {
            self.shared.write_field(offset::NOW, self.now);
            self.shared.write_field(offset::FREE_UNTIL, until);
            self.shared.write_field(offset::RUNNING, GUEST);
            self.sequence += 1;
            return Ok(self.connection.send_message(&build_message(RUN, self.sequence, self.now), &[])?);
        }
        Ok(self.send_and_await(RUN, self.now)? && self.send_and_await(FREE_UNTIL, until)?)
    }

    /// Announces that the next event of a device comes at `until`, earlier or later than before. Returns false if the
    /// guest hung up.
    pub(super) fn free_until(&mut self, until: u64) -> Result<bool, BackendError> {
        if self.shared.is_in_use() {
            self.shared.write_field(offset::FREE_UNTIL, until);
            return Ok(true);
        }
        self.send_and_await(FREE_UNTIL, until)
    }

    /// Sends a message, and serves the guest's messages until it is acknowledged.
    fn send_and_await(&mut self, operation: u32, time: u64) -> Result<bool, BackendError> {
        self.sequence += 1;
        self.acknowledged = false;
        if !self.connection.send_message(&build_message(operation, self.sequence, time), &[])? {
            return Ok(false);
        }
        while !self.acknowledged {
            if !self.serve_message()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn build_message(operation: u32, sequence: u32, time: u64) -> [u8; MESSAGE_BYTES] {
    let mut message = [0; MESSAGE_BYTES];
    let parts = operation.to_le_bytes().into_iter().chain(sequence.to_le_bytes()).chain(time.to_le_bytes());
    for (slot, byte) in message.iter_mut().zip(parts) {
        *slot = byte;
    }
    message
}

/// The memory that is shared with the guest's clock.
#[derive(Debug)]
struct SharedClock {
    file: File,
    memory: MmapRegion,
}

impl SharedClock {
    fn new() -> Result<Self, BackendError> {
        let length = offset::HEADER + usize::from(PARTIES) * offset::PARTY;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("fsverdict-clock", flags).map_err(std::io::Error::from)?);
        file.set_len(length as u64)?;
        // A guest that shortens the memory would end this process when it next reads the clock.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL).map_err(std::io::Error::from)?;
        let memory = MmapRegion::from_file(FileOffset::new(file.try_clone()?, 0), length)
            .map_err(BackendError::memory_error)?;
        let shared = SharedClock { file, memory };
        shared.write_field(offset::VERSION, SHARED_VERSION);
        shared.write_field(offset::LENGTH, length as u32);
        shared.write_field(offset::PARTIES, PARTIES);
        shared.write_field(offset::RUNNING, GUEST);
        shared.write_field(offset::HEADER + usize::from(DEVICE) * offset::PARTY + offset::CAPABILITY, SHARES);
        Ok(shared)
    }

    /// Whether the guest's kernel uses this memory, which it shows by its capability bit.
    fn is_in_use(&self) -> bool {
        self.read_field::<u32>(guest_offset(offset::CAPABILITY)) & SHARES != 0
    }

    /// The time at which the guest wants to run, if it does.
    fn requested_ns(&self) -> Option<u64> {
        let wants = self.read_field::<u32>(guest_offset(offset::FLAGS)) & WANTS_TO_RUN != 0;
        wants.then(|| self.read_field(guest_offset(offset::WANTS)))
    }

    /// Every offset used here lies within the mapping, so that neither reading nor writing can fail.
    fn read_field<T: vm_memory::AtomicAccess + Default>(&self, offset: usize) -> T {
        self.memory.as_volatile_slice().load(offset, std::sync::atomic::Ordering::Acquire).unwrap_or_default()
    }

    fn write_field<T: vm_memory::AtomicAccess>(&self, offset: usize, value: T) {
        let _ = self.memory.as_volatile_slice().store(value, offset, std::sync::atomic::Ordering::Release);
    }
}

/// Returns the offset of a field in the guest's part.
const fn guest_offset(offset: usize) -> usize {
    offset::HEADER + GUEST as usize * offset::PARTY + offset
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::{FOREVER, MESSAGE_BYTES, SimulationClock, UPDATE, build_message, offset};

    #[test]
    fn no_guest_sets_the_clock_beyond_the_end_of_time_or_takes_its_memory_away() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut clock = SimulationClock::new(ours.into()).unwrap();
        guest.write_all(&build_message(UPDATE, 1, u64::MAX)).unwrap();
        assert!(clock.serve_message().unwrap());
        guest.read_exact(&mut [0; MESSAGE_BYTES]).unwrap();
        assert_eq!(clock.now_ns(), FOREVER);
        clock.shared.write_field(super::guest_offset(offset::CAPABILITY), super::SHARES);
        clock.shared.write_field(offset::NOW, u64::MAX - 1);
        assert_eq!(clock.now_ns(), FOREVER);
        assert!(clock.shared.file.set_len(0).is_err(), "the guest has this file, too");
        assert_eq!(clock.now_ns(), FOREVER);
    }
}
