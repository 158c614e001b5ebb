//! The permission to write to a cleared device, in a form that can be passed to another process, which checks it right
//! before the first write.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::device_snapshot::{DeviceSnapshot, SnapshotDepth};
use super::refusal::{ForeignWrite, Refusal};
use super::{check_attributes, check_open, open_exclusively, survey_content, usage};
use crate::guard::signature;
use crate::guard::signature::DeviceContents;
use crate::host::blank::Survey;
use crate::host::block_device::{BlockDevice, DeviceNumber};
use crate::host::identity::DeviceIdentity;
use crate::host::image::free_bytes;
use crate::host::root::Root;
use crate::host::syscall;

/// A filesystem with less free space, in bytes, counts as full: failed writes may have released some blocks since.
const LEAST_ROOM: u64 = 64 << 20;

/// The permission to write one device, for as long as it stays that device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTicket {
    /// The device's path without symbolic links.
    pub path: PathBuf,
    pub number: DeviceNumber,
    /// Bytes.
    pub size: u64,
    needed: u64,
    #[serde(default)]
    sequence: Option<u64>,
    hardware: DeviceIdentity,
    /// For a loop device: filesystem and inode of its file (or the number of the device below), and its first byte
    /// there.
    #[serde(default)]
    backing: Option<(u64, u64, u64, u64)>,
    /// Digest of its former content; `None` once it holds only data that fsverdict wrote.
    #[serde(default)]
    contents: Option<String>,
    #[serde(default)]
    blank: bool,
    /// The snapshot of the device before foreign writes were possible: it must still match right before the first
    /// write.
    #[serde(default)]
    left: Option<Box<DeviceSnapshot>>,
}

impl LeaseTicket {
    /// Whether there is a file below the device, not a disk.
    pub fn is_loop(&self) -> bool {
        self.backing.is_some()
    }

    /// Whether both are for one device, by the names of its hardware where it has some.
    pub(super) fn is_same_device(&self, other: &LeaseTicket) -> bool {
        self.size == other.size
            && self.hardware.still_holds(&other.hardware)
            && self.file_below() == other.file_below()
    }

    /// Whether that device was not detached in between.
    pub(super) fn is_same_attachment(&self, other: &LeaseTicket) -> bool {
        self.number == other.number && self.sequence == other.sequence && self.backing == other.backing
    }

    /// Whether it was given because nothing is on the device, and not for a name.
    pub(super) fn is_unnamed(&self) -> bool {
        self.blank
    }

    pub(super) fn new(
        device: &BlockDevice,
        held: &File,
        size: u64,
        needed: u64,
        contents: &DeviceContents,
        blank: bool,
    ) -> Self {
        LeaseTicket {
            path: device.path.clone(),
            number: device.number,
            size,
            needed,
            sequence: device.sequence,
            hardware: device.hardware.clone(),
            backing: backing_file(held).ok(),
            contents: Some(contents.digest.clone()),
            blank,
            left: None,
        }
    }

    /// The same permission after the first write: the content is ours now and may change.
    pub fn after_first_write(&self) -> Self {
        LeaseTicket { contents: None, ..self.clone() }
    }

    /// The same permission for a device that was left as this snapshot says.
    pub(super) fn with_snapshot(&self, left: DeviceSnapshot) -> Self {
        LeaseTicket { left: Some(left.into()), ..self.clone() }
    }

    /// Takes a snapshot of the device, open as `file`.
    pub(super) fn take_snapshot(
        &self,
        root: &Root,
        device: &BlockDevice,
        file: &File,
        depth: SnapshotDepth,
    ) -> Result<DeviceSnapshot, Refusal> {
        let below = || self.metadata_below(root, device);
        DeviceSnapshot::take_snapshot(root, device, file, self.size, below, depth)
            .map_err(|source| Refusal::NoAnswer { device: device.describe_for_people(), source })
    }

    /// Refuses a device that has been written to since `left` was taken of it.
    pub(super) fn check_unwritten(
        &self,
        root: &Root,
        device: &BlockDevice,
        file: &File,
        left: &DeviceSnapshot,
    ) -> Result<(), Refusal> {
        let now = self.take_snapshot(root, device, file, left.depth())?;
        match left.describe_difference(&now, self.size) {
            Some(found) => Err(Refusal::ForeignWrite(Box::new(ForeignWrite {
                device: device.describe_for_people(),
                after: None,
                found,
            }))),
            None => Ok(()),
        }
    }

    /// Claims the device for writing. Checks everything again on the returned descriptor; while it is open, the kernel
    /// prevents any other mount or claim: there is no moment between check and write.
    pub fn redeem(&self, root: &Root) -> Result<ClaimedLease, Refusal> {
        let device = self.inspect_device(root)?;
        usage::check_claims(root, &device)?;
        check_attributes(&device, self.needed)?;
        let file = open_exclusively(&device, true)?;
        let device = self.check_identity(root, &file)?;
        self.check_contents(&device, &file)?;
        if let Some(left) = &self.left {
            self.check_unwritten(root, &device, &file, left)?;
        }
        Ok(ClaimedLease { device, file, ticket: self.clone() })
    }

    /// Checks whether the open device, and the device at its path, are still those of this ticket.
    pub(super) fn check_identity(&self, root: &Root, held: &File) -> Result<BlockDevice, Refusal> {
        let device = self.inspect_device(root)?;
        let size = check_open(&device, held, self.needed)?;
        if size != self.size {
            return Err(Refusal::device_changed(
                &device,
                format!("its size was {} B and is {size} B", self.size),
            ));
        }
        match backing_file(held) {
            Ok(backing) if Some(backing) == self.backing => {}
            Err(_) if self.backing.is_none() => {}
            // The filesystem of the file does not respond: the file below the device was not replaced.
            Err(error @ Errno::IO) => {
                let device = device.describe_for_people();
                return Err(Refusal::NoAnswer { device, source: error.into() });
            }
            Ok(_) | Err(_) => {
                return Err(Refusal::device_changed(
                    &device,
                    "it has another backing file, or maps another part of that file",
                ));
            }
        }
        if self.is_cut_short(root, &device) {
            return Err(Refusal::device_changed(
                &device,
                "its backing file has become shorter than the device",
            ));
        }
        Ok(device)
    }

    /// Whether the file of a loop device is shorter than the device; unknown if no name leads to the file.
    fn is_cut_short(&self, root: &Root, device: &BlockDevice) -> bool {
        let Some((.., offset)) = self.backing else { return false };
        let file = self.metadata_below(root, device);
        file.is_some_and(|file| file.len() < offset.saturating_add(self.size))
    }

    /// Refuses a loop device over a file with holes that its filesystem has next to no room to fill: writes to it fail, and the
    /// kernel does not always say so, for it holds such messages back when there are many.
    pub(super) fn check_room_below(&self, root: &Root, device: &BlockDevice) -> Result<(), Refusal> {
        let Some((file, metadata)) = self.named_file_below(root, device) else { return Ok(()) };
        let Ok(free) = free_bytes(&file) else { return Ok(()) };
        let missing = metadata.len().saturating_sub(metadata.blocks().saturating_mul(512));
        if free >= missing.min(LEAST_ROOM) {
            return Ok(());
        }
        Err(Refusal::NoRoomBelow { device: device.describe_for_people(), file, missing, free })
    }

    /// The file of a loop device and its status, if its name still leads to it.
    fn named_file_below(&self, root: &Root, device: &BlockDevice) -> Option<(PathBuf, Metadata)> {
        let (filesystem, inode, ..) = self.backing?;
        let file = super::loops::file_of(root, device)?;
        let status = std::fs::symlink_metadata(&file).ok()?;
        (status.is_file() && (status.dev(), status.ino()) == (filesystem, inode)).then_some((file, status))
    }

    fn metadata_below(&self, root: &Root, device: &BlockDevice) -> Option<Metadata> {
        self.named_file_below(root, device).map(|(_, metadata)| metadata)
    }

    /// Whether the file of a loop device has a name by which changes of it are seen.
    pub(super) fn finds_file_below(&self, root: &Root, device: &BlockDevice) -> bool {
        self.metadata_below(root, device).is_some()
    }

    /// The inode of a loop device's file: another inode means another device.
    pub fn file_below(&self) -> Option<u64> {
        self.backing.filter(|(_, _, raw_device, _)| *raw_device == 0).map(|(_, inode, ..)| inode)
    }

    fn check_contents(&self, device: &BlockDevice, held: &File) -> Result<(), Refusal> {
        let Some(expected) = &self.contents else { return Ok(()) };
        let contents = signature::read_contents(held, self.size)
            .map_err(|source| Refusal::Unknown { device: device.describe_for_people(), source })?;
        // Consent by name covers the sampled content; without consent, everything must still be empty.
        let value = contents.uniform.unwrap_or(0);
        let filled = self.blank && matches!(survey_content(device, held, value)?, Survey::Data(_));
        if contents.digest != *expected || filled {
            let problem = "what is on it is not what was on it when it was examined".to_owned();
            let device = device.describe_for_people();
            return Err(Refusal::ForeignWrite(Box::new(ForeignWrite {
                device,
                after: None,
                found: problem,
            })));
        }
        Ok(())
    }

    pub(super) fn cannot_open(&self, error: rustix::io::Errno) -> Refusal {
        Refusal::CannotOpen { device: self.path.display().to_string(), source: error.into() }
    }

    fn inspect_device(&self, root: &Root) -> Result<BlockDevice, Refusal> {
        let device = BlockDevice::inspect(root, &self.path)?;
        if device.number != self.number {
            let change = format!("its path now leads to device {}, not {}", device.number, self.number);
            return Err(Refusal::device_changed(&device, change));
        }
        if device.sequence != self.sequence {
            return Err(Refusal::device_changed(&device, "another disk was attached under its name"));
        }
        if !self.hardware.still_holds(&device.hardware) {
            return Err(Refusal::device_changed(
                &device,
                "its serial number or other hardware name is another",
            ));
        }
        Ok(device)
    }
}

/// The filesystem, inode and device number of the file that a loop device shows, and the offset in it.
fn backing_file(device: &File) -> Result<(u64, u64, u64, u64), Errno> {
    let status = syscall::loop_status(device)?;
    Ok((status.device, status.inode, status.raw_device, status.offset))
}

/// A device open for writing that no other program can mount or claim; dropping it releases it.
#[derive(Debug)]
pub struct ClaimedLease {
    device: BlockDevice,
    file: File,
    ticket: LeaseTicket,
}

impl ClaimedLease {
    /// The device, open for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Tells the device that nothing on it is needed any more. `false` when it cannot be told so.
    ///
    /// # Errors
    /// Any error but that the device does not support it.
    pub fn discard(&self) -> std::io::Result<bool> {
        match syscall::discard_range(&self.file, self.device.size) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOTTY) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A description of the device in one line: path, model, size.
    pub fn describe_device(&self) -> String {
        self.device.describe_for_people()
    }

    /// The device as it is open here, and the ticket it was claimed with.
    pub(super) fn into_parts(self) -> (File, LeaseTicket) {
        (self.file, self.ticket)
    }
}
