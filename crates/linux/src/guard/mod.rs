//! The guard: nothing but the device the user named, and means, is ever written.
//!
//! [`grant_lease`] checks a device in an order that does no harm: first the kernel's tables (without opening it),
//! then an exclusive open for reading, then its content. [`GrantedLease`] keeps it open, so that no other program can
//! mount or claim the device. Its [`LeaseTicket`] is passed to the process that will write; [`LeaseTicket::redeem`]
//! checks again, on the descriptor used for writing, that device, identity and contents are still the examined ones.
//! From then on a [`HeldLease`] keeps the device open and compares it before each mkfs, mount and fsck. A foreign write
//! found on the way ([`ForeignWrite`]) revokes the lease permanently. During a run no other run gets the device
//! (`lease_lock`).

mod device_snapshot;
mod held_lease;
mod lease_lock;
mod lease_ticket;
mod loops;
mod refusal;
mod signature;
mod usage;
mod writers;

#[cfg(test)]
mod device_list;
#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod loop_tests;

use std::fs::File;
use std::path::Path;

pub use held_lease::{HeldLease, LeftDevice};
pub use lease_ticket::{ClaimedLease, LeaseTicket};
pub use refusal::{ForeignWrite, Occupancy, Refusal, SignedDevice};

use crate::host::blank;
use crate::host::blank::Survey;
use crate::host::block_device::{BlockDevice, DeviceNumber, number_of};
use crate::host::identity::DeviceIdentity;
use crate::host::root::Root;
use crate::host::syscall;
use crate::host::sysfs::is_counted;
use device_snapshot::{SnapshotDepth, describe_compared_part};
use lease_lock::LeaseLock;
use signature::DeviceContents;

/// A device that may be written, held open exclusively until this is dropped or turned into its ticket.
#[derive(Debug)]
pub struct GrantedLease {
    device: BlockDevice,
    ticket: LeaseTicket,
    cautions: Vec<String>,
    /// By which names it may be given up.
    identity: DeviceIdentity,
    held: File,
    lock: LeaseLock,
}

impl GrantedLease {
    pub fn device(&self) -> &BlockDevice {
        &self.device
    }

    /// Cautions about this device for the reader of the results.
    pub fn cautions(&self) -> &[String] {
        &self.cautions
    }

    /// Refuses a device that was not named by its identity although it is empty, for the reason `told`.
    ///
    /// # Errors
    /// Always but where it was named.
    pub fn require_name(self, told: &str) -> Result<Self, Refusal> {
        if !self.ticket.is_unnamed() {
            return Ok(self);
        }
        let device = self.device.describe_for_people();
        Err(Refusal::Signed(Box::new(SignedDevice {
            device,
            given: None,
            state: Occupancy::Doubtful,
            marks: vec![told.to_owned()],
            identity: self.identity,
        })))
    }

    /// Lets the bearer of the ticket claim the device, and keeps it open for the run.
    pub fn into_ticket(self) -> Result<(LeaseTicket, HeldLease), Refusal> {
        let snapshot = self.ticket.take_snapshot(
            &Root::default(),
            &self.device,
            &self.held,
            SnapshotDepth::CountersAndContents,
        )?;
        let hold = HeldLease::new(self.held, &self.ticket, &self.device, snapshot, Some(self.lock))?;
        Ok((self.ticket, hold))
    }
}

/// Examines the device at `path`: may `needed` bytes of it be written?
///
/// A device that holds data is granted only if `erase` is exactly one of its stable names. A name that is
/// not its own is refused even when the device is blank: the user means another one.
///
/// # Errors
/// The reason for refusing; when in doubt, it refuses.
pub fn grant_lease(
    root: &Root,
    path: &Path,
    needed: u64,
    erase: Option<&str>,
) -> Result<GrantedLease, Refusal> {
    let device = BlockDevice::inspect(root, path)?;
    if !device.path.starts_with(root.path("dev")) {
        return Err(Refusal::NodeElsewhere {
            device: device.describe_for_people(),
            number: device.number,
            name: device.name,
        });
    }
    let lock = LeaseLock::take_lock(root, &device, &usage::device_and_partitions(root, &device))?;
    let caution = check_tables(root, &device, needed)?;
    let exclusive = open_exclusively(&device, false)?;
    let size = check_open(&device, &exclusive, needed)?;
    let contents = signature::read_contents(&exclusive, size)
        .map_err(|source| Refusal::Unknown { device: device.describe_for_people(), source })?;
    let blank = check_consent(root, &device, &exclusive, &contents, erase)?;
    let mut cautions = collect_cautions(root, &device);
    cautions.extend(caution);
    let ticket = LeaseTicket::new(&device, &exclusive, size, needed, &contents, blank);
    if ticket.file_below().is_some() && !ticket.finds_file_below(root, &device) {
        cautions.push(format!(
            "the backing file of {} is not at the path that the kernel reports: if another program writes to that file between two trials, this is {}",
            device.path.display(),
            describe_compared_part()
        ));
    }
    let identity = device.hardware.merged_with(&contents.found_names());
    Ok(GrantedLease { device, ticket, cautions, identity, held: exclusive, lock })
}

/// Makes all checks that need no open device, outside of sandboxes; returns cautions for the reader of the results.
fn check_tables(root: &Root, device: &BlockDevice, needed: u64) -> Result<Option<String>, Refusal> {
    let caution = usage::check_usage(root, device)?;
    check_attributes(device, needed)?;
    Ok(caution)
}

fn check_attributes(device: &BlockDevice, needed: u64) -> Result<(), Refusal> {
    if device.read_only {
        return Err(Refusal::ReadOnly { device: device.describe_for_people() });
    }
    check_size(device, device.size, needed)
}

/// Opens the device so that no other program can mount, claim or open it exclusively (the kernel's meaning of `O_EXCL`
/// here).
fn open_exclusively(device: &BlockDevice, write: bool) -> Result<File, Refusal> {
    use rustix::fs::{Mode, OFlags};
    let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
    // Non-blocking, so that a drive without a medium answers at once; the kernel has no other use for it here.
    let flags = access | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    // A device given free a moment ago may still be held by a child of its last user that is about to exec.
    match writers::retry_briefly(|| rustix::fs::open(&device.path, flags, Mode::empty())) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(rustix::io::Errno::BUSY) => Err(Refusal::Busy { device: device.describe_for_people() }),
        Err(rustix::io::Errno::ROFS) => Err(Refusal::ReadOnly { device: device.describe_for_people() }),
        Err(error) => Err(Refusal::CannotOpen { device: device.describe_for_people(), source: error.into() }),
    }
}

/// The open descriptor must be of the device that was examined, as large, and writable. Returns its size.
fn check_open(device: &BlockDevice, held: &File, needed: u64) -> Result<u64, Refusal> {
    let failed = |error: rustix::io::Errno| Refusal::CannotOpen {
        device: device.describe_for_people(),
        source: error.into(),
    };
    let status = rustix::fs::fstat(held).map_err(failed)?;
    let number = DeviceNumber::from_raw(status.st_rdev);
    if number != device.number {
        return Err(Refusal::device_changed(
            device,
            format!("its path now leads to device {number}, not {}", device.number),
        ));
    }
    if syscall::block_device_is_read_only(held).map_err(failed)? {
        return Err(Refusal::ReadOnly { device: device.describe_for_people() });
    }
    let size = syscall::block_device_size(held).map_err(failed)?;
    check_size(device, size, needed)?;
    Ok(size)
}

fn check_size(device: &BlockDevice, size: u64, needed: u64) -> Result<(), Refusal> {
    if size == 0 || size < needed {
        return Err(Refusal::TooSmall { device: device.describe_for_people(), size, needed });
    }
    Ok(())
}

/// Whether it may be written: because the user says so by its name, or (true) because nothing is on it.
fn check_consent(
    root: &Root,
    device: &BlockDevice,
    held: &File,
    contents: &DeviceContents,
    erase: Option<&str>,
) -> Result<bool, Refusal> {
    let identity = device.hardware.merged_with(&contents.found_names());
    if erase.is_some_and(|name| identity.accepts(name)) {
        return Ok(false);
    }
    let mut state = Occupancy::Full;
    let mut marks = describe_contents(root, device, contents);
    if let (Some(value), []) = (contents.uniform, marks.as_slice()) {
        let survey = survey_content(device, held, value)?;
        state = if matches!(survey, Survey::Data(_)) { Occupancy::Full } else { Occupancy::Doubtful };
        marks.extend(survey.describe(device.size));
        marks.extend(blank::unread_window(held, device));
        if marks.is_empty() {
            state = Occupancy::Blank;
        }
    }
    if state == Occupancy::Blank && erase.is_none() {
        return Ok(true);
    }
    let device = device.describe_for_people();
    Err(Refusal::Signed(Box::new(SignedDevice {
        device,
        given: erase.map(str::to_owned),
        state,
        marks,
        identity,
    })))
}

fn survey_content(device: &BlockDevice, held: &File, value: u8) -> Result<Survey, Refusal> {
    blank::survey_blankness(held, device, value, device.size, blank::PATIENCE).map_err(|error| {
        Refusal::Unknown {
            device: device.describe_for_people(),
            source: signature::SignatureError::Unreadable(error),
        }
    })
}

/// The content of the device and its partitions, one line each.
fn describe_contents(root: &Root, device: &BlockDevice, contents: &DeviceContents) -> Vec<String> {
    let mut lines: Vec<String> = contents.signatures.iter().map(signature::Signature::describe).collect();
    for (name, number) in &device.partitions {
        let path = root.path(format!("dev/{name}"));
        let content = BlockDevice::describe(root, &path, path.clone(), *number).ok().map(|partition| {
            // The disk is held exclusively, so its partitions have no other users; unreadable content is left out.
            let file = (number_of(root, &path) == Some(*number)).then(|| File::open(&path).ok()).flatten();
            let marks = file.and_then(|file| signature::read_contents(&file, partition.size).ok());
            let marks: Vec<String> = marks
                .map(|found| found.signatures.iter().map(signature::Signature::describe).collect())
                .unwrap_or_default();
            let marks = if marks.is_empty() { String::new() } else { format!(": {}", marks.join(", ")) };
            format!("partition {name}, {}{marks}", partition.bytes())
        });
        lines.push(content.unwrap_or_else(|| format!("partition {name}")));
    }
    if lines.is_empty() && contents.uniform.is_none() {
        lines.push("data that no known signature explains".to_owned());
    }
    lines
}

fn collect_cautions(root: &Root, device: &BlockDevice) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(mount) = usage::system_mount_beside(root, device) {
        cautions.push(format!(
            "{} is a partition of the disk that also holds {}: other work on that disk disturbs the times",
            device.path.display(),
            mount.display()
        ));
    }
    if is_counted(root, &device.name).is_ok_and(|counted| !counted) {
        cautions.push(format!(
            "the kernel does not count the writes to {} (queue/iostats is 0): a write of another program between two trials is {}",
            device.path.display(),
            describe_compared_part()
        ));
    }
    if let Some(file) = &device.backing_file {
        cautions.push(format!(
            "{} is a loop device over {file}: the times are those of the filesystem below, not of a disk",
            device.path.display()
        ));
    }
    cautions
}
