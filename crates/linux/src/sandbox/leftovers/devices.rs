//! The loop devices, mappings and mounts that a run left behind, and whether something still uses them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::Leftover;
use crate::host::block_device::{DeviceNumber, number_by_name, number_of, read_trimmed};
use crate::host::loop_device;
use crate::host::process_key::ProcessKey;
use crate::host::procfs::read_mounts;
use crate::host::root::{Root, names_in};

/// How the names of our dm devices begin.
const MAPPING_PREFIX: &str = "fsverdict-";

pub(super) fn our_loops(root: &Root, folders: &[PathBuf]) -> Vec<(DeviceNumber, Leftover)> {
    let mut loops = Vec::new();
    for name in names_in(&root.path("sys/class/block")) {
        let Some(backing) = read_trimmed(&root.path(format!("sys/class/block/{name}/loop/backing_file")))
        else {
            continue;
        };
        let path = root.path(format!("dev/{name}"));
        let ours = owner_of(root, &name).is_some()
            || folders.iter().any(|folder| Path::new(&backing).starts_with(folder));
        if let (Some(number), true, false) =
            (number_by_name(root, &name), ours, is_of_living_run(root, &name))
        {
            let sequence = sequence_of(root, &name);
            loops.push((number, Leftover::Loop { path, backing, sequence }));
        }
    }
    loops
}

/// The owner of a loop device of fsverdict, by its name in sysfs.
pub(super) fn owner_of(root: &Root, name: &str) -> Option<Option<ProcessKey>> {
    File::open(root.path(format!("dev/{name}"))).ok().and_then(loop_device::owner_of)
}

/// Whether a loop device belongs to a running run. It may have no open descriptor: after a trial the kernel takes time
/// to write its dirty pages to the file.
pub(super) fn is_of_living_run(root: &Root, name: &str) -> bool {
    owner_of(root, name).flatten().is_some_and(|process| process.is_alive(root))
}

pub(super) fn our_mappings(root: &Root) -> Vec<(DeviceNumber, Leftover)> {
    let mappings = names_in(&root.path("sys/class/block")).into_iter().filter_map(|device| {
        let name = read_trimmed(&root.path(format!("sys/class/block/{device}/dm/name")))?;
        let mut below = names_in(&root.path(format!("sys/class/block/{device}/slaves"))).into_iter();
        let ours = name.starts_with(MAPPING_PREFIX) && !below.any(|device| is_of_living_run(root, &device));
        ours.then_some(())?;
        let sequence = sequence_of(root, &device);
        Some((number_by_name(root, &device)?, Leftover::Mapping { name, sequence }))
    });
    mappings.collect()
}

/// Mounts of our devices and below our folders, uppermost first; and the devices so mounted.
pub(super) fn our_mounts(
    root: &Root,
    ours: &BTreeSet<DeviceNumber>,
    folders: &[PathBuf],
) -> (Vec<Leftover>, BTreeSet<DeviceNumber>) {
    let mut mounted = BTreeSet::new();
    let mut leftovers = Vec::new();
    // An unreadable table shows no leftovers; the others can still be removed.
    for mount in read_mounts(root).unwrap_or_default().into_iter().rev() {
        let by_source =
            mount.source.file_name().and_then(|name| number_by_name(root, &name.to_string_lossy()));
        let by_number = DeviceNumber { major: mount.device.0, minor: mount.device.1 };
        let of_ours = [Some(by_number), by_source].into_iter().flatten().find(|number| ours.contains(number));
        let within = folders.iter().any(|folder| mount.target.starts_with(folder) && mount.target != *folder);
        mounted.extend(of_ours);
        if of_ours.is_some() || within {
            leftovers.push(Leftover::Mount { point: mount.target, source: mount.source });
        }
    }
    (leftovers, mounted)
}

/// The block devices that some process has open.
pub(super) fn open_devices(root: &Root) -> BTreeSet<DeviceNumber> {
    let ourselves = std::process::id().to_string();
    let mut open = BTreeSet::new();
    for pid in names_in(&root.path("proc")) {
        if pid == ourselves || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let folder = root.path(format!("proc/{pid}/fd"));
        for descriptor in names_in(&folder) {
            let metadata = fs::metadata(folder.join(descriptor));
            if let Ok(metadata) = metadata
                && metadata.file_type().is_block_device()
            {
                open.insert(DeviceNumber::from_raw(metadata.rdev()));
            }
        }
    }
    open
}

pub(super) fn has_holders(root: &Root, number: DeviceNumber) -> bool {
    let holders = names_in(&root.path(format!("sys/dev/block/{number}/holders")));
    // Held by a mapping of ours that is undone before it; by anybody else's, it stays.
    !holders.is_empty()
        && holders.iter().all(|holder| {
            read_trimmed(&root.path(format!("sys/class/block/{holder}/dm/name")))
                .is_some_and(|name| name.starts_with(MAPPING_PREFIX))
        })
}

/// Whether it is neither mounted nor claimed in any mount namespace.
pub(super) fn can_be_claimed(root: &Root, number: DeviceNumber) -> bool {
    let folder = root.path(format!("sys/dev/block/{number}")).canonicalize().unwrap_or_default();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Without udev, a mapping has its node only under its own name.
    let mapped = read_trimmed(&folder.join("dm/name")).map(|name| root.path(format!("dev/mapper/{name}")));
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut nodes = std::iter::once(root.path(format!("dev/{name}"))).chain(mapped);
    nodes.any(|node| {
        number_of(root, &node) == Some(number) && rustix::fs::open(&node, flags, Mode::empty()).is_ok()
    })
}

pub(super) fn sequence_of(root: &Root, name: &str) -> Option<u64> {
    read_trimmed(&root.path(format!("sys/class/block/{name}/diskseq")))?.parse().ok()
}
