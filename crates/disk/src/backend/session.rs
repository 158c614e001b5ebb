//! The vhost-user side: what a guest's driver asks before it uses the device, and the kicks and calls after.
//!
//! Written after the protocol's description (QEMU, `docs/interop/vhost-user.rst`) and its two users: QEMU, which passes
//! addresses of its own and kicks by a bell (an eventfd), and `arch/um/drivers/virtio_uml.c`, which passes the guest's
//! addresses and kicks by messages.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, SealFlags};
use rustix::io::Errno;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::VIRTIO_RING_F_INDIRECT_DESC;
use virtio_queue::QueueT;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

use super::BackendError;
use super::connection::{Connection, u32_at, u64_at};
use super::disk::{self, RING, ServedDisk};

const HEADER: usize = 12;
/// A message longer than this is none.
const LONGEST: usize = 4096;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

const GET_FEATURES: u32 = 1;
const SET_MEMORY: u32 = 5;
const SET_RING_SIZE: u32 = 8;
const SET_RING_ADDRESSES: u32 = 9;
const SET_RING_BASE: u32 = 10;
const GET_RING_BASE: u32 = 11;
const SET_KICK: u32 = 12;
const SET_CALL: u32 = 13;
const SET_ERROR: u32 = 14;
/// In the payload of the three before: no descriptor comes with it.
const NO_DESCRIPTOR: u64 = 1 << 8;
const GET_PROTOCOL_FEATURES: u32 = 15;
const ENABLE_RING: u32 = 18;
const SET_BACKEND_SOCKET: u32 = 21;
const GET_CONFIGURATION: u32 = 24;
const KICK: u32 = 35;
/// From here to the guest, on the socket it gave for that.
const CALL: u32 = 4;

/// `VHOST_USER_F_PROTOCOL_FEATURES`.
const HAS_PROTOCOL_FEATURES: u32 = 30;
const FEATURES: u64 = 1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << HAS_PROTOCOL_FEATURES;
/// `REPLY_ACK`, `BACKEND_REQ`, `CONFIG`, `INBAND_NOTIFICATIONS`: kicks and calls as messages, so that the guest waits
/// until they are seen. That is what lets two processes agree on a time. QEMU agrees to it and rings bells all the same.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// What a message asked for that only the owner of the clock can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuestAsks {
    Nothing,
    /// Requests lie in the ring. The guest waits for [`GuestSession::acknowledge`].
    Kick,
    /// The guest hung up.
    End,
}

/// A guest's connection.
#[derive(Debug)]
pub(super) struct GuestSession {
    pub(super) connection: Connection,
    /// Where replies to calls arrive.
    pub(super) backend: Option<Connection>,
    memory: Option<GuestMemoryMmap>,
    /// The guest's memory as its host sees it: address there, size, address in the guest.
    regions: Vec<(u64, u64, u64)>,
    bells: bool,
    /// What the guest rings when requests lie in the ring, if it does.
    pub(super) kick: Option<OwnedFd>,
    /// It hears this one.
    call: Option<OwnedFd>,
}

impl GuestSession {
    /// `bells`: whether a guest may kick without waiting until that is seen.
    pub(super) fn new(socket: OwnedFd, bells: bool) -> Self {
        let connection = Connection::new(socket);
        GuestSession {
            connection,
            backend: None,
            memory: None,
            regions: Vec::new(),
            bells,
            kick: None,
            call: None,
        }
    }

    /// The guest's memory, once it is known.
    ///
    /// # Errors
    /// Before that.
    pub(super) fn memory(&self) -> Result<&GuestMemoryMmap, BackendError> {
        self.memory.as_ref().ok_or(BackendError::Chain("the guest has not shown its memory"))
    }

    /// Takes one message and answers it, unless it is a kick.
    pub(super) fn serve(&mut self, disk: &mut ServedDisk) -> Result<GuestAsks, BackendError> {
        let mut header = [0; HEADER];
        self.connection.begin();
        if !self.connection.receive(&mut header)? {
            return Ok(GuestAsks::End);
        }
        let (request, flags, length) = (u32_at(&header, 0), u32_at(&header, 4), u32_at(&header, 8) as usize);
        if length > LONGEST {
            return Err(BackendError::Protocol { request, what: "it is too long" });
        }
        let mut payload = vec![0; length];
        if !self.connection.receive(&mut payload)? {
            return Ok(GuestAsks::End);
        }
        let answer = match request {
            GET_FEATURES => Some((FEATURES | disk::features(disk.limits())).to_le_bytes().to_vec()),
            GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES.to_le_bytes().to_vec()),
            GET_CONFIGURATION => Some(configuration(&payload, disk)),
            KICK => return Ok(GuestAsks::Kick),
            SET_BACKEND_SOCKET => {
                self.backend = self.connection.take_descriptors(1).pop().map(Connection::new);
                None
            }
            SET_MEMORY => {
                let files = self.connection.take_descriptors(u32_at(&payload, 0) as usize);
                let at = |index: usize, offset: usize| u64_at(&payload, 8 + 32 * index + offset);
                self.regions =
                    (0..files.len()).map(|index| (at(index, 16), at(index, 8), at(index, 0))).collect();
                self.memory = Some(map(&payload, files)?);
                None
            }
            SET_KICK | SET_CALL | SET_ERROR => {
                let count = usize::from(u64_at(&payload, 0) & NO_DESCRIPTOR == 0);
                let bell = self.connection.take_descriptors(count).pop().map(impatient).transpose()?;
                match request {
                    SET_KICK if bell.is_some() && !self.bells => {
                        let what = "the guest's driver lacks in-band kicks";
                        return Err(BackendError::Protocol { request, what });
                    }
                    SET_KICK => self.kick = bell,
                    SET_CALL => self.call = bell,
                    _ => {}
                }
                None
            }
            GET_RING_BASE => {
                disk.queue().set_ready(false);
                let mut state = payload.get(..4).unwrap_or_default().to_vec();
                state.extend(u32::from(disk.queue().next_avail()).to_le_bytes());
                Some(state)
            }
            SET_RING_SIZE => {
                disk.queue().set_size(u16::try_from(u32_at(&payload, 4)).unwrap_or(RING));
                None
            }
            SET_RING_BASE => {
                disk.queue().set_next_avail(u32_at(&payload, 4) as u16);
                disk.queue().set_next_used(u32_at(&payload, 4) as u16);
                None
            }
            SET_RING_ADDRESSES => {
                let halves = |offset| {
                    let address = in_guest(&self.regions, u64_at(&payload, offset));
                    (Some(address as u32), Some((address >> 32) as u32))
                };
                let ((low, high), (used_low, used_high), (available_low, available_high)) =
                    (halves(8), halves(16), halves(24));
                disk.queue().set_desc_table_address(low, high);
                disk.queue().set_used_ring_address(used_low, used_high);
                disk.queue().set_avail_ring_address(available_low, available_high);
                None
            }
            ENABLE_RING => {
                disk.queue().set_ready(u32_at(&payload, 4) != 0);
                None
            }
            // Owner, features: nothing to do but to say yes.
            _ => None,
        };
        match answer {
            Some(answer) => self.reply(request, &answer)?,
            None if flags & NEEDS_REPLY != 0 => self.reply(request, &0u64.to_le_bytes())?,
            None => {}
        }
        Ok(GuestAsks::Nothing)
    }

    /// Lets the guest go on after a kick.
    pub(super) fn acknowledge(&self) -> Result<(), BackendError> {
        self.reply(KICK, &0u64.to_le_bytes())
    }

    /// Tells the guest that the ring holds answers. It replies on [`GuestSession::backend`].
    pub(super) fn call(&self) -> Result<(), BackendError> {
        self.send_call(VERSION | NEEDS_REPLY)
    }

    /// As [`GuestSession::call`], without a reply: a guest in real time may be waiting for us just then.
    pub(super) fn notify(&self) -> Result<(), BackendError> {
        self.send_call(VERSION)
    }

    fn send_call(&self, flags: u32) -> Result<(), BackendError> {
        if let Some(bell) = &self.call {
            return match rustix::io::write(bell, &1_u64.to_ne_bytes()) {
                // It takes no more: whoever hears it has been called already.
                Ok(_) | Err(Errno::AGAIN) => Ok(()),
                Err(error) => Err(std::io::Error::from(error).into()),
            };
        }
        let Some(backend) = &self.backend else {
            return Err(BackendError::Chain("the guest gave no socket to be called on"));
        };
        // The ring's number and its state, both 0.
        backend.send(&message(CALL, flags, &[0; 8]), &[])?;
        Ok(())
    }

    /// Takes the reply to a call; false where the guest hung up.
    pub(super) fn called(&mut self) -> Result<bool, BackendError> {
        let mut reply = [0; HEADER + 8];
        Ok(self.backend.as_mut().is_some_and(|backend| backend.receive(&mut reply).unwrap_or(false)))
    }

    fn reply(&self, request: u32, payload: &[u8]) -> Result<(), BackendError> {
        self.connection.send(&message(request, VERSION | REPLY, payload), &[])?;
        Ok(())
    }
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + payload.len());
    for word in [request, flags, payload.len() as u32] {
        message.extend(word.to_le_bytes());
    }
    message.extend(payload);
    message
}

/// Offset, size and flags, then as much of the configuration space as was asked for; nothing, which is the protocol's word
/// for an error, where it has less.
fn configuration(payload: &[u8], disk: &ServedDisk) -> Vec<u8> {
    let (offset, size) = (u32_at(payload, 0) as usize, u32_at(payload, 4) as usize);
    let space = disk::configuration(disk.limits());
    let asked = offset.checked_add(size).and_then(|end| space.get(offset..end));
    match (payload.get(..HEADER), asked) {
        (Some(head), Some(asked)) => [head, asked].concat(),
        _ => Vec::new(),
    }
}

/// A bell that is never waited for: one that is full, or that somebody else has heard first, would hold up the disk.
fn impatient(bell: OwnedFd) -> std::io::Result<OwnedFd> {
    let flags = rustix::fs::fcntl_getfl(&bell)?;
    rustix::fs::fcntl_setfl(&bell, flags | OFlags::NONBLOCK)?;
    Ok(bell)
}

/// The guest's own address for one of its host's.
fn in_guest(regions: &[(u64, u64, u64)], address: u64) -> u64 {
    let within = |(host, size, guest): &(u64, u64, u64)| {
        let offset = address.checked_sub(*host).filter(|offset| offset < size)?;
        guest.checked_add(offset)
    };
    regions.iter().find_map(within).unwrap_or(address)
}

/// Maps the guest's memory: each region is an address in the guest, a size, the address its host has for it, and
/// where it begins in a file. What a file does not have cannot be looked at without being ended (SIGBUS, mmap(2)).
fn map(payload: &[u8], files: Vec<OwnedFd>) -> Result<GuestMemoryMmap, BackendError> {
    let region = |(index, file): (usize, OwnedFd)| {
        // Nor is it to be taken from a file later: not from one that can be sealed.
        let _ = rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK);
        let at = 8 + 32 * index;
        let (address, size, begins) =
            (u64_at(payload, at), u64_at(payload, at + 8), u64_at(payload, at + 24));
        let has = u64::try_from(rustix::fs::fstat(&file).map_err(std::io::Error::from)?.st_size).unwrap_or(0);
        if begins.checked_add(size).is_none_or(|end| end > has) {
            return Err(BackendError::memory(format!("{size} bytes from {begins} on of a file of {has}")));
        }
        Ok((GuestAddress(address), size as usize, Some(FileOffset::new(File::from(file), begins))))
    };
    let regions = files.into_iter().enumerate().map(region).collect::<Result<Vec<_>, _>>()?;
    GuestMemoryMmap::from_ranges_with_files(regions).map_err(BackendError::memory)
}
