//! Who a block device is, whose partition it is, what lies below it, and how a loop device is set.

use std::path::PathBuf;

use crate::host::root::{Place, ReadError, Root};

use super::{SECTOR, device_folder};

/// What identifies a block device. `None` where the device does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceIdentity {
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Whether its medium can be taken out.
    pub removable: Option<bool>,
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub revision: Option<String>,
    pub serial: Option<String>,
    /// World-wide identity.
    pub wwid: Option<String>,
}

/// Who this device is; a partition has maker and model of its disk, but its own size.
///
/// # Errors
/// When there is no such device, or what sysfs says of it cannot be understood.
pub fn identity(root: &Root, name: &str) -> Result<DeviceIdentity, ReadError> {
    let own = device_folder(name);
    let disk = partition_parent(root, name).map_or_else(|| own.clone(), |parent| device_folder(&parent));
    let size_file = own.join("size");
    let sectors: u64 = Place { file: &root.path(&size_file), line: 1 }
        .number("the size in sectors", root.text(&size_file)?.trim())?;
    let word =
        |relative: PathBuf| Ok::<_, ReadError>(root.optional(relative)?.filter(|text| !text.is_empty()));
    Ok(DeviceIdentity {
        name: name.to_owned(),
        size: sectors * SECTOR,
        read_only: word(own.join("ro"))?.as_deref() == Some("1"),
        removable: word(disk.join("removable"))?.map(|text| text == "1"),
        vendor: word(disk.join("device/vendor"))?,
        model: word(disk.join("device/model"))?,
        revision: word(disk.join("device/rev"))?.or(word(disk.join("device/firmware_rev"))?),
        // SCSI disks and NVMe controllers keep it below device, virtio disks beside it.
        serial: word(disk.join("device/serial"))?.or(word(disk.join("serial"))?),
        wwid: word(disk.join("wwid"))?.or(word(disk.join("device/wwid"))?),
    })
}

/// The disk of a partition; `None` for anything else.
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

/// The devices a device stands on in the end (below LUKS, RAID, LVM); itself when it stands on none.
///
/// # Errors
/// When there is no such device, or its folder cannot be read.
pub fn bottom_devices(root: &Root, name: &str) -> Result<Vec<String>, ReadError> {
    let mut bottoms = Vec::new();
    let mut open = vec![name.to_owned()];
    while let Some(device) = open.pop() {
        let below = below(root, &device)?;
        if below.is_empty() && !bottoms.contains(&device) {
            bottoms.push(device);
        }
        open.extend(below);
    }
    bottoms.sort();
    Ok(bottoms)
}

fn below(root: &Root, name: &str) -> Result<Vec<String>, ReadError> {
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

/// How a loop device is set, as the kernel says after the fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopSettings {
    /// The file it shows; ` (deleted)` is appended by the kernel where it has no name any more.
    pub backing_file: String,
    /// Whether it bypasses the page cache of the filesystem the file lies on.
    pub direct_io: bool,
    /// Whether it goes away by itself when its last user closes it.
    pub auto_clear: bool,
}

/// The settings of a loop device; `None` when it is not one, or shows no file.
///
/// # Errors
/// When they cannot be read.
pub fn loop_settings(root: &Root, name: &str) -> Result<Option<LoopSettings>, ReadError> {
    let folder = device_folder(name).join("loop");
    let Some(backing_file) = root.optional(folder.join("backing_file"))? else { return Ok(None) };
    let flag =
        |setting: &str| Ok::<_, ReadError>(root.optional(folder.join(setting))?.as_deref() == Some("1"));
    Ok(Some(LoopSettings { backing_file, direct_io: flag("dio")?, auto_clear: flag("autoclear")? }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{LoopSettings, bottom_devices, identity, loop_settings, partition_parent};
    use crate::host::root::{Root, fake_root};
    use crate::host::sysfs::queue_settings;

    /// A disk with a partition, and LUKS on the partition; linked as sysfs links them.
    fn disk() -> (tempfile::TempDir, Root) {
        let (folder, root) = fake_root(&[
            ("sys/devices/pci/sda/size", "2048\n"),
            ("sys/devices/pci/sda/ro", "0\n"),
            ("sys/devices/pci/sda/removable", "1\n"),
            ("sys/devices/pci/sda/queue/rotational", "1\n"),
            ("sys/devices/pci/sda/device/vendor", "ATA     \n"),
            ("sys/devices/pci/sda/device/model", "Fast Disk\n"),
            ("sys/devices/pci/sda/serial", "S123\n"),
            ("sys/devices/pci/sda/sda1/partition", "1\n"),
            ("sys/devices/pci/sda/sda1/size", "1024\n"),
            ("sys/devices/pci/sda/sda1/ro", "1\n"),
            ("sys/devices/virtual/dm-0/size", "1000\n"),
            ("sys/devices/virtual/dm-0/slaves/sda1", ""),
            ("sys/devices/virtual/md0/slaves/dm-0", ""),
            ("sys/devices/virtual/md0/slaves/sda", ""),
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
    fn a_partition_has_the_identity_and_queue_of_its_disk() {
        let (_folder, root) = disk();
        assert_eq!(partition_parent(&root, "sda1").as_deref(), Some("sda"));
        assert_eq!(partition_parent(&root, "sda"), None);
        let whole = identity(&root, "sda").unwrap();
        assert_eq!((whole.size, whole.read_only, whole.removable), (1 << 20, false, Some(true)));
        let part = identity(&root, "sda1").unwrap();
        assert_eq!((part.size, part.read_only), (1 << 19, true));
        assert_eq!(part.vendor.as_deref(), Some("ATA"));
        assert_eq!((part.model, part.serial), (Some("Fast Disk".to_owned()), Some("S123".to_owned())));
        assert_eq!(part.wwid, None);
        assert_eq!(queue_settings(&root, "sda1").unwrap().rotational, Some(true));
        assert!(identity(&root, "sdz").unwrap_err().is_absent());
    }

    #[test]
    fn finds_the_bottom_of_a_stack() {
        let (_folder, root) = disk();
        assert_eq!(bottom_devices(&root, "dm-0").unwrap(), ["sda1"]);
        assert_eq!(bottom_devices(&root, "md0").unwrap(), ["sda", "sda1"]);
        assert_eq!(bottom_devices(&root, "sda").unwrap(), ["sda"]);
        assert!(bottom_devices(&root, "sdz").unwrap_err().is_absent());
    }

    #[test]
    fn a_size_that_is_none_is_told() {
        let (_folder, root) = fake_root(&[("sys/class/block/sda/size", "big\n")]);
        let told = identity(&root, "sda").unwrap_err().to_string();
        assert!(told.ends_with("the size in sectors should be a whole number, but it is \"big\""), "{told}");
    }

    #[test]
    fn reads_back_the_settings_of_a_loop() {
        let (_folder, root) = fake_root(&[
            ("sys/class/block/loop3/loop/backing_file", "/var/tmp/scratch image\n"),
            ("sys/class/block/loop3/loop/dio", "1\n"),
            ("sys/class/block/loop3/loop/autoclear", "0\n"),
            ("sys/class/block/loop4/size", "0\n"),
        ]);
        let expected = LoopSettings {
            backing_file: "/var/tmp/scratch image".to_owned(),
            direct_io: true,
            auto_clear: false,
        };
        assert_eq!(loop_settings(&root, "loop3").unwrap(), Some(expected));
        assert_eq!(loop_settings(&root, "loop4").unwrap(), None);
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        for entry in std::fs::read_dir("/sys/class/block").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            // Other programs may remove a device meanwhile; what is there must be understood.
            match (identity(&root, &name), bottom_devices(&root, &name)) {
                (Err(error), _) | (_, Err(error)) => assert!(error.is_absent(), "{error}"),
                (Ok(_), Ok(bottoms)) => assert!(!bottoms.is_empty()),
            }
        }
    }
}
