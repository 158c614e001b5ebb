//! Readers of `/sys/class/block`: a block device's counters, the devices below it, and its I/O schedulers.

mod bus;
mod stat;

pub use bus::bus_rate;
pub use stat::{DeviceStat, SECTOR, device_stat, is_in_flight};

use std::path::{Path, PathBuf};

use super::root::{ParserPosition, ReadError, Root};

/// The folder of a block device relative to the root; `name` as in `/proc/partitions` (`sda1`, `cciss/c0d0`).
pub fn device_folder(name: &str) -> PathBuf {
    // sysfs has no slashes in names: it writes an exclamation mark.
    PathBuf::from("sys/class/block").join(name.replace('/', "!"))
}

/// The disk of a partition; `None` for any other device.
pub fn partition_parent(root: &Root, name: &str) -> Option<String> {
    let folder = root.path(device_folder(name));
    if !folder.join("partition").exists() {
        return None;
    }
    // /sys/class/block/sda1 leads to /sys/devices/…/sda/sda1.
    let real = folder.canonicalize().ok()?;
    let parent = real.parent()?.file_name()?.to_str()?;
    Some(parent.replace('!', "/"))
}

/// The folder of the disk that a device is, or is a partition of: queue and hardware are the disk's.
pub(super) fn disk_folder(root: &Root, name: &str) -> PathBuf {
    device_folder(partition_parent(root, name).as_deref().unwrap_or(name))
}

/// The devices a device stands on in the end (below LUKS, RAID, LVM); itself when it stands on none.
pub fn bottom_devices(root: &Root, name: &str) -> Result<Vec<String>, ReadError> {
    let mut bottoms = Vec::new();
    let mut open = vec![name.to_owned()];
    while let Some(device) = open.pop() {
        let below = devices_below(root, &device)?;
        if below.is_empty() && !bottoms.contains(&device) {
            bottoms.push(device);
        }
        open.extend(below);
    }
    bottoms.sort();
    Ok(bottoms)
}

/// Whether a device reports a volatile write cache (`queue/write_cache`).
pub fn has_volatile_cache(root: &Root, name: &str) -> bool {
    let file = disk_folder(root, name).join("queue/write_cache");
    root.text(file).is_ok_and(|text| text.trim() == "write back")
}

fn devices_below(root: &Root, name: &str) -> Result<Vec<String>, ReadError> {
    let folder = root.path(device_folder(name));
    let slaves = folder.join("slaves");
    let failed = |file: PathBuf| move |source| ReadError::Io { file, source };
    folder.metadata().map_err(failed(folder.clone()))?;
    if !slaves.exists() {
        return Ok(Vec::new()); // partitions have no such folder
    }
    let mut names = Vec::new();
    for entry in slaves.read_dir().map_err(failed(slaves.clone()))? {
        let entry = entry.map_err(failed(slaves.clone()))?;
        names.push(entry.file_name().to_string_lossy().replace('!', "/"));
    }
    Ok(names)
}

/// Whether the kernel keeps counters for a device; without, its numbers are all zero.
pub fn is_counted(root: &Root, name: &str) -> Result<bool, ReadError> {
    Ok(root.optional(disk_folder(root, name).join("queue/iostats"))?.as_deref() != Some("0"))
}

/// The I/O schedulers of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedulers {
    /// The one in use (the kernel puts it in brackets).
    pub current: String,
    /// All that could be chosen now.
    pub available: Vec<String>,
}

impl Schedulers {
    /// Those of a device, or of the disk a partition is on; `None` where it has no such setting.
    pub fn read_schedulers(root: &Root, name: &str) -> Result<Option<Schedulers>, ReadError> {
        let file = disk_folder(root, name).join("queue/scheduler");
        let text = root.optional(&file)?.filter(|text| !text.is_empty());
        text.map(|text| Schedulers::parse(&text, &root.path(&file))).transpose()
    }

    /// Reads the content of a `scheduler` file, e.g. `none [mq-deadline] kyber`; `file` is named in errors.
    fn parse(text: &str, file: &Path) -> Result<Schedulers, ReadError> {
        let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
        let available: Vec<String> = text.split_ascii_whitespace().map(plain).collect();
        let marked = text.split_ascii_whitespace().find(|word| word.starts_with('[') && word.ends_with(']'));
        let current = match (marked, available.as_slice()) {
            (Some(word), _) => plain(word),
            // Devices without a queue of requests (zram, dm on bios) say a bare `none`.
            (None, [only]) if only == "none" => only.clone(),
            (None, _) => {
                let place = ParserPosition { file, line: 1 };
                return Err(place.malformed("the I/O scheduler", "one name in brackets", text.trim_end()));
            }
        };
        Ok(Schedulers { current, available })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{Schedulers, bottom_devices, is_counted, partition_parent};
    use crate::host::root::{Root, fake_root};

    /// A disk with a partition, and LUKS on the partition; linked as sysfs links them.
    fn disk() -> (tempfile::TempDir, Root) {
        let (folder, root) = fake_root(&[
            ("sys/devices/pci/sda/queue/scheduler", "none [mq-deadline] kyber bfq\n"),
            ("sys/devices/pci/sda/queue/iostats", "0\n"),
            ("sys/devices/pci/sda/sda1/partition", "1\n"),
            ("sys/devices/virtual/dm-0/slaves/sda1", ""),
            ("sys/devices/virtual/dm-0/queue/scheduler", "none\n"),
            ("sys/devices/virtual/md0/slaves/dm-0", ""),
            ("sys/devices/virtual/md0/slaves/sda", ""),
            ("sys/devices/virtual/md0/queue/scheduler", "mq-deadline kyber\n"),
            ("sys/class/block/.keep", ""),
        ]);
        let class = root.path("sys/class/block");
        for (name, target) in
            [("sda", "pci/sda"), ("sda1", "pci/sda/sda1"), ("dm-0", "virtual/dm-0"), ("md0", "virtual/md0")]
        {
            symlink(format!("../../devices/{target}"), class.join(name)).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn a_partition_has_the_queue_of_its_disk() {
        let (_folder, root) = disk();
        assert_eq!(partition_parent(&root, "sda1").as_deref(), Some("sda"));
        assert_eq!(partition_parent(&root, "sda"), None);
        let schedulers = Schedulers::read_schedulers(&root, "sda1").unwrap().unwrap();
        assert_eq!(schedulers.current, "mq-deadline");
        assert_eq!(schedulers.available, ["none", "mq-deadline", "kyber", "bfq"]);
        assert_eq!(Schedulers::read_schedulers(&root, "dm-0").unwrap().unwrap().current, "none");
        assert_eq!(Schedulers::read_schedulers(&root, "sdz").unwrap(), None);
        let shown = Schedulers::read_schedulers(&root, "md0").unwrap_err().to_string();
        assert!(shown.contains("the I/O scheduler should be one name in brackets"), "{shown}");
        assert!(!is_counted(&root, "sda1").unwrap() && is_counted(&root, "md0").unwrap());
    }

    #[test]
    fn finds_the_bottom_of_a_stack() {
        let (_folder, root) = disk();
        assert_eq!(bottom_devices(&root, "dm-0").unwrap(), ["sda1"]);
        assert_eq!(bottom_devices(&root, "md0").unwrap(), ["sda", "sda1"]);
        assert_eq!(bottom_devices(&root, "sda").unwrap(), ["sda"]);
        assert!(bottom_devices(&root, "sdz").unwrap_err().is_absent());
    }
}
