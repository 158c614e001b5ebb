//! Speaks the vhost-user protocol: answers the messages by which a guest's driver sets up the device, receives kicks
//! and sends calls.
//!
//! The sources are the protocol's description (QEMU, `docs/interop/vhost-user.rst`) and its two users: QEMU, which
//! passes addresses of its own and kicks through an eventfd, and `arch/um/drivers/virtio_uml.c`, which passes the
//! guest's addresses and kicks by messages.

use std::os::fd::OwnedFd;

use rustix::fs::OFlags;
use rustix::io::Errno;
use virtio_queue::QueueT;
use vm_memory::GuestMemoryMmap;

use super::BackendError;
use super::configuration::{configuration_space, offered_features};
use super::connection::{Connection, u32_at, u64_at};
use super::disk::{RING, ServedDisk};
use super::protocol::{
    FEATURES, HEADER_BYTES, MAX_PAYLOAD_BYTES, NEEDS_REPLY, PROTOCOL_FEATURES, REPLY, VERSION,
    VHOST_USER_BACKEND_VRING_CALL, VHOST_USER_GET_CONFIG, VHOST_USER_GET_FEATURES,
    VHOST_USER_GET_PROTOCOL_FEATURES, VHOST_USER_GET_VRING_BASE, VHOST_USER_SET_BACKEND_REQ_FD,
    VHOST_USER_SET_MEM_TABLE, VHOST_USER_SET_VRING_ADDR, VHOST_USER_SET_VRING_BASE,
    VHOST_USER_SET_VRING_CALL, VHOST_USER_SET_VRING_ENABLE, VHOST_USER_SET_VRING_ERR,
    VHOST_USER_SET_VRING_KICK, VHOST_USER_SET_VRING_NUM, VHOST_USER_VRING_KICK, VHOST_USER_VRING_NOFD_MASK,
    build_message, map_memory,
};

/// A request in a guest's message that only the owner of the clock can fulfil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuestAsks {
    Nothing,
    /// The ring holds requests. The guest waits until the kick is acknowledged.
    Kick,
    /// The guest has hung up.
    End,
}

/// A connection to a guest's driver, with the state that the driver has set.
#[derive(Debug)]
pub(super) struct GuestSession {
    pub(super) connection: Connection,
    /// The socket for calls, on which the replies to calls arrive.
    pub(super) backend: Option<Connection>,
    memory: Option<GuestMemoryMmap>,
    /// Regions of the guest's memory as its host process maps them: address there, size, address in the guest.
    regions: Vec<(u64, u64, u64)>,
    allows_eventfds: bool,
    /// The eventfd by which the guest kicks, if it uses one.
    pub(super) kick: Option<OwnedFd>,
    /// The eventfd by which the guest is called, if it uses one.
    call: Option<OwnedFd>,
}

impl GuestSession {
    /// `allows_eventfds` tells whether a guest may kick without waiting until the kick is seen.
    pub(super) fn new(socket: OwnedFd, allows_eventfds: bool) -> Self {
        let connection = Connection::new(socket);
        GuestSession {
            connection,
            backend: None,
            memory: None,
            regions: Vec::new(),
            allows_eventfds,
            kick: None,
            call: None,
        }
    }

    /// Returns the guest's memory.
    ///
    /// # Errors
    /// If the guest has not passed its memory yet.
    pub(super) fn guest_memory(&self) -> Result<&GuestMemoryMmap, BackendError> {
        self.memory.as_ref().ok_or(BackendError::Chain("the guest has not shown its memory"))
    }

    /// Receives one message and answers it, unless it is a kick.
    pub(super) fn serve_message(&mut self, disk: &mut ServedDisk) -> Result<GuestAsks, BackendError> {
        let mut header = [0; HEADER_BYTES];
        self.connection.begin_message();
        if !self.connection.receive_message(&mut header)? {
            return Ok(GuestAsks::End);
        }
        let (request, flags, length) = (u32_at(&header, 0), u32_at(&header, 4), u32_at(&header, 8) as usize);
        if length > MAX_PAYLOAD_BYTES {
            return Err(BackendError::Protocol { request, what: "it is too long" });
        }
        let mut payload = vec![0; length];
        if !self.connection.receive_message(&mut payload)? {
            return Ok(GuestAsks::End);
        }
        let answer = match request {
            VHOST_USER_GET_FEATURES => {
                Some((FEATURES | offered_features(disk.limits())).to_le_bytes().to_vec())
            }
            VHOST_USER_GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES.to_le_bytes().to_vec()),
            VHOST_USER_GET_CONFIG => Some(build_configuration_reply(&payload, disk)),
            VHOST_USER_VRING_KICK => return Ok(GuestAsks::Kick),
            VHOST_USER_SET_BACKEND_REQ_FD => {
                self.backend = self.connection.take_descriptors(1).pop().map(Connection::new);
                None
            }
            VHOST_USER_SET_MEM_TABLE => {
                let files = self.connection.take_descriptors(u32_at(&payload, 0) as usize);
                let field = |index: usize, offset: usize| u64_at(&payload, 8 + 32 * index + offset);
                self.regions = (0..files.len())
                    .map(|index| (field(index, 16), field(index, 8), field(index, 0)))
                    .collect();
                self.memory = Some(map_memory(&payload, files)?);
                None
            }
            VHOST_USER_SET_VRING_KICK | VHOST_USER_SET_VRING_CALL | VHOST_USER_SET_VRING_ERR => {
                let count = usize::from(u64_at(&payload, 0) & VHOST_USER_VRING_NOFD_MASK == 0);
                let eventfd =
                    self.connection.take_descriptors(count).pop().map(set_nonblocking).transpose()?;
                match request {
                    VHOST_USER_SET_VRING_KICK if eventfd.is_some() && !self.allows_eventfds => {
                        let what = "the guest's driver lacks in-band kicks";
                        return Err(BackendError::Protocol { request, what });
                    }
                    VHOST_USER_SET_VRING_KICK => self.kick = eventfd,
                    VHOST_USER_SET_VRING_CALL => self.call = eventfd,
                    _ => {}
                }
                None
            }
            VHOST_USER_GET_VRING_BASE => {
                disk.queue().set_ready(false);
                let mut state = payload.get(..4).unwrap_or_default().to_vec();
                state.extend(u32::from(disk.queue().next_avail()).to_le_bytes());
                Some(state)
            }
            VHOST_USER_SET_VRING_NUM => {
                disk.queue().set_size(u16::try_from(u32_at(&payload, 4)).unwrap_or(RING));
                None
            }
            VHOST_USER_SET_VRING_BASE => {
                disk.queue().set_next_avail(u32_at(&payload, 4) as u16);
                disk.queue().set_next_used(u32_at(&payload, 4) as u16);
                None
            }
            VHOST_USER_SET_VRING_ADDR => {
                let halves = |offset| {
                    let address = to_guest_address(&self.regions, u64_at(&payload, offset));
                    (Some(address as u32), Some((address >> 32) as u32))
                };
                let ((low, high), (used_low, used_high), (available_low, available_high)) =
                    (halves(8), halves(16), halves(24));
                disk.queue().set_desc_table_address(low, high);
                disk.queue().set_used_ring_address(used_low, used_high);
                disk.queue().set_avail_ring_address(available_low, available_high);
                None
            }
            VHOST_USER_SET_VRING_ENABLE => {
                disk.queue().set_ready(u32_at(&payload, 4) != 0);
                None
            }
            // For SET_OWNER and SET_FEATURES there is nothing to do but to acknowledge.
            _ => None,
        };
        match answer {
            Some(answer) => self.send_reply(request, &answer)?,
            None if flags & NEEDS_REPLY != 0 => self.send_reply(request, &0u64.to_le_bytes())?,
            None => {}
        }
        Ok(GuestAsks::Nothing)
    }

    /// Lets the guest go on after a kick.
    pub(super) fn acknowledge_kick(&self) -> Result<(), BackendError> {
        self.send_reply(VHOST_USER_VRING_KICK, &0u64.to_le_bytes())
    }

    /// Tells the guest that the ring holds answers. It replies on the socket for calls.
    pub(super) fn call_guest(&self) -> Result<(), BackendError> {
        self.send_call(VERSION | NEEDS_REPLY)
    }

    /// As `call_guest`, without a reply, because in real time the guest may be waiting for this process at the same
    /// time.
    pub(super) fn notify_guest(&self) -> Result<(), BackendError> {
        self.send_call(VERSION)
    }

    fn send_call(&self, flags: u32) -> Result<(), BackendError> {
        if let Some(eventfd) = &self.call {
            return match rustix::io::write(eventfd, &1_u64.to_ne_bytes()) {
                // EAGAIN means that the counter is full: the guest has been called already.
                Ok(_) | Err(Errno::AGAIN) => Ok(()),
                Err(error) => Err(std::io::Error::from(error).into()),
            };
        }
        let Some(backend) = &self.backend else {
            return Err(BackendError::Chain("it set no socket or eventfd for completions"));
        };
        // The ring's index and its state are both 0.
        backend.send_message(&build_message(VHOST_USER_BACKEND_VRING_CALL, flags, &[0; 8]), &[])?;
        Ok(())
    }

    /// Receives the reply to a call; returns false if the guest hung up.
    pub(super) fn receive_call_reply(&mut self) -> Result<bool, BackendError> {
        let mut reply = [0; HEADER_BYTES + 8];
        Ok(self.backend.as_mut().is_some_and(|backend| backend.receive_message(&mut reply).unwrap_or(false)))
    }

    fn send_reply(&self, request: u32, payload: &[u8]) -> Result<(), BackendError> {
        self.connection.send_message(&build_message(request, VERSION | REPLY, payload), &[])?;
        Ok(())
    }
}

/// Builds the answer to a request for configuration space: offset, size and flags, then the requested bytes. It is
/// empty, which the protocol defines as an error, if the space is shorter.
fn build_configuration_reply(payload: &[u8], disk: &ServedDisk) -> Vec<u8> {
    let (offset, size) = (u32_at(payload, 0) as usize, u32_at(payload, 4) as usize);
    let space = configuration_space(disk.limits());
    let requested = offset.checked_add(size).and_then(|end| space.get(offset..end));
    match (payload.get(..HEADER_BYTES), requested) {
        (Some(head), Some(requested)) => [head, requested].concat(),
        _ => Vec::new(),
    }
}

/// Makes an eventfd non-blocking: one that is full, or that another reader has emptied, would block the disk.
fn set_nonblocking(eventfd: OwnedFd) -> std::io::Result<OwnedFd> {
    let flags = rustix::fs::fcntl_getfl(&eventfd)?;
    rustix::fs::fcntl_setfl(&eventfd, flags | OFlags::NONBLOCK)?;
    Ok(eventfd)
}

/// Translates an address in the guest's host process to the guest's own address.
fn to_guest_address(regions: &[(u64, u64, u64)], address: u64) -> u64 {
    let within = |(host, size, guest): &(u64, u64, u64)| {
        let offset = address.checked_sub(*host).filter(|offset| offset < size)?;
        guest.checked_add(offset)
    };
    regions.iter().find_map(within).unwrap_or(address)
}
