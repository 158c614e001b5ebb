//! A device kept open: it stays attached under its number, and is compared before everything that writes to it.
//!
//! An open loop device cannot be detached, and the number of a disk that was unplugged is not given to another while
//! it is open. What can still change (its node, its size, the part of the file a loop device shows) is looked at.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use rustix::fs::{Advice, Mode, OFlags, fadvise};
use xxhash_rust::xxh3::Xxh3Default;

use super::lease_lock::LeaseLock;
use super::lease_ticket::{ClaimedLease, LeaseTicket};
use super::refusal::Refusal;
use super::{check_tables, writers};
use crate::host::block_device::BlockDevice;
use crate::host::root::Root;

/// Where whoever takes a device for his own writes first and last, in bytes: superblocks (that of btrfs lies at 64 KiB), headers,
/// and both tables of partitions.
const HEAD: usize = 128 << 10;
const END: usize = 64 << 10;

/// A device kept open, but claimed by nobody: mkfs and mount can have it.
#[derive(Debug)]
pub struct HeldLease {
    ticket: LeaseTicket,
    file: File,
    /// Digest of what the last trial left at both ends, where that is known.
    left: Mutex<Option<u64>>,
    _lock: Option<LeaseLock>,
}

impl HeldLease {
    /// Gives up the claim, so that mkfs and mount can have the device, and keeps it open.
    pub fn of(claim: ClaimedLease) -> Result<Self, Refusal> {
        let (claimed, ticket) = claim.into_parts();
        Self::instead_of(claimed, &ticket, None)
    }

    /// Keeps the device open that is claimed by `claimed`, and gives up the claim.
    pub(super) fn instead_of(
        claimed: File,
        ticket: &LeaseTicket,
        lock: Option<LeaseLock>,
    ) -> Result<Self, Refusal> {
        let file = reopen(&claimed, OFlags::empty()).map_err(|error| ticket.cannot_open(error))?;
        drop(claimed);
        Ok(HeldLease { ticket: ticket.clone(), file, left: Mutex::new(None), _lock: lock })
    }

    pub fn check(&self, root: &Root) -> Result<BlockDevice, Refusal> {
        self.ticket.check_identity(root, &self.file)
    }

    /// Whether it is still that device, and nobody has mounted or claimed it. What was read of it is forgotten, as
    /// when its last user closes it: the next one reads from the device, not from memory.
    pub fn check_free(&self, root: &Root) -> Result<BlockDevice, Refusal> {
        let device = self.check(root)?;
        match writers::patiently(|| reopen(&self.file, OFlags::EXCL)) {
            Ok(_) => {}
            Err(rustix::io::Errno::BUSY) => {
                return Err(Refusal::Busy { device: device.describe_for_people() });
            }
            Err(error) => return Err(self.ticket.cannot_open(error)),
        }
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        Ok(device)
    }

    /// The same, and that nobody writes to it, has put something else on its bytes, or wrote to it since a trial
    /// [left it](Self::remember): to be asked outside of sandboxes, where everybody can be seen.
    pub fn check_unused(&self, root: &Root) -> Result<(), Refusal> {
        let device = self.check_free(root)?;
        check_tables(root, &device, 0)?;
        let left = self.left.lock().ok().and_then(|left| *left);
        if left.is_some() && self.ends().ok() != left {
            return Err(Refusal::changed(&device, "somebody has written to it since the last trial ended"));
        }
        Ok(())
    }

    /// Notes how a trial has left the device: before the next one it must still be so. After a trial that was ended from
    /// outside its mount may go on writing for a moment, and nothing is known.
    pub fn remember(&self, ended_well: bool) {
        let found = if ended_well { self.ends().ok() } else { None };
        if let Ok(mut left) = self.left.lock() {
            *left = found;
        }
    }

    fn ends(&self) -> std::io::Result<u64> {
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        let size = usize::try_from(self.ticket.size).unwrap_or(usize::MAX);
        let (mut head, mut end) = (vec![0; HEAD.min(size)], vec![0; END.min(size)]);
        self.file.read_exact_at(&mut head, 0)?;
        let begins = size - end.len();
        self.file.read_exact_at(&mut end, begins as u64)?;
        let mut digest = Xxh3Default::new();
        digest.update(&head);
        digest.update(&end);
        Ok(digest.digest())
    }
}

/// Opens the very device of a descriptor once more, whatever its path leads to by now.
fn reopen(file: &File, more: OFlags) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | more;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}
