//! A device kept open: it stays attached under its number, and is compared before everything that writes to it.
//!
//! An open loop device cannot be detached, and the number of an unplugged disk is not reused while it is open.
//! Everything that can still change (its node, its size, the part of the file that a loop device shows) is checked. So
//! are foreign writes: the first one that is found revokes the lease permanently.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, Mode, OFlags, fadvise};
use serde::{Deserialize, Serialize};

use super::device_snapshot::{DeviceSnapshot, SnapshotDepth};
use super::lease_lock::LeaseLock;
use super::lease_ticket::{ClaimedLease, LeaseTicket};
use super::refusal::{ForeignWrite, Refusal};
use super::{check_tables, writers};
use crate::host::block_device::BlockDevice;
use crate::host::root::Root;
use fsverdict_folders::path_by_number;

/// How long the mount of a trial that was killed may take to go away.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(30);
/// The message when the time of the last change can no longer be read: the file may have been written through another
/// name.
const LOST_FILE: &str =
    "or may have been: its backing file was renamed, and the time of its last change cannot be read";

/// Keeps the device open without claiming it: mkfs and mount can claim it.
#[derive(Debug)]
pub struct HeldLease {
    ticket: LeaseTicket,
    /// A description of the device in one line.
    description: String,
    file: File,
    state: Mutex<LeaseState>,
    _lock: Option<LeaseLock>,
}

/// How a run, or a part of one, has left a device, for the next that has the same permission to erase it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftDevice {
    ticket: LeaseTicket,
    /// Which start of this machine that was: with another the counters begin again.
    boot: String,
    left: Option<DeviceSnapshot>,
    after: Option<String>,
    /// The evidence of another program's write.
    foreign: Option<String>,
}

/// The state of knowledge about writes to a device.
#[derive(Debug)]
struct LeaseState {
    /// How it was when everything that had been written to it was ours; none while we write to it.
    left: Option<DeviceSnapshot>,
    /// Whether a trial has written to it: its former content is gone.
    written: bool,
    /// The last trial that has ended, for people.
    after: Option<String>,
    /// Once this is set nothing clears it.
    revoked: Option<ForeignWrite>,
}

impl HeldLease {
    /// Gives up the claim of a trial, so that its mkfs and mount can have the device, and keeps it open. Nothing but the discard
    /// was written so far.
    pub fn from_claim(root: &Root, claim: ClaimedLease) -> Result<Self, Refusal> {
        let (claimed, ticket) = claim.into_parts();
        let device = ticket.check_identity(root, &claimed)?;
        // Compares no contents: reading them would fill the device's cache, which the trial would find there.
        let snapshot = ticket.take_snapshot(root, &device, &claimed, SnapshotDepth::Counters)?;
        Self::new(claimed, &ticket, &device, snapshot, None)
    }

    /// Keeps the device open that is claimed by `claimed`, and gives up the claim; `left` is how it is.
    pub(super) fn new(
        claimed: File,
        ticket: &LeaseTicket,
        device: &BlockDevice,
        left: DeviceSnapshot,
        lock: Option<LeaseLock>,
    ) -> Result<Self, Refusal> {
        let file = reopen_file(&claimed, OFlags::empty()).map_err(|error| ticket.cannot_open(error))?;
        drop(claimed);
        let state = LeaseState { left: Some(left), written: false, after: None, revoked: None };
        let (ticket, description) = (ticket.clone(), device.describe_for_people());
        Ok(HeldLease { ticket, description, file, state: Mutex::new(state), _lock: lock })
    }

    /// Whether it is still that device, and the lease was not revoked.
    pub fn check_unchanged(&self, root: &Root) -> Result<BlockDevice, Refusal> {
        self.check_revoked()?;
        self.ticket.check_identity(root, &self.file)
    }

    /// Whether it is still that device, and can still be written to: to be asked when a trial on it has failed.
    pub fn check_usable(&self, root: &Root) -> Result<(), Refusal> {
        let device = self.check_unchanged(root)?;
        self.ticket.check_room_below(root, &device)
    }

    /// Checks that it is still the same device, neither mounted nor claimed. Drops its cached pages, as after its last
    /// user closes it: the next reader reads from the device, not from memory.
    pub fn check_free(&self, root: &Root) -> Result<BlockDevice, Refusal> {
        let device = self.check_unchanged(root)?;
        match writers::retry_briefly(|| reopen_file(&self.file, OFlags::EXCL)) {
            Ok(_) => {}
            Err(rustix::io::Errno::BUSY) => {
                return Err(Refusal::Busy { device: device.describe_for_people() });
            }
            Err(error) => return Err(self.ticket.cannot_open(error)),
        }
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
        Ok(device)
    }

    /// Checks the same, and that no other program writes to it, has replaced it, or wrote to it since
    /// [`Self::note_end`]. Call this outside of sandboxes, where all processes are visible. Returns the permission for
    /// the next trial, which looks for foreign writes once more right before its own first write.
    pub fn check_unused(&self, root: &Root) -> Result<LeaseTicket, Refusal> {
        let device = self.check_free(root)?;
        check_tables(root, &device, 0)?;
        let ticket = self.ticket.with_snapshot(self.check_unwritten(root, &device)?);
        Ok(if self.lock_state().written { ticket.after_first_write() } else { ticket })
    }

    /// Checks once, after a discard and before the first write, that no other program has written.
    pub fn check_before_first_write(&self, root: &Root, device: &BlockDevice) -> Result<(), Refusal> {
        if self.lock_state().left.is_some() {
            self.check_unwritten(root, device)?;
            self.note_writing();
        }
        Ok(())
    }

    /// Notes that a trial is about to write to it.
    pub fn note_writing(&self) {
        let mut state = self.lock_state();
        (state.left, state.written) = (None, true);
    }

    /// Notes how `trial` has left the device, if it has written to it: before the next one it must still be so. After a trial that was
    /// killed this waits until its mount is gone, which writes until then.
    ///
    /// # Errors
    /// When the state cannot be determined, or the lease is revoked. A device in an unknown state is not overwritten.
    pub fn note_end(&self, root: &Root, trial: &str) -> Result<(), Refusal> {
        self.check_revoked()?;
        let unknown = self.lock_state().left.is_none();
        self.lock_state().after = Some(trial.to_owned());
        if !unknown {
            return Ok(());
        }
        let device = self.ticket.check_identity(root, &self.file)?;
        let deadline = Instant::now() + UNMOUNT_PATIENCE;
        let claimed = loop {
            match writers::retry_briefly(|| reopen_file(&self.file, OFlags::EXCL)) {
                Ok(claimed) => break claimed,
                Err(rustix::io::Errno::BUSY) if Instant::now() < deadline => {}
                Err(rustix::io::Errno::BUSY) => {
                    return Err(Refusal::Busy { device: device.describe_for_people() });
                }
                Err(error) => return Err(self.ticket.cannot_open(error)),
            }
        };
        let snapshot =
            self.ticket.take_snapshot(root, &device, &claimed, SnapshotDepth::CountersAndContents)?;
        self.lock_state().left = Some(snapshot);
        Ok(())
    }

    /// How the device is left, as far as that is known.
    pub fn describe_left(&self, root: &Root) -> LeftDevice {
        let state = self.lock_state();
        LeftDevice {
            ticket: self.ticket.clone(),
            boot: boot_id(root),
            left: state.left.clone(),
            after: state.after.clone(),
            foreign: state.revoked.as_ref().map(|foreign| foreign.found.clone()),
        }
    }

    /// Checks for foreign writes since an earlier part of the run ended. Another device is not checked.
    pub fn check_left(&self, root: &Root, known: &LeftDevice) -> Result<(), Refusal> {
        if !self.ticket.is_same_device(&known.ticket) {
            return Ok(());
        }
        self.lock_state().after.clone_from(&known.after);
        if let Some(found) = &known.foreign {
            return Err(Refusal::ForeignWrite(Box::new(self.revoke(found))));
        }
        let Some(left) = &known.left else { return Ok(()) };
        let counts_on = known.boot == boot_id(root) && self.ticket.is_same_attachment(&known.ticket);
        let snapshot = if counts_on { left.clone() } else { left.without_counters() };
        let device = self.check_unchanged(root)?;
        self.compare_with_snapshot(root, &device, &snapshot)
    }

    /// Revokes the lease: another program has written to the device, as `found` describes. Returns the message of the
    /// first revocation.
    pub fn revoke(&self, found: &str) -> ForeignWrite {
        let mut state = self.lock_state();
        let after = state.after.clone();
        let device = self.description.clone();
        state.revoked.get_or_insert_with(|| ForeignWrite { device, after, found: found.to_owned() }).clone()
    }

    /// Claims the device with a permission that [`check_unused`](Self::check_unused) gave, in this process.
    pub fn redeem(&self, root: &Root, ticket: &LeaseTicket) -> Result<ClaimedLease, Refusal> {
        ticket.redeem(root).map_err(|refusal| self.note_refusal(refusal))
    }

    /// Why the device is not written to any more, if so.
    pub fn revocation(&self) -> Option<ForeignWrite> {
        self.lock_state().revoked.clone()
    }

    fn check_revoked(&self) -> Result<(), Refusal> {
        match self.revocation() {
            Some(foreign) => Err(Refusal::ForeignWrite(Box::new(foreign))),
            None => Ok(()),
        }
    }

    fn check_unwritten(&self, root: &Root, device: &BlockDevice) -> Result<DeviceSnapshot, Refusal> {
        let Some(left) = self.lock_state().left.clone() else {
            return Err(Refusal::device_changed(device, "how the last trial left it is not known"));
        };
        self.compare_with_snapshot(root, device, &left).map(|()| left)
    }

    /// Compares the device with how it was left, and revokes the lease where that shows a foreign write.
    fn compare_with_snapshot(
        &self,
        root: &Root,
        device: &BlockDevice,
        left: &DeviceSnapshot,
    ) -> Result<(), Refusal> {
        // In a sandbox the file may be hidden, and is not in `left` then.
        if left.has_file_time() && !self.ticket.finds_file_below(root, device) {
            return Err(Refusal::ForeignWrite(Box::new(self.revoke(LOST_FILE))));
        }
        let compared = self.ticket.check_unwritten(root, device, &self.file, left);
        compared.map_err(|refusal| self.note_refusal(refusal))
    }

    /// Revokes the lease if the refusal is a foreign write, and completes its message.
    fn note_refusal(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::ForeignWrite(foreign) => Refusal::ForeignWrite(Box::new(self.revoke(&foreign.found))),
            other => other,
        }
    }

    /// A thread that panicked changed one field at most, and each is right by itself.
    fn lock_state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn boot_id(root: &Root) -> String {
    root.optional("proc/sys/kernel/random/boot_id").ok().flatten().unwrap_or_default().trim().to_owned()
}

/// Opens the device of a descriptor again, independently of the path.
fn reopen_file(file: &File, more: OFlags) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | more;
    Ok(File::from(rustix::fs::open(path_by_number(file), flags, Mode::empty())?))
}
