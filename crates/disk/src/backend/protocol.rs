//! The numbers of the vhost-user protocol (QEMU, `docs/interop/vhost-user.rst`), and how a message and a guest's memory are
//! laid out.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::SealFlags;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::VIRTIO_RING_F_INDIRECT_DESC;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

use super::BackendError;
use super::connection::u64_at;

/// Bytes of a message's header.
pub(super) const HEADER_BYTES: usize = 12;
/// Longest payload of a message, in bytes.
pub(super) const MAX_PAYLOAD_BYTES: usize = 4096;

pub(super) const VERSION: u32 = 1;
pub(super) const REPLY: u32 = 1 << 2;
pub(super) const NEEDS_REPLY: u32 = 1 << 3;

pub(super) const VHOST_USER_GET_FEATURES: u32 = 1;
pub(super) const VHOST_USER_SET_MEM_TABLE: u32 = 5;
pub(super) const VHOST_USER_SET_VRING_NUM: u32 = 8;
pub(super) const VHOST_USER_SET_VRING_ADDR: u32 = 9;
pub(super) const VHOST_USER_SET_VRING_BASE: u32 = 10;
pub(super) const VHOST_USER_GET_VRING_BASE: u32 = 11;
pub(super) const VHOST_USER_SET_VRING_KICK: u32 = 12;
pub(super) const VHOST_USER_SET_VRING_CALL: u32 = 13;
pub(super) const VHOST_USER_SET_VRING_ERR: u32 = 14;
/// Bit in the payload of the three messages above: no descriptor comes with the message.
pub(super) const VHOST_USER_VRING_NOFD_MASK: u64 = 1 << 8;
pub(super) const VHOST_USER_GET_PROTOCOL_FEATURES: u32 = 15;
pub(super) const VHOST_USER_SET_VRING_ENABLE: u32 = 18;
pub(super) const VHOST_USER_SET_BACKEND_REQ_FD: u32 = 21;
pub(super) const VHOST_USER_GET_CONFIG: u32 = 24;
pub(super) const VHOST_USER_VRING_KICK: u32 = 35;

/// A message to the guest, on the socket that it provides for this.
pub(super) const VHOST_USER_BACKEND_VRING_CALL: u32 = 4;

/// Feature bit: there are protocol features to negotiate.
const VHOST_USER_F_PROTOCOL_FEATURES: u32 = 30;
pub(super) const FEATURES: u64 =
    1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VHOST_USER_F_PROTOCOL_FEATURES;
/// `REPLY_ACK`, `BACKEND_REQ`, `CONFIG`, `INBAND_NOTIFICATIONS`: kicks and calls are messages, so that the guest
/// waits until they are seen. This lets two processes agree on a time. QEMU accepts it and uses eventfds all the
/// same.
pub(super) const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

pub(super) fn build_message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
    for word in [request, flags, payload.len() as u32] {
        message.extend(word.to_le_bytes());
    }
    message.extend(payload);
    message
}

/// Maps the guest's memory: each region has an address in the guest, a size, an address in its host process, and an
/// offset in a file. A region beyond the end of its file is refused, because access to it would end this process
/// (SIGBUS, mmap(2)).
pub(super) fn map_memory(payload: &[u8], files: Vec<OwnedFd>) -> Result<GuestMemoryMmap, BackendError> {
    let region = |(index, file): (usize, OwnedFd)| {
        // The file must not shrink later either; this holds for files that can be sealed.
        let _ = rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK);
        let base = 8 + 32 * index;
        let (address, size, offset) =
            (u64_at(payload, base), u64_at(payload, base + 8), u64_at(payload, base + 24));
        let file_bytes =
            u64::try_from(rustix::fs::fstat(&file).map_err(std::io::Error::from)?.st_size).unwrap_or(0);
        if offset.checked_add(size).is_none_or(|end| end > file_bytes) {
            return Err(BackendError::memory_error(format!(
                "{size} bytes from {offset} on of a file of {file_bytes}"
            )));
        }
        Ok((GuestAddress(address), size as usize, Some(FileOffset::new(File::from(file), offset))))
    };
    let regions = files.into_iter().enumerate().map(region).collect::<Result<Vec<_>, _>>()?;
    GuestMemoryMmap::from_ranges_with_files(regions).map_err(BackendError::memory_error)
}
