//! The vhost-user side: what a guest's driver asks before it uses the device, and the kicks and calls after.
//!
//! Written after the protocol's description (QEMU, `docs/interop/vhost-user.rst`) and its user in
//! `arch/um/drivers/virtio_uml.c`, which passes guest physical addresses where others pass addresses of their own.

use std::fs::File;
use std::os::fd::OwnedFd;

use virtio_queue::QueueT;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

use super::EndpointError;
use super::disk::{self, Disk, RING};
use super::wire::{Wire, u32_at, u64_at};

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
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const ENABLE_RING: u32 = 18;
const SET_BACKEND_SOCKET: u32 = 21;
const GET_CONFIGURATION: u32 = 24;
const KICK: u32 = 35;
/// From here to the guest, on the socket it gave for that.
const CALL: u32 = 4;

/// `VIRTIO_F_VERSION_1`, `VIRTIO_RING_F_INDIRECT_DESC`, `VHOST_USER_F_PROTOCOL_FEATURES`.
const FEATURES: u64 = 1 << 32 | 1 << 28 | 1 << 30;
/// `REPLY_ACK`, `BACKEND_REQ`, `CONFIG`, `INBAND_NOTIFICATIONS`: kicks and calls as messages, so that the guest waits
/// until they are seen. That is what lets two processes agree on a time.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// What a message asked for that only the owner of the calendar can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    /// Requests lie in the ring. The guest waits for [`Session::acknowledge`].
    Kick,
    /// The guest hung up.
    End,
}

/// A guest's connection.
#[derive(Debug)]
pub(super) struct Session {
    wire: Wire,
    backend: Option<Wire>,
    memory: Option<GuestMemoryMmap>,
}

impl Session {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Session { wire: Wire::new(socket), backend: None, memory: None }
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Where replies to calls arrive.
    pub(super) fn backend(&self) -> Option<&Wire> {
        self.backend.as_ref()
    }

    /// The guest's memory, once it is known.
    ///
    /// # Errors
    /// Before that.
    pub(super) fn memory(&self) -> Result<&GuestMemoryMmap, EndpointError> {
        self.memory.as_ref().ok_or(EndpointError::Chain("the guest has not shown its memory"))
    }

    /// Takes one message and answers it, unless it is a kick.
    pub(super) fn serve(&mut self, disk: &mut Disk) -> Result<Asked, EndpointError> {
        let mut header = [0; HEADER];
        if !self.wire.receive(&mut header)? {
            return Ok(Asked::End);
        }
        let (request, flags, length) = (u32_at(&header, 0), u32_at(&header, 4), u32_at(&header, 8) as usize);
        if length > LONGEST {
            return Err(EndpointError::Protocol { request, what: "it is too long" });
        }
        let mut payload = vec![0; length];
        if !self.wire.receive(&mut payload)? {
            return Ok(Asked::End);
        }
        let answer = match request {
            GET_FEATURES => Some((FEATURES | disk::features(disk.limits())).to_le_bytes().to_vec()),
            GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES.to_le_bytes().to_vec()),
            SET_PROTOCOL_FEATURES if u64_at(&payload, 0) != PROTOCOL_FEATURES => {
                return Err(EndpointError::Protocol {
                    request,
                    what: "the guest's driver lacks in-band kicks",
                });
            }
            GET_CONFIGURATION => Some(configuration(&payload, disk)),
            KICK => return Ok(Asked::Kick),
            SET_BACKEND_SOCKET => {
                self.backend = self.wire.take_descriptors().pop().map(Wire::new);
                None
            }
            SET_MEMORY => {
                self.memory = Some(map(&payload, self.wire.take_descriptors())?);
                None
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
                    let address = u64_at(&payload, offset);
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
            // Owner, features, error descriptors: nothing to do but to say yes.
            _ => None,
        };
        match answer {
            Some(answer) => self.reply(request, &answer)?,
            None if flags & NEEDS_REPLY != 0 => self.reply(request, &0u64.to_le_bytes())?,
            None => {}
        }
        Ok(Asked::Nothing)
    }

    /// Lets the guest go on after a kick.
    pub(super) fn acknowledge(&self) -> Result<(), EndpointError> {
        self.reply(KICK, &0u64.to_le_bytes())
    }

    /// Tells the guest that the ring holds answers. It replies on [`Session::backend`].
    pub(super) fn call(&self) -> Result<(), EndpointError> {
        self.send_call(VERSION | NEEDS_REPLY)
    }

    /// As [`Session::call`], without a reply: a guest in real time may be waiting for us just then.
    pub(super) fn notify(&self) -> Result<(), EndpointError> {
        self.send_call(VERSION)
    }

    fn send_call(&self, flags: u32) -> Result<(), EndpointError> {
        let Some(backend) = &self.backend else {
            return Err(EndpointError::Chain("the guest gave no socket to be called on"));
        };
        // The ring's number and its state, both 0.
        backend.send(&message(CALL, flags, &[0; 8]), &[])?;
        Ok(())
    }

    /// Takes the reply to a call; false where the guest hung up.
    pub(super) fn called(&mut self) -> Result<bool, EndpointError> {
        let mut reply = [0; HEADER + 8];
        Ok(self.backend.as_mut().is_some_and(|backend| backend.receive(&mut reply).unwrap_or(false)))
    }

    fn reply(&self, request: u32, payload: &[u8]) -> Result<(), EndpointError> {
        self.wire.send(&message(request, VERSION | REPLY, payload), &[])?;
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

/// Offset, size and flags, then as much of the configuration space as was asked for.
fn configuration(payload: &[u8], disk: &Disk) -> Vec<u8> {
    let (offset, size) = (u32_at(payload, 0) as usize, u32_at(payload, 4) as usize);
    let space = disk::configuration(disk.limits());
    let mut answer = payload.to_vec();
    answer.resize(HEADER + size, 0);
    for (slot, byte) in answer.iter_mut().skip(HEADER).zip(space.iter().skip(offset)) {
        *slot = *byte;
    }
    answer
}

/// Maps the guest's memory: each region is a physical address, a size, the same address again, and where it begins in a
/// file.
fn map(payload: &[u8], files: Vec<OwnedFd>) -> Result<GuestMemoryMmap, EndpointError> {
    let regions = files.into_iter().enumerate().map(|(index, file)| {
        let at = 8 + 32 * index;
        let (address, size, begins) =
            (u64_at(payload, at), u64_at(payload, at + 8), u64_at(payload, at + 24));
        (GuestAddress(address), size as usize, Some(FileOffset::new(File::from(file), begins)))
    });
    GuestMemoryMmap::from_ranges_with_files(regions.collect::<Vec<_>>()).map_err(EndpointError::memory)
}
