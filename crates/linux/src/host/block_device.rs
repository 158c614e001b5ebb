//! Reads the kernel's description of a block device without opening it: number, size, partitions, hardware names.

use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::identity::{DeviceIdentity, DeviceNameKind};
use super::root::Root;
use fsverdict_text::Bytes;

/// Major and minor number: the kernel's identifier of the device, independent of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

impl DeviceNumber {
    /// From the number as stat(2) gives it.
    pub fn from_raw(raw: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// Why a path could not be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error("{} does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{} is {kind}, not a block device", path.display())]
    NotBlock { path: PathBuf, kind: &'static str },
    #[error("cannot inspect {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    pub given: PathBuf,
    /// The same without symbolic links.
    pub path: PathBuf,
    pub number: DeviceNumber,
    /// The kernel's name (`sda1`, `nvme0n1`, `loop3`, `dm-0`).
    pub name: String,
    pub sysfs: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Bytes of the smallest addressable unit; 512 where the kernel does not say.
    pub logical_block: u64,
    /// Whether the kernel refuses writes to it.
    pub read_only: bool,
    pub whole: Option<DeviceNumber>,
    /// Kernel names and numbers of the partitions on it, by name.
    pub partitions: Vec<(String, DeviceNumber)>,
    /// Grows with every disk the kernel meets (Linux 5.15 and later): another disk under the same name has another one.
    pub sequence: Option<u64>,
    /// Maker and model for display.
    pub model: Option<String>,
    /// The file behind a loop device, as the kernel names it (` (deleted)` included).
    pub backing_file: Option<String>,
    /// Every name under /dev/disk and /dev/mapper that leads here.
    pub links: Vec<PathBuf>,
    /// Names of the device or partition itself, which do not depend on its content. Best first.
    pub hardware: DeviceIdentity,
}

impl BlockDevice {
    /// Inspects the block device at `path`, symbolic links followed. Opens nothing.
    pub fn inspect(root: &Root, path: &Path) -> Result<Self, InspectError> {
        let unreadable = |source| InspectError::Unreadable { path: path.to_owned(), source };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(InspectError::Missing { path: path.to_owned() });
            }
            Err(error) => return Err(unreadable(error)),
        };
        if !metadata.file_type().is_block_device() {
            return Err(InspectError::NotBlock {
                path: path.to_owned(),
                kind: kind_of(metadata.file_type()),
            });
        }
        let canonical = path.canonicalize().map_err(unreadable)?;
        let mut device = Self::describe(root, path, canonical, DeviceNumber::from_raw(metadata.rdev()))?;
        // A node may lie anywhere; the kernel's own is the one that trials find.
        let usual = root.path(format!("dev/{}", device.name));
        if !device.path.starts_with(root.path("dev")) && number_of(root, &usual) == Some(device.number) {
            device.path = usual;
        }
        Ok(device)
    }

    pub(crate) fn describe(
        root: &Root,
        given: &Path,
        path: PathBuf,
        number: DeviceNumber,
    ) -> Result<Self, InspectError> {
        let link = root.path(format!("sys/dev/block/{number}"));
        let sysfs =
            link.canonicalize().map_err(|source| InspectError::Unreadable { path: link.clone(), source })?;
        let attribute = |name: &str| read_trimmed(&sysfs.join(name)).filter(|text| !text.is_empty());
        let required = |name: &str| {
            attribute(name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| {
                InspectError::Unreadable {
                    path: sysfs.join(name),
                    source: io::Error::new(io::ErrorKind::InvalidData, "not a number"),
                }
            })
        };
        let whole = disk_above(&sysfs);
        let disk = whole.unwrap_or(&sysfs);
        let links = links_to(root, number);
        Ok(BlockDevice {
            given: given.to_owned(),
            path,
            number,
            name: kernel_name(&sysfs),
            size: required("size")?.saturating_mul(512),
            logical_block: read_trimmed(&disk.join("queue/logical_block_size"))
                .and_then(|text| text.parse().ok())
                .unwrap_or(512),
            read_only: required("ro")? != 0,
            whole: whole.and_then(number_in),
            partitions: partitions_of(&sysfs),
            sequence: read_trimmed(&disk.join("diskseq")).and_then(|text| text.parse().ok()),
            model: model_of(disk),
            backing_file: attribute("loop/backing_file"),
            hardware: hardware_names(&sysfs, disk, whole.is_some(), &links),
            links,
            sysfs,
        })
    }

    /// A description in one line: path, model, size.
    pub fn describe_for_people(&self) -> String {
        let file = self.backing_file.as_deref().map(|file| format!("a loop device over {file}"));
        let model = self.model.clone().or(file).map(|model| format!("{model}, ")).unwrap_or_default();
        format!("{} ({model}{})", self.path.display(), self.bytes())
    }

    /// The size as people write sizes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.size)
    }
}

/// The text of an attribute of sysfs, without its final white space and zero bytes; `None` when there is none.
pub(crate) fn read_trimmed(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&text).trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

/// The number of the device at a path: a device node, or (in a fake tree) any file with the kernel's name of a device.
pub(crate) fn number_of(root: &Root, path: &Path) -> Option<DeviceNumber> {
    let path = path.canonicalize().ok()?;
    let metadata = std::fs::metadata(&path).ok()?;
    if metadata.file_type().is_block_device() {
        return Some(DeviceNumber::from_raw(metadata.rdev()));
    }
    if !path.starts_with(root.path("dev")) {
        return None;
    }
    number_by_name(root, &path.file_name()?.to_string_lossy())
}

/// The number of the device the kernel has this name for, as `/sys/class/block` spells it.
pub(crate) fn number_by_name(root: &Root, name: &str) -> Option<DeviceNumber> {
    number_in(&root.path(format!("sys/class/block/{name}")))
}

/// The number of the disk that this device is a partition of; none where it is none.
pub fn whole_of(root: &Root, number: DeviceNumber) -> Option<DeviceNumber> {
    let sysfs = root.path(format!("sys/dev/block/{number}")).canonicalize().ok()?;
    number_in(disk_above(&sysfs)?)
}

/// In sysfs a folder with a file `partition` is a partition; its parent is the disk.
fn disk_above(sysfs: &Path) -> Option<&Path> {
    if sysfs.join("partition").is_file() { sysfs.parent() } else { None }
}

fn number_in(sysfs: &Path) -> Option<DeviceNumber> {
    DeviceNumber::parse(&read_trimmed(&sysfs.join("dev"))?)
}

fn kind_of(kind: std::fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_file() {
        "a regular file"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "a pipe or socket"
    }
}

/// sysfs writes `!` where the kernel's name has `/`.
pub fn kernel_name(sysfs: &Path) -> String {
    sysfs.file_name().map(|name| name.to_string_lossy().replace('!', "/")).unwrap_or_default()
}

fn partitions_of(sysfs: &Path) -> Vec<(String, DeviceNumber)> {
    let Ok(entries) = std::fs::read_dir(sysfs) else { return Vec::new() };
    let mut partitions: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| folder.join("partition").is_file())
        .filter_map(|folder| Some((kernel_name(&folder), number_in(&folder)?)))
        .collect();
    partitions.sort();
    partitions
}

fn model_of(disk: &Path) -> Option<String> {
    let words: Vec<String> = ["device/vendor", "device/model"]
        .iter()
        .filter_map(|name| read_trimmed(&disk.join(name)))
        // virtio gives a PCI number here, which is useless as a name.
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty() && !text.starts_with("0x"))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn links_to(root: &Root, number: DeviceNumber) -> Vec<PathBuf> {
    let mut folders = vec![root.path("dev/mapper")];
    if let Ok(entries) = std::fs::read_dir(root.path("dev/disk")) {
        folders.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut links: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| number_of(root, path) == Some(number))
        .collect();
    links.sort();
    links
}

fn hardware_names(sysfs: &Path, disk: &Path, is_partition: bool, links: &[PathBuf]) -> DeviceIdentity {
    let mut identity = DeviceIdentity::default();
    let in_folder = |folder: &str| {
        let folder = folder.to_owned();
        links.iter().filter(move |link| link.parent().is_some_and(|parent| parent.ends_with(&folder)))
    };
    for link in in_folder("disk/by-id") {
        if let Some(name) = link.file_name() {
            identity.add_name(DeviceNameKind::ById, &name.to_string_lossy());
        }
    }
    for link in in_folder("disk/by-partuuid") {
        if let Some(name) = link.file_name() {
            identity.add_name(DeviceNameKind::PartitionUuid, &name.to_string_lossy());
        }
    }
    // The names of a disk do not say which of its partitions is meant.
    if !is_partition {
        for attribute in ["wwid", "device/wwid"] {
            identity.add_if_some(DeviceNameKind::Wwn, read_trimmed(&disk.join(attribute)));
        }
        for attribute in ["serial", "device/serial"] {
            identity.add_if_some(DeviceNameKind::Serial, read_trimmed(&disk.join(attribute)));
        }
        identity.add_if_some(DeviceNameKind::Serial, scsi_serial(disk));
        identity.add_if_some(DeviceNameKind::MapperUuid, read_trimmed(&sysfs.join("dm/uuid")));
        identity.add_if_some(DeviceNameKind::BackingFile, read_trimmed(&sysfs.join("loop/backing_file")));
    }
    identity
}

/// The unit serial number page of a SCSI disk: a header of four bytes, then the text.
fn scsi_serial(disk: &Path) -> Option<String> {
    let page = std::fs::read(disk.join("device/vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?)
        .trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .to_owned();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{BlockDevice, DeviceNumber, InspectError};
    use crate::guard::fake::FakeMachine;
    use crate::host::root::Root;
    use std::path::Path;

    #[test]
    fn a_disk_is_described_with_all_its_names() {
        let machine = FakeMachine::new();
        machine.disk("sdb", "8:16", 2_000_000);
        machine.attribute("sdb", "device/vendor", "Acme    ");
        machine.attribute("sdb", "device/model", "Spinner 3000 ");
        machine.attribute("sdb", "device/wwid", "naa.5000c500a1b2c3d4");
        machine.attribute("sdb", "device/vpd_pg80", "\0\u{1}\0\u{8} ZX81ABCD");
        machine.attribute("sdb", "diskseq", "42");
        machine.link("disk/by-id/ata-Acme_Spinner_ZX81ABCD", "sdb");
        machine.link("disk/by-path/pci-0000:00:1f.2-ata-1", "sdb");
        machine.link("disk/by-id/ata-Other", "sda");
        machine.partition("sdb", "sdb1", "8:17", 1_000_000);
        let device = machine.describe("sdb");
        assert_eq!(device.number, DeviceNumber { major: 8, minor: 16 });
        assert_eq!((device.size, device.read_only, device.whole), (2_000_000 * 512, false, None));
        assert_eq!(device.model.as_deref(), Some("Acme Spinner 3000"));
        assert_eq!(device.sequence, Some(42));
        assert_eq!(device.partitions, [("sdb1".to_owned(), DeviceNumber { major: 8, minor: 17 })]);
        assert_eq!(device.links.len(), 2);
        for name in ["ata-Acme_Spinner_ZX81ABCD", "naa.5000c500a1b2c3d4", "ZX81ABCD"] {
            assert!(device.hardware.accepts(name), "{name}");
        }
        assert_eq!(device.hardware.preferred(), Some("ata-Acme_Spinner_ZX81ABCD"));
        assert_eq!(
            device.describe_for_people(),
            format!("{} (Acme Spinner 3000, 1.024 GB)", device.path.display())
        );
    }

    #[test]
    fn a_partition_does_not_answer_to_the_serial_of_its_disk() {
        let machine = FakeMachine::new();
        machine.disk("sdb", "8:16", 2_000_000);
        machine.attribute("sdb", "serial", "ZX81ABCD");
        machine.partition("sdb", "sdb1", "8:17", 1_000_000);
        machine.link("disk/by-partuuid/1234abcd-01", "sdb1");
        let partition = machine.describe("sdb1");
        assert_eq!(partition.whole, Some(DeviceNumber { major: 8, minor: 16 }));
        assert!(!partition.hardware.accepts("ZX81ABCD"));
        assert!(partition.hardware.accepts("1234abcd-01"));
    }

    #[test]
    fn other_things_are_called_what_they_are() {
        let root = Root::default();
        let folder = tempfile::tempdir().unwrap();
        let error = BlockDevice::inspect(&root, folder.path()).unwrap_err();
        assert!(matches!(error, InspectError::NotBlock { kind: "a directory", .. }), "{error}");
        let error = BlockDevice::inspect(&root, Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().contains("is a character device, not a block device"), "{error}");
        let error = BlockDevice::inspect(&root, &folder.path().join("none")).unwrap_err();
        assert!(matches!(error, InspectError::Missing { .. }), "{error}");
    }
}
