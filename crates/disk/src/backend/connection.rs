//! Messages on sockets: whole ones out of a stream, with the descriptors that travel beside them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Descriptors one message may carry: guest memory comes as eight at most.
const DESCRIPTORS: usize = 8;

/// One end of a stream socket.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    bytes: VecDeque<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Connection { socket, bytes: VecDeque::new(), descriptors: VecDeque::new() }
    }

    /// A message begins: what came with earlier ones and nobody took is closed, as far as nothing of this one is here yet.
    pub(super) fn begin(&mut self) {
        if self.bytes.is_empty() {
            self.descriptors.clear();
        }
    }

    /// Whether something was taken from the socket that nobody has received yet: waiting for the socket may be in vain.
    pub(super) fn holds_any(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Fills `message`; false where the other end hung up.
    pub(super) fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        while self.bytes.len() < message.len() {
            if !self.fill()? {
                return Ok(false);
            }
        }
        let whole = self.bytes.drain(..message.len());
        for (slot, byte) in message.iter_mut().zip(whole) {
            *slot = byte;
        }
        Ok(true)
    }

    /// The next descriptors that came with what was received so far, so many at most.
    pub(super) fn take_descriptors(&mut self, count: usize) -> Vec<OwnedFd> {
        self.descriptors.drain(..count.min(self.descriptors.len())).collect()
    }

    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut slices, &mut beside, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                // A guest that ended with something unread from us resets the connection.
                Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                other => break other?,
            }
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        // Those of one message, which is all that may wait to be taken.
        self.descriptors.truncate(DESCRIPTORS);
        self.bytes.extend(bytes.get(..received.bytes).unwrap_or_default());
        Ok(received.bytes > 0)
    }

    /// Sends a whole message; false where the other end hung up.
    pub(super) fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            beside.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let mut sent = 0;
        while let Some(rest) = message.get(sent..).filter(|rest| !rest.is_empty()) {
            match sendmsg(&self.socket, &[IoSlice::new(rest)], &mut beside, SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    sent += bytes;
                    beside = SendAncillaryBuffer::default();
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The little-endian number at `offset`; 0 beyond the end of a message that is too short.
pub(super) fn u32_at(message: &[u8], offset: usize) -> u32 {
    message.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// As [`u32_at`], of eight bytes.
pub(super) fn u64_at(message: &[u8], offset: usize) -> u64 {
    message.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}
