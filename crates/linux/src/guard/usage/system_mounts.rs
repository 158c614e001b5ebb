//! The mounts of the running system, and the devices that a mount stands on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::host::block_device::{BlockDevice, DeviceNumber, number_by_name, number_of, whole_of};
use crate::host::procfs::{Mount, read_mounts};
use crate::host::root::{Root, names_in};

/// Mount points of the system's disk: a device mounted at one of them is refused as such.
const SYSTEM_POINTS: [&str; 11] =
    ["/", "/boot", "/boot/efi", "/efi", "/usr", "/home", "/var", "/etc", "/opt", "/root", "/srv"];

pub(super) fn is_system(mount: &Mount) -> bool {
    SYSTEM_POINTS.iter().any(|point| mount.target == Path::new(point))
}

/// The devices a mount stands on directly: its number, those its source names (btrfs has no number of its own), and
/// the other members of the same btrfs.
pub(super) fn numbers_of(root: &Root, mount: &Mount) -> BTreeSet<DeviceNumber> {
    let mut numbers = BTreeSet::new();
    if mount.device.0 != 0 {
        numbers.insert(DeviceNumber { major: mount.device.0, minor: mount.device.1 });
    }
    // bcachefs names all its members, with colons between; a device path may hold colons itself.
    let source = mount.source.to_string_lossy();
    for source in std::iter::once(&*source).chain(source.split(':')).filter(|source| source.starts_with('/'))
    {
        numbers.extend(number_of(root, &root.absolute(Path::new(source))));
    }
    if mount.filesystem == "btrfs" {
        for uuid in names_in(&root.path("sys/fs/btrfs")) {
            let members: BTreeSet<DeviceNumber> =
                names_in(&root.path(format!("sys/fs/btrfs/{uuid}/devices")))
                    .iter()
                    .filter_map(|name| number_by_name(root, name))
                    .collect();
            if !members.is_disjoint(&numbers) {
                numbers.extend(members);
            }
        }
    }
    numbers
}

/// The devices of a mount, with all devices below them (members of dm and md devices).
pub(super) fn stack_below(root: &Root, mount: &Mount) -> BTreeSet<DeviceNumber> {
    let mut disks = BTreeSet::new();
    let mut open: Vec<DeviceNumber> = numbers_of(root, mount).into_iter().collect();
    while let Some(number) = open.pop() {
        if !disks.insert(number) {
            continue;
        }
        // A partition has no slaves of its own: they are those of the disk (an md device with partitions).
        let disk = whole_of(root, number).unwrap_or(number);
        for slave in names_in(&root.path(format!("sys/dev/block/{disk}/slaves"))) {
            open.extend(number_by_name(root, &slave));
        }
    }
    disks
}

/// A system mount on another partition of the disk that `device` is a partition of.
pub(in super::super) fn system_mount_beside(root: &Root, device: &BlockDevice) -> Option<PathBuf> {
    let whole = device.whole?;
    let mounts = read_mounts(root).ok()?;
    mounts.iter().filter(|mount| is_system(mount)).find_map(|mount| {
        let below = stack_below(root, mount);
        let beside = below.iter().any(|number| whole_of(root, *number) == Some(whole));
        beside.then(|| mount.target.clone())
    })
}
