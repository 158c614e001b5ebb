//! Finds the users of a device in the kernel's tables alone: mounts, swap, devices and filesystems stacked on it,
//! programs.
//!
//! Mounts of other mount namespaces are not in these tables; the exclusive open that follows fails for those.

mod system_mounts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::loops::{self, Base, Loop};
use super::refusal::Refusal;
use super::writers;
use crate::host::block_device::{
    BlockDevice, DeviceNumber, kernel_name, number_by_name, number_of, read_trimmed,
};
use crate::host::identity::DeviceNameKind;
use crate::host::procfs::{Mount, read_mounts, unescape};
use crate::host::root::{Root, names_in};
use system_mounts::{is_system, numbers_of, stack_below};

pub(super) use system_mounts::system_mount_beside;

/// Refuses a device that is in use, or that shares bytes with something in use.
///
/// Other names of the same bytes, and processes that write there, are visible only outside of sandboxes. Returns a
/// caution for the reader of the results, if any.
pub(super) fn check_usage(root: &Root, device: &BlockDevice) -> Result<Option<String>, Refusal> {
    check_claims(root, device)?;
    let unreadable = |source| Refusal::TableUnreadable { device: device.describe_for_people(), source };
    let mounts = read_mounts(root).map_err(|error| unreadable(io::Error::other(error)))?;
    let parts = device_and_partitions(root, device);
    let loops = loops::attached_loops(root).map_err(unreadable)?;
    check_loops(root, device, &parts, &loops, &mounts)?;
    let below = files_below(root, &loops, device);
    check_files(root, device, &below, &mounts)?;
    let devices = parts.into_iter().map(|(name, number)| (format!("/dev/{name}"), Base::Device(number)));
    let files = below.into_iter().map(|file| (format!("the file behind /dev/{}", device.name), file));
    writers::check_writers(root, device, &devices.chain(files).collect())
}

/// Refuses a device that is mounted, swap, or claimed by another device, as far as the kernel's tables say.
pub(super) fn check_claims(root: &Root, device: &BlockDevice) -> Result<(), Refusal> {
    let unreadable = |source| Refusal::TableUnreadable { device: device.describe_for_people(), source };
    let mounts = read_mounts(root).map_err(|error| unreadable(io::Error::other(error)))?;
    let parts = device_and_partitions(root, device);
    check_mounts(root, device, &parts, &mounts)?;
    check_swap(root, device, &parts)?;
    check_holders(root, device, &parts)?;
    check_other_paths(root, device, &mounts)
}

/// The device, its partitions, and the disk it is a partition of: all the numbers under which its bytes are reached.
pub(super) fn device_and_partitions(root: &Root, device: &BlockDevice) -> Vec<(String, DeviceNumber)> {
    let mut parts = vec![(device.name.clone(), device.number)];
    parts.extend(device.partitions.iter().cloned());
    if let Some(whole) = device.whole {
        parts.push((name_of(root, whole), whole));
    }
    parts
}

fn part_with(parts: &[(String, DeviceNumber)], number: DeviceNumber) -> Option<String> {
    parts.iter().find(|(_, part)| *part == number).map(|(name, _)| format!("/dev/{name}"))
}

fn check_mounts(
    root: &Root,
    device: &BlockDevice,
    parts: &[(String, DeviceNumber)],
    mounts: &[Mount],
) -> Result<(), Refusal> {
    let hit = |mount: &Mount, numbers: BTreeSet<DeviceNumber>| {
        let part = numbers.into_iter().find_map(|number| part_with(parts, number))?;
        Some((device.describe_for_people(), part, mount.target.clone()))
    };
    for mount in mounts.iter().filter(|mount| is_system(mount)) {
        if let Some((device, part, point)) = hit(mount, stack_below(root, mount)) {
            return Err(Refusal::System { device, part, point });
        }
    }
    for mount in mounts {
        if let Some((device, part, point)) = hit(mount, numbers_of(root, mount)) {
            return Err(Refusal::Mounted { device, part, point });
        }
    }
    Ok(())
}

fn check_swap(root: &Root, device: &BlockDevice, parts: &[(String, DeviceNumber)]) -> Result<(), Refusal> {
    for path in swaps_on(root, device)? {
        let part = number_of(root, &path).and_then(|number| part_with(parts, number));
        if let Some(part) = part {
            return Err(Refusal::Swap { device: device.describe_for_people(), part });
        }
    }
    Ok(())
}

/// The paths of swap areas, as the kernel reports them.
fn swaps_on(root: &Root, device: &BlockDevice) -> Result<Vec<PathBuf>, Refusal> {
    let table = match fs::read(root.path("proc/swaps")) {
        Ok(table) => table,
        // A kernel without swap has no such table.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Refusal::TableUnreadable { device: device.describe_for_people(), source }),
    };
    let first_words = table
        .split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(u8::is_ascii_whitespace).next().filter(|word| !word.is_empty()));
    Ok(first_words.map(|word| root.absolute(&PathBuf::from(OsString::from_vec(unescape(word))))).collect())
}

/// The files that contain a device's bytes, through loop devices and other stacked devices.
fn files_below(root: &Root, loops: &[Loop], device: &BlockDevice) -> Vec<Base> {
    let bases = loops::backing_ranges(root, loops, device.number).into_iter().map(|place| place.base);
    bases.filter(|base| matches!(base, Base::File(..))).collect()
}

/// The kernel swaps to a file, and some filesystems are mounted from one, without a descriptor that anybody could see; a
/// loop device over that file is excluded by neither. Its paths are many, its inode is one.
fn check_files(root: &Root, device: &BlockDevice, files: &[Base], mounts: &[Mount]) -> Result<(), Refusal> {
    if files.is_empty() {
        return Ok(());
    }
    for path in swaps_on(root, device)?.into_iter().filter(|path| number_of(root, path).is_none()) {
        let named = path.display().to_string();
        let matches = fs::metadata(&path).map(|found| files.contains(&Base::of_file(&found)));
        match matches {
            Ok(true) => return Err(Refusal::Swap { device: device.describe_for_people(), part: named }),
            Ok(false) if is_swapped_to(root, &path) => {}
            // It lost its name, or another file hides it, or it lies where we cannot look.
            _ => return Err(Refusal::SwapHidden { device: device.describe_for_people(), swap: named }),
        }
    }
    for mount in mounts.iter().filter(|mount| mount.source.is_absolute()) {
        let source = fs::metadata(root.absolute(&mount.source));
        if source.is_ok_and(|source| source.is_file() && files.contains(&Base::of_file(&source))) {
            return Err(Refusal::Mounted {
                device: device.describe_for_people(),
                part: mount.source.display().to_string(),
                point: mount.target.clone(),
            });
        }
    }
    Ok(())
}

/// Whether the file at a path is an active swap file, and not another in its place. fallocate(2) fails on an active
/// swap file before it examines the range (`vfs_fallocate` in fs/open.c); the range here is beyond any file's maximum.
fn is_swapped_to(root: &Root, path: &Path) -> bool {
    use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open};
    if *root != Root::default() {
        return true; // a made-up machine does not swap
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let Ok(file) = open(path, flags, Mode::empty()) else { return false };
    let answer = fallocate(&file, FallocateFlags::KEEP_SIZE, i64::MAX as u64, 1);
    answer == Err(rustix::io::Errno::TXTBSY)
}

/// Device-mapper, md and bcache devices are listed as holders in sysfs; btrfs lists the devices of mounted filesystems.
fn check_holders(root: &Root, device: &BlockDevice, parts: &[(String, DeviceNumber)]) -> Result<(), Refusal> {
    let held_by = |part: String, holder: String| {
        Err(Refusal::Held { device: device.describe_for_people(), part, holder })
    };
    for (name, number) in parts {
        if let Some(holder) =
            names_in(&root.path(format!("sys/dev/block/{number}/holders"))).into_iter().next()
        {
            let mapped = read_trimmed(&root.path(format!("sys/class/block/{holder}/dm/name")));
            let holder = mapped.map_or(holder.clone(), |mapped| format!("{holder} ({mapped})"));
            return held_by(format!("/dev/{name}"), holder);
        }
    }
    for uuid in names_in(&root.path("sys/fs/btrfs")) {
        for member in names_in(&root.path(format!("sys/fs/btrfs/{uuid}/devices"))) {
            let number = number_by_name(root, &member);
            if let Some(part) = number.and_then(|number| part_with(parts, number)) {
                return held_by(part, format!("the btrfs filesystem {uuid}"));
            }
        }
    }
    Ok(())
}

/// A loop device neither holds nor excludes its backing device, nor another loop device over the same bytes.
fn check_loops(
    root: &Root,
    device: &BlockDevice,
    parts: &[(String, DeviceNumber)],
    loops: &[Loop],
    mounts: &[Mount],
) -> Result<(), Refusal> {
    let below = loops.iter().find(|own| part_with(parts, own.number).is_some());
    if let Some(Loop { base: Base::Device(_), backing, .. }) = below {
        let backing = backing.clone();
        return Err(Refusal::LoopOverDevice { device: device.describe_for_people(), backing });
    }
    let Some(other) = loops::find_shared_use(root, loops, device, parts) else { return Ok(()) };
    let mounted = mounts.iter().find(|mount| numbers_of(root, mount).contains(&other.number));
    let mounted = mounted.map(|mount| format!(", mounted on {}", mount.target.display())).unwrap_or_default();
    let holder = format!(
        "the loop device {}, which maps the same bytes (backing: {}{mounted})",
        other.name, other.backing
    );
    Err(Refusal::Held { device: device.describe_for_people(), part: format!("/dev/{}", device.name), holder })
}

/// The same hardware by another path (two cables, no multipath configured): its use is not visible under this name.
fn check_other_paths(root: &Root, device: &BlockDevice, mounts: &[Mount]) -> Result<(), Refusal> {
    let disk = match device.whole {
        None => device.clone(),
        Some(whole) => BlockDevice::describe(root, &device.given, device.path.clone(), whole)?,
    };
    let wide: Vec<&str> = disk
        .hardware
        .names()
        .filter(|(kind, _)| *kind == DeviceNameKind::Wwn)
        .map(|(_, name)| name)
        .collect();
    if wide.is_empty() {
        return Ok(());
    }
    for name in names_in(&root.path("sys/class/block")) {
        let folder = root.path(format!("sys/class/block/{name}"));
        let wwid = ["wwid", "device/wwid"].iter().find_map(|file| read_trimmed(&folder.join(file)));
        let Some(wwid) = wwid.filter(|wwid| wide.contains(&wwid.trim())) else { continue };
        // The paths below a native NVMe multipath device are hidden: nothing can use them.
        let hidden = read_trimmed(&folder.join("hidden")).is_some_and(|text| text == "1");
        let Some(number) = number_by_name(root, &name).filter(|number| *number != disk.number && !hidden)
        else {
            continue;
        };
        let path = PathBuf::from(format!("/dev/{name}"));
        let other = BlockDevice::describe(root, &path, path.clone(), number)?;
        let parts = device_and_partitions(root, &other);
        let used = check_mounts(root, &other, &parts, mounts)
            .and_then(|()| check_swap(root, &other, &parts))
            .and_then(|()| check_holders(root, &other, &parts));
        if let Err(reason) = used {
            return Err(Refusal::SameDisk {
                device: device.describe_for_people(),
                other: path.display().to_string(),
                name: wwid,
                reason: reason.to_string(),
            });
        }
    }
    Ok(())
}

fn name_of(root: &Root, number: DeviceNumber) -> String {
    let folder = root.path(format!("sys/dev/block/{number}")).canonicalize().unwrap_or_default();
    kernel_name(&folder)
}
