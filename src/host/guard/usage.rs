//! Who uses a device, from the kernel's tables alone: mounts, swap, devices and filesystems standing on it, programs.
//!
//! Mounts of other mount namespaces are not in these tables; the exclusive open that follows fails for those.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::refusal::Refusal;
use crate::host::block_device::{BlockDevice, DeviceNumber, number_of, read_trimmed};
use crate::host::identity::NameKind;
use crate::host::procfs::{Mount, mounts, unescape};
use crate::host::root::Root;

/// Mount points whose device is called the system's disk.
const SYSTEM_POINTS: [&str; 11] =
    ["/", "/boot", "/boot/efi", "/efi", "/usr", "/home", "/var", "/etc", "/opt", "/root", "/srv"];

/// Refuses a device that is used, or by whose writing something used would be overwritten.
pub(super) fn check(root: &Root, device: &BlockDevice) -> Result<(), Refusal> {
    let unreadable = |source| Refusal::TableUnreadable { device: device.describe_for_people(), source };
    let mounts = mounts(root).map_err(|error| unreadable(io::Error::other(error)))?;
    let parts = parts(root, device);
    check_mounts(root, device, &parts, &mounts)?;
    check_swap(root, device, &parts)?;
    check_holders(root, device, &parts)?;
    check_loops(root, device, &parts)?;
    check_writers(root, device, &parts)?;
    check_other_paths(root, device, &mounts)
}

/// A system mount on another partition of the disk that `device` is a partition of.
pub(super) fn system_mount_beside(root: &Root, device: &BlockDevice) -> Option<PathBuf> {
    let whole = device.whole?;
    let mounts = mounts(root).ok()?;
    mounts.iter().filter(|mount| is_system(mount)).find_map(|mount| {
        let below = stack_below(root, mount);
        let beside = below.iter().any(|number| whole_of(root, *number) == Some(whole));
        beside.then(|| mount.target.clone())
    })
}

/// The device, its partitions, and the disk it is a partition of: all the numbers under which its bytes are reached.
fn parts(root: &Root, device: &BlockDevice) -> Vec<(String, DeviceNumber)> {
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
    let table = match fs::read_to_string(root.path("proc/swaps")) {
        Ok(table) => table,
        // A kernel without swap has no such table.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Refusal::TableUnreadable { device: device.describe_for_people(), source }),
    };
    for line in table.lines().skip(1) {
        let path = path_from(line.split_whitespace().next().unwrap_or_default());
        let part = number_of(root, &root.absolute(&path)).and_then(|number| part_with(parts, number));
        if let Some(part) = part {
            return Err(Refusal::Swap { device: device.describe_for_people(), part });
        }
    }
    Ok(())
}

/// Device-mapper, md and bcache devices are listed as holders in sysfs; btrfs lists the devices of what is mounted.
fn check_holders(root: &Root, device: &BlockDevice, parts: &[(String, DeviceNumber)]) -> Result<(), Refusal> {
    let held = |part: String, holder: String| {
        Err(Refusal::Held { device: device.describe_for_people(), part, holder })
    };
    for (name, number) in parts {
        if let Some(holder) =
            names_in(&root.path(format!("sys/dev/block/{number}/holders"))).into_iter().next()
        {
            let mapped = read_trimmed(&root.path(format!("sys/class/block/{holder}/dm/name")));
            let holder = mapped.map_or(holder.clone(), |mapped| format!("{holder} ({mapped})"));
            return held(format!("/dev/{name}"), holder);
        }
    }
    for uuid in names_in(&root.path("sys/fs/btrfs")) {
        for member in names_in(&root.path(format!("sys/fs/btrfs/{uuid}/devices"))) {
            let number = number_by_name(root, &member);
            if let Some(part) = number.and_then(|number| part_with(parts, number)) {
                return held(part, format!("the btrfs filesystem {uuid}"));
            }
        }
    }
    Ok(())
}

/// A loop device neither holds nor excludes what it stands on, so both directions are looked at here.
fn check_loops(root: &Root, device: &BlockDevice, parts: &[(String, DeviceNumber)]) -> Result<(), Refusal> {
    for name in names_in(&root.path("sys/class/block")) {
        let Some(backing) = read_trimmed(&root.path(format!("sys/class/block/{name}/loop/backing_file")))
        else {
            continue;
        };
        let Some(below) = number_of(root, &root.absolute(Path::new(&backing))) else { continue };
        if number_by_name(root, &name).is_some_and(|number| part_with(parts, number).is_some()) {
            return Err(Refusal::LoopOverDevice { device: device.describe_for_people(), backing });
        }
        if let Some(part) = part_with(parts, below) {
            return Err(Refusal::Held { device: device.describe_for_people(), part, holder: name });
        }
    }
    Ok(())
}

/// Programs that have the device open for writing without claiming it, as a virtual machine or a database may.
///
/// One that lets go within a moment is none of these: a child of any program, ours included, holds copies of all its
/// parent's descriptors between its fork and its exec.
fn check_writers(root: &Root, device: &BlockDevice, parts: &[(String, DeviceNumber)]) -> Result<(), Refusal> {
    let found = patiently(|| match writer(root, parts) {
        Some(found) => Err(found),
        None => Ok(()),
    });
    found.map_err(|(part, holder)| Refusal::Held { device: device.describe_for_people(), part, holder })
}

/// Tries again for half a second before it gives up.
pub(super) fn patiently<T, E>(mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 0..10 {
        if let Ok(value) = attempt() {
            return Ok(value);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    attempt()
}

/// The part that some program has open for writing, and which program.
fn writer(root: &Root, parts: &[(String, DeviceNumber)]) -> Option<(String, String)> {
    let ours = std::process::id().to_string();
    for pid in names_in(&root.path("proc")) {
        if pid == ours || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let process = root.path(format!("proc/{pid}"));
        for descriptor in names_in(&process.join("fd")) {
            let Ok(metadata) = fs::metadata(process.join("fd").join(&descriptor)) else { continue };
            if !metadata.file_type().is_block_device() {
                continue;
            }
            let part = part_with(parts, DeviceNumber::from_raw(metadata.rdev()));
            if let Some(part) = part.filter(|_| is_open_for_writing(&process, &descriptor)) {
                let program = read_trimmed(&process.join("comm")).unwrap_or_default();
                let holder = format!("the program {program} (process {pid}), which has it open for writing");
                return Some((part, holder));
            }
        }
    }
    None
}

fn is_open_for_writing(process: &Path, descriptor: &str) -> bool {
    let information = fs::read_to_string(process.join("fdinfo").join(descriptor)).unwrap_or_default();
    let flags = information.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    // The two lowest bits are the access mode: 1 write, 2 both. Unknown counts as writing.
    flags.is_none_or(|flags| flags & 3 != 0)
}

/// The same hardware by another path (two cables, no multipath set up): its use does not show under this name.
fn check_other_paths(root: &Root, device: &BlockDevice, mounts: &[Mount]) -> Result<(), Refusal> {
    let disk = match device.whole {
        None => device.clone(),
        Some(whole) => BlockDevice::describe(root, &device.given, device.path.clone(), whole)?,
    };
    let wide: Vec<&str> =
        disk.hardware.names().filter(|(kind, _)| *kind == NameKind::Wwn).map(|(_, name)| name).collect();
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
        let parts = parts(root, &other);
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

fn is_system(mount: &Mount) -> bool {
    SYSTEM_POINTS.iter().any(|point| mount.target == Path::new(point))
}

/// The devices a mount stands on directly: its number, those its source names (btrfs has no number of its own), and
/// the other members of the same btrfs.
fn numbers_of(root: &Root, mount: &Mount) -> BTreeSet<DeviceNumber> {
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

/// The devices a mount stands on, with all those below (what dm and md devices are made of).
fn stack_below(root: &Root, mount: &Mount) -> BTreeSet<DeviceNumber> {
    let mut found = BTreeSet::new();
    let mut open: Vec<DeviceNumber> = numbers_of(root, mount).into_iter().collect();
    while let Some(number) = open.pop() {
        if !found.insert(number) {
            continue;
        }
        // A partition has no slaves of its own: they are those of the disk (an md device with partitions).
        let disk = whole_of(root, number).unwrap_or(number);
        for slave in names_in(&root.path(format!("sys/dev/block/{disk}/slaves"))) {
            open.extend(number_by_name(root, &slave));
        }
    }
    found
}

fn number_by_name(root: &Root, name: &str) -> Option<DeviceNumber> {
    DeviceNumber::parse(&read_trimmed(&root.path(format!("sys/class/block/{name}/dev")))?)
}

fn whole_of(root: &Root, number: DeviceNumber) -> Option<DeviceNumber> {
    let folder = root.path(format!("sys/dev/block/{number}")).canonicalize().ok()?;
    if !folder.join("partition").is_file() {
        return None;
    }
    DeviceNumber::parse(&fs::read_to_string(folder.parent()?.join("dev")).ok()?)
}

fn name_of(root: &Root, number: DeviceNumber) -> String {
    let folder = root.path(format!("sys/dev/block/{number}")).canonicalize().unwrap_or_default();
    folder.file_name().map(|name| name.to_string_lossy().replace('!', "/")).unwrap_or_default()
}

fn path_from(word: &str) -> PathBuf {
    OsString::from_vec(unescape(word.as_bytes())).into()
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::super::fake::FakeMachine;
    use super::super::refusal::Refusal;
    use super::{check, system_mount_beside};
    use std::path::Path;

    fn refusal(machine: &FakeMachine, name: &str) -> Refusal {
        check(machine.root(), &machine.describe(name)).unwrap_err()
    }

    fn accepted(machine: &FakeMachine, name: &str) {
        check(machine.root(), &machine.describe(name)).unwrap();
    }

    /// sda: the system (sda1 /boot, sda2 → LVM → /), sdb: free, with two partitions.
    fn machine() -> FakeMachine {
        let machine = FakeMachine::new();
        for (disk, number, first, second) in [("sda", "8:0", "8:1", "8:2"), ("sdb", "8:16", "8:17", "8:18")] {
            machine.disk(disk, number, 8_000_000);
            machine.partition(disk, &format!("{disk}1"), first, 2_000_000);
            machine.partition(disk, &format!("{disk}2"), second, 6_000_000);
        }
        machine.disk("dm-0", "252:0", 6_000_000);
        machine.attribute("dm-0", "dm/name", "vg-root");
        machine.stands_on("dm-0", "sda2");
        machine.mount("252:0", "/", "ext4", "/dev/mapper/vg-root");
        machine.mount("8:1", "/boot", "ext4", "/dev/sda1");
        machine
    }

    #[test]
    fn an_idle_disk_and_its_partitions_are_accepted() {
        let machine = machine();
        for name in ["sdb", "sdb1", "sdb2"] {
            accepted(&machine, name);
        }
    }

    #[test]
    fn the_system_disk_is_refused_by_every_name_and_through_lvm() {
        let machine = machine();
        for name in ["sda", "sda1", "sda2", "dm-0"] {
            let refusal = refusal(&machine, name);
            assert!(matches!(refusal, Refusal::System { .. }), "{name}: {refusal}");
        }
        let told = refusal(&machine, "sda2").to_string();
        assert!(told.contains("sda2") && told.ends_with("is mounted on /"), "{told}");
    }

    #[test]
    fn a_free_partition_beside_the_system_is_accepted_with_a_caution() {
        let machine = machine();
        machine.partition("sda", "sda3", "8:3", 1000);
        accepted(&machine, "sda3");
        let point = system_mount_beside(machine.root(), &machine.describe("sda3"));
        assert_eq!(point.as_deref(), Some(Path::new("/")));
        assert_eq!(system_mount_beside(machine.root(), &machine.describe("sdb1")), None);
    }

    #[test]
    fn a_mounted_partition_refuses_itself_and_its_disk_but_not_its_sister() {
        let machine = machine();
        machine.mount("8:17", "/media/my\\040disk", "vfat", "/dev/sdb1");
        for name in ["sdb", "sdb1"] {
            let refusal = refusal(&machine, name);
            assert!(matches!(refusal, Refusal::Mounted { .. }), "{refusal}");
            assert!(refusal.to_string().contains("/dev/sdb1 is mounted on /media/my disk"), "{refusal}");
            assert_eq!(
                refusal.hint().unwrap(),
                "if it may be erased, unmount it first: umount '/media/my disk'"
            );
        }
        accepted(&machine, "sdb2");
    }

    #[test]
    fn a_mounted_disk_refuses_its_stale_partitions() {
        let machine = machine();
        machine.mount("8:16", "/data", "xfs", "/dev/sdb");
        assert!(matches!(refusal(&machine, "sdb2"), Refusal::Mounted { .. }));
    }

    #[test]
    fn filesystems_without_a_device_number_are_known_by_their_source() {
        let machine = machine();
        machine.link("mapper/data", "sdb1");
        machine.mount("0:45", "/data", "btrfs", "/dev/mapper/data");
        machine.btrfs("c0ffee", &["sdb1", "sdb2"]);
        assert!(matches!(refusal(&machine, "sdb1"), Refusal::Mounted { .. }));
        // The second member is not named by the mount table.
        assert!(matches!(refusal(&machine, "sdb2"), Refusal::Mounted { .. }));
    }

    #[test]
    fn members_of_a_btrfs_mounted_elsewhere_are_held() {
        let machine = machine();
        machine.btrfs("c0ffee", &["sdb2"]);
        let refusal = refusal(&machine, "sdb");
        assert!(matches!(&refusal, Refusal::Held { holder, .. } if holder.contains("c0ffee")), "{refusal}");
    }

    #[test]
    fn every_member_of_a_bcachefs_is_mounted() {
        let machine = machine();
        machine.mount("0:46", "/data", "bcachefs", "/dev/sdb1:/dev/sdb2");
        assert!(matches!(refusal(&machine, "sdb2"), Refusal::Mounted { .. }));
    }

    #[test]
    fn swap_is_refused() {
        let machine = machine();
        machine.swap("/dev/sdb2");
        let refusal = refusal(&machine, "sdb");
        assert!(matches!(&refusal, Refusal::Swap { part, .. } if part == "/dev/sdb2"), "{refusal}");
        assert_eq!(
            refusal.hint().unwrap(),
            "if it may be erased, take it out of use first: swapoff /dev/sdb2"
        );
        accepted(&machine, "sdb1");
    }

    #[test]
    fn what_device_mapper_or_md_stands_on_is_refused() {
        let machine = machine();
        machine.disk("dm-1", "252:1", 100);
        machine.attribute("dm-1", "dm/name", "vg-data");
        machine.stands_on("dm-1", "sdb2");
        for name in ["sdb", "sdb2"] {
            let refusal = refusal(&machine, name);
            assert!(
                matches!(&refusal, Refusal::Held { holder, .. } if holder == "dm-1 (vg-data)"),
                "{refusal}"
            );
        }
        accepted(&machine, "dm-1");
    }

    #[test]
    fn loop_devices_hide_nothing_in_either_direction() {
        let machine = machine();
        machine.disk("loop0", "7:0", 100);
        machine.attribute("loop0", "loop/backing_file", "/dev/sdb1");
        let refused = refusal(&machine, "sdb");
        assert!(matches!(&refused, Refusal::Held { holder, .. } if holder == "loop0"), "{refused}");
        let refused = refusal(&machine, "loop0");
        assert!(matches!(&refused, Refusal::LoopOverDevice { .. }), "{refused}");
        assert_eq!(refused.hint().unwrap(), "name that device itself: /dev/sdb1");
    }

    #[test]
    fn the_same_disk_by_a_second_path_is_refused_when_the_first_is_used() {
        let machine = machine();
        machine.disk("sdc", "8:32", 8_000_000);
        for disk in ["sdb", "sdc"] {
            machine.attribute(disk, "device/wwid", "naa.5000c500a1b2c3d4");
        }
        accepted(&machine, "sdc");
        machine.mount("8:17", "/data", "xfs", "/dev/sdb1");
        let refusal = refusal(&machine, "sdc");
        assert!(matches!(&refusal, Refusal::SameDisk { other, .. } if other == "/dev/sdb"), "{refusal}");
    }

    #[test]
    fn an_unreadable_mount_table_refuses() {
        let machine = machine();
        machine.write("proc/self/mountinfo", "gibberish\n");
        assert!(matches!(refusal(&machine, "sdb"), Refusal::TableUnreadable { .. }));
    }
}
