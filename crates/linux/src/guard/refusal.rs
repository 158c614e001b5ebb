//! Reasons for refusing a device, each with a hint at the remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::guard::signature::SignatureError;
use crate::host::block_device::{BlockDevice, DeviceNumber, InspectError};
use crate::host::identity::DeviceIdentity;
use fsverdict_text::{Bytes, Hinted, Reason, quoted};

/// The explanation why the native lab needs root: only root can see which processes use a device.
const NEEDS_ROOT: &str = "testing a real device needs root, in every lab: sudo fsverdict …; or use a scratch image: --device image:4GiB";

/// The hint after another program has written to a run's device.
const FOREIGN_WRITE: &str = "check what is on it now; if everything may be erased for good, name its identity again: --erase IDENTITY (a run without it prints the identity)";

/// The reason for a refusal. `device` is always one line: path, model, size.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// Its node lies where sandboxes have memory of their own or see no devices, and there is none in its place.
    #[error(
        "the node of {device} is not below /dev, where trials expect it, and /dev/{name} is another device"
    )]
    NodeElsewhere { device: String, name: String, number: DeviceNumber },
    /// One of the kernel's tables could not be read, so nothing is known.
    #[error("cannot determine whether {device} is in use: {source}")]
    TableUnreadable { device: String, source: io::Error },
    #[error("{device} is the system's disk: {part} is mounted on {}", point.display())]
    System { device: String, part: String, point: PathBuf },
    #[error("{device} is in use: {part} is mounted on {}", point.display())]
    Mounted { device: String, part: String, point: PathBuf },
    #[error("{device} is in use: {part} is swap space")]
    Swap { device: String, part: String },
    /// It stands on a file, and which file is swapped to cannot be told.
    #[error(
        "cannot tell whether {device} is swap space: it stands on a file, and the swap file that the kernel calls {swap} is not found there"
    )]
    SwapHidden { device: String, swap: String },
    #[error("{device} is in use: {part} is held by {holder}")]
    Held {
        device: String,
        part: String,
        /// Its holder: `dm-0 (vg-home)`, `md127` …
        holder: String,
    },
    #[error(
        "cannot determine whether {device} is in use: the open files of {processes} processes cannot be examined"
    )]
    Hidden { device: String, processes: usize },
    /// It is a loop device over another block device, which nothing protects.
    #[error("{device} is a loop device over the block device {backing}")]
    LoopOverDevice { device: String, backing: String },
    #[error(
        "{device} is the same disk as {other} (world-wide name {name}), and that one is in use: {reason}"
    )]
    SameDisk { device: String, other: String, name: String, reason: String },
    #[error("{device} is read-only")]
    ReadOnly { device: String },
    #[error("{device} is too small: {} is available, {} is needed", Bytes(*size), Bytes(*needed))]
    TooSmall {
        device: String,
        /// Bytes.
        size: u64,
        /// Bytes, for the plan.
        needed: u64,
    },
    /// Another run tests it, or its disk, or a partition of it.
    #[error("{device} is being tested by another run: {holder}")]
    Taken { device: String, holder: String },
    #[error("{device} is busy: a program or a mount elsewhere holds it exclusively")]
    Busy { device: String },
    #[error("cannot open {device}: {source}")]
    CannotOpen { device: String, source: io::Error },
    #[error("cannot determine what is on {device}: {source}")]
    Unknown { device: String, source: SignatureError },
    /// Something is on it (or it is not the one that was named).
    #[error("{0}")]
    Signed(Box<SignedDevice>),
    #[error("{device} changed since it was examined: {change}; it was not written to")]
    Changed { device: String, change: String },
    /// A loop device over a sparse file on a full filesystem.
    #[error(
        "{device} cannot hold all its data: {} of its blocks are not allocated in {}, and the filesystem has {} left",
        file.display(), Bytes(*missing), Bytes(*free)
    )]
    NoRoomBelow {
        device: String,
        /// The file that the device shows.
        file: PathBuf,
        /// Bytes of the file that no block was allocated for so far.
        missing: u64,
        /// Bytes.
        free: u64,
    },
    #[error("{device} cannot be discarded: {source}")]
    NotDiscarded { device: String, source: io::Error },
    /// It does not answer, or not without errors.
    #[error("{device} cannot be read: {source}")]
    NoAnswer { device: String, source: io::Error },
    /// Somebody else has written to it since the run has it. The run must not write to it again.
    #[error("{0}")]
    ForeignWrite(Box<ForeignWrite>),
}

/// A write of somebody else's to a device of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignWrite {
    /// A description in one line.
    pub device: String,
    /// The trial that had ended when it happened; none where none had begun yet.
    pub after: Option<String>,
    /// The evidence: counters, and the positions of different bytes.
    pub found: String,
}

impl fmt::Display for ForeignWrite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignWrite { device, after, found } = self;
        let when = match after {
            Some(trial) => format!("after {trial}"),
            None => "before the first trial".to_owned(),
        };
        write!(
            formatter,
            "{device} was written to by another program {when}: {found}; this run does not write to it any more"
        )
    }
}

/// How sure it is that something is on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupancy {
    /// Nothing is on it: only the name given is wrong.
    Blank,
    /// Nothing was found, but not all was looked at, or it is a part of something.
    Doubtful,
    Full,
}

/// A device with something on it, and the names by which the user may give it up.
#[derive(Debug)]
pub struct SignedDevice {
    /// A description in one line.
    pub device: String,
    /// The identity that the user gave, if any.
    pub given: Option<String>,
    /// How sure it is that something is on it.
    pub state: Occupancy,
    /// Its content, one line per item.
    pub marks: Vec<String>,
    /// Every name that would be accepted, best first.
    pub identity: DeviceIdentity,
}

impl fmt::Display for SignedDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.given {
            Some(given) => write!(formatter, "`{given}` is not the identity of {}", self.device)?,
            None if self.state == Occupancy::Doubtful => {
                write!(formatter, "{} is not known to be empty", self.device)?;
            }
            None => write!(formatter, "{} is not empty", self.device)?,
        }
        match self.state {
            Occupancy::Blank => {}
            Occupancy::Doubtful => write!(formatter, "; it is, or has:")?,
            Occupancy::Full => write!(formatter, "; it bears:")?,
        }
        self.marks.iter().try_for_each(|mark| write!(formatter, "\n  {mark}"))
    }
}

impl Refusal {
    pub(super) fn device_changed(device: &BlockDevice, change: impl Into<String>) -> Self {
        Refusal::Changed { device: device.describe_for_people(), change: change.into() }
    }

    /// The identity that, given as `--erase IDENTITY` or typed, would lift this refusal.
    pub fn erase_identity(&self) -> Option<&str> {
        match self {
            Refusal::Signed(signed) if signed.state != Occupancy::Blank => signed.identity.preferred(),
            _ => None,
        }
    }
}

impl Hinted for Refusal {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Refusal::Inspect(InspectError::Missing { .. }) => {
                "`lsblk -o PATH,SIZE,MODEL,SERIAL,FSTYPE,MOUNTPOINTS` lists all devices".to_owned()
            }
            Refusal::Inspect(InspectError::NotBlock { kind: "a regular file", .. }) => {
                "for a scratch image give its size instead: --device image:4GiB".to_owned()
            }
            Refusal::Mounted { point, .. } => {
                format!("if it may be erased, unmount it first: umount {}", quoted(&point.to_string_lossy()))
            }
            Refusal::Swap { part, .. } => {
                format!("if it may be erased, take it out of use first: swapoff {}", quoted(part))
            }
            Refusal::SwapHidden { .. } => "`swapon --show` lists all swap areas: take that file out of use first (swapoff), or name a device that stands on no file".to_owned(),
            Refusal::Held { part, holder, .. } if holder.starts_with("the program ") => {
                format!("if it may be erased, end that program first; `fuser -v {}` shows it", quoted(part))
            }
            Refusal::Held { .. } => "if it may be erased, take that apart first; `lsblk` and `losetup --list` show what stands on it".to_owned(),
            Refusal::NodeElsewhere { name, number, .. } => {
                format!("make it: mknod /dev/{name} b {} {}", number.major, number.minor)
            }
            Refusal::Taken { .. } => "wait for its end, or name another device".to_owned(),
            Refusal::Hidden { .. } => NEEDS_ROOT.to_owned(),
            Refusal::LoopOverDevice { backing, .. } => format!("name that device itself: {backing}"),
            Refusal::SameDisk { other, .. } => {
                format!("a disk with two paths is used through multipath only; see `lsblk {other}`")
            }
            Refusal::Busy { device } => {
                let path = device.split(" (").next().unwrap_or(device);
                format!(
                    "find who holds it: `lsblk {path}`, `fuser -v {path}`; it may also be mounted in a container"
                )
            }
            Refusal::CannotOpen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                NEEDS_ROOT.to_owned()
            }
            Refusal::System { .. } => "fsverdict never writes to it; name another disk, or use a scratch image: --device image:4GiB".to_owned(),
            Refusal::Unknown { source, .. } => return source.hint(),
            Refusal::Signed(signed) if signed.state == Occupancy::Blank => "it is empty: omit --erase".to_owned(),
            Refusal::Signed(signed) => return signed.hint(),
            Refusal::Changed { .. } => "check the device, then start the run again".to_owned(),
            Refusal::ForeignWrite(_) => FOREIGN_WRITE.to_owned(),
            Refusal::NoAnswer { .. } | Refusal::NotDiscarded { .. } => "`dmesg` shows the kernel's messages about it; check its cable, its power supply and the devices below it".to_owned(),
            Refusal::NoRoomBelow { file, .. } => format!(
                "make room on the filesystem of {}, or allocate the file whole: fallocate -l SIZE FILE",
                file.display()
            ),
            Refusal::ReadOnly { .. } => {
                "a write-protect switch, or `blockdev --setro`? `lsblk -o PATH,RO` shows it".to_owned()
            }
            Refusal::TooSmall { .. } => "take a larger device, or a smaller --scale".to_owned(),
            Refusal::Inspect(InspectError::NotBlock { .. }) => {
                "name a block device as lsblk(8) lists it, or image:SIZE for a scratch image".to_owned()
            }
            Refusal::Inspect(_) | Refusal::TableUnreadable { .. } | Refusal::CannotOpen { .. } => return None,
        };
        Some(hint)
    }

    fn reason(&self) -> Reason {
        let hint = self.hint().unwrap_or_default();
        match self {
            // A program that is missing says so itself.
            Refusal::Unknown { source: SignatureError::Tool(tool), .. } => {
                Reason::new(self, tool.hint().unwrap_or_default()).and_hint(hint)
            }
            other => Reason::new(other, hint),
        }
    }
}

impl SignedDevice {
    fn hint(&self) -> Option<String> {
        let (kind, name) = self.identity.names().next()?;
        Some(format!(
            "if everything on it may be erased for good, name it: --erase {} (its {kind})",
            quoted(name)
        ))
    }
}
