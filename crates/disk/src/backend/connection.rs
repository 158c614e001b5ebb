//! A stream socket that carries whole messages and the file descriptors that are sent with them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// File descriptors that one message may carry: guest memory has at most eight regions.
const MAX_DESCRIPTORS: usize = 8;

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

    /// Starts a message: closes the descriptors of earlier messages that were not taken, unless bytes of this message
    /// have arrived already.
    pub(super) fn begin_message(&mut self) {
        if self.bytes.is_empty() {
            self.descriptors.clear();
        }
    }

    /// Whether bytes were read from the socket that are not received yet: polling the socket would not report them.
    pub(super) fn holds_any(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Fills `message`; returns false if the other end hung up.
    pub(super) fn receive_message(&mut self, message: &mut [u8]) -> io::Result<bool> {
        while self.bytes.len() < message.len() {
            if !self.fill_buffer()? {
                return Ok(false);
            }
        }
        let received = self.bytes.drain(..message.len());
        for (slot, byte) in message.iter_mut().zip(received) {
            *slot = byte;
        }
        Ok(true)
    }

    /// Takes the next descriptors that came with the bytes received so far, at most `count`.
    pub(super) fn take_descriptors(&mut self, count: usize) -> Vec<OwnedFd> {
        self.descriptors.drain(..count.min(self.descriptors.len())).collect()
    }

    /// Reads bytes and descriptors from the socket; returns false if the other end hung up.
    fn fill_buffer(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                // A guest that ends before it has read everything resets the connection.
                Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                other => break other?,
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        // Only the descriptors of one message may wait to be taken.
        self.descriptors.truncate(MAX_DESCRIPTORS);
        self.bytes.extend(bytes.get(..received.bytes).unwrap_or_default());
        Ok(received.bytes > 0)
    }

    /// Sends a whole message; returns false if the other end hung up.
    pub(super) fn send_message(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let mut sent = 0;
        while let Some(rest) = message.get(sent..).filter(|rest| !rest.is_empty()) {
            match sendmsg(&self.socket, &[IoSlice::new(rest)], &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(bytes) => {
                    sent += bytes;
                    ancillary = SendAncillaryBuffer::default();
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

/// Reads the little-endian number at `offset`; it is 0 beyond the end of a message that is too short.
pub(super) fn u32_at(message: &[u8], offset: usize) -> u32 {
    message.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// As [`u32_at`], of eight bytes.
pub(super) fn u64_at(message: &[u8], offset: usize) -> u64 {
    message.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}
