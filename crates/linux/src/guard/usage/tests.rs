//! Machines in use in every way the guard must see.

use super::{check_usage, system_mount_beside};
use crate::guard::fake::FakeMachine;
use fsverdict_text::Hinted;
use std::path::Path;

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

/// A machine's usage, and the expected message about each device; `None` if it is accepted.
type Case = (&'static str, fn(&FakeMachine), &'static [(&'static str, &'static str)]);

const CASES: &[Case] = &[
    ("an idle disk and its partitions", |_| {}, &[("sdb", ""), ("sdb1", ""), ("sdb2", "")]),
    (
        "the system disk by every name and through LVM",
        |_| {},
        &[
            ("sda", "is the system's disk"),
            ("sda1", "is the system's disk"),
            ("sda2", "is the system's disk: /dev/sda2 is mounted on /"),
            ("dm-0", "is the system's disk"),
        ],
    ),
    (
        "a mounted partition, its disk, and its sister",
        |machine| machine.mount("8:17", "/media/my\\040disk", "vfat", "/dev/sdb1"),
        &[
            ("sdb", "is in use: /dev/sdb1 is mounted on /media/my disk"),
            ("sdb1", "hint: if it may be erased, unmount it first: umount '/media/my disk'"),
            ("sdb2", ""),
        ],
    ),
    (
        "stale partitions of a mounted disk",
        |machine| machine.mount("8:16", "/data", "xfs", "/dev/sdb"),
        &[("sdb2", "is mounted on /data")],
    ),
    (
        "filesystems without a device number are known by their source; the second member is not in the mount table",
        |machine| {
            machine.link("mapper/data", "sdb1");
            machine.mount("0:45", "/data", "btrfs", "/dev/mapper/data");
            machine.btrfs("c0ffee", &["sdb1", "sdb2"]);
        },
        &[("sdb1", "is mounted on /data"), ("sdb2", "is mounted on /data")],
    ),
    (
        "members of a btrfs mounted elsewhere",
        |machine| machine.btrfs("c0ffee", &["sdb2"]),
        &[("sdb", "is held by the btrfs filesystem c0ffee")],
    ),
    (
        "every member of a bcachefs",
        |machine| machine.mount("0:46", "/data", "bcachefs", "/dev/sdb1:/dev/sdb2"),
        &[("sdb2", "is mounted on /data")],
    ),
    (
        "swap",
        |machine| machine.swap("/dev/sdb2"),
        &[
            ("sdb", "/dev/sdb2 is swap space"),
            ("sdb2", "hint: if it may be erased, take it out of use first: swapoff /dev/sdb2"),
            ("sdb1", ""),
        ],
    ),
    (
        "what device mapper or md stands on",
        |machine| {
            machine.disk("dm-1", "252:1", 100);
            machine.attribute("dm-1", "dm/name", "vg-data");
            machine.stands_on("dm-1", "sdb2");
        },
        &[("sdb", "is held by dm-1 (vg-data)"), ("sdb2", "is held by dm-1 (vg-data)"), ("dm-1", "")],
    ),
    (
        "loop devices hide nothing in either direction",
        |machine| {
            machine.disk("loop0", "7:0", 100);
            machine.attribute("loop0", "loop/backing_file", "/dev/sdb1");
        },
        &[
            ("sdb", "is held by the loop device loop0, "),
            ("loop0", "is a loop device over the block device /dev/sdb1"),
            ("loop0", "hint: name that device itself: /dev/sdb1"),
        ],
    ),
    (
        "a file that is swapped to, or that a filesystem is mounted from, below loop devices and their partitions",
        |machine| {
            for (device, number, file) in
                [("loop0", "7:0", "/a swap"), ("loop1", "7:1", "/image.erofs"), ("loop2", "7:2", "/other")]
            {
                machine.disk(device, number, 100);
                machine.attribute(device, "loop/backing_file", file);
                machine.write(file.trim_start_matches('/'), "");
            }
            machine.partition("loop0", "loop0p1", "259:0", 50);
            machine.swap("/a\\040swap");
            machine.swap("/other");
            machine.mount("0:50", "/erofs", "erofs", "/image.erofs");
        },
        &[
            ("loop2", "/other is swap space"),
            ("loop0", "/a swap is swap space"),
            ("loop0p1", "/a swap is swap space"),
            ("loop1", "/image.erofs is mounted on /erofs"),
            ("sdb", ""),
        ],
    ),
    (
        "a swap file that is not where the kernel says, for what stands on a file",
        |machine| {
            machine.disk("loop0", "7:0", 100);
            machine.attribute("loop0", "loop/backing_file", "/file");
            machine.write("file", "");
            machine.swap("/gone\\040(deleted)");
        },
        &[
            ("loop0", "/gone (deleted) is not found there"),
            ("loop0", "hint: `swapon --show` lists all swap areas"),
            ("sdb", ""),
        ],
    ),
    ("the same disk by a second path, both idle", two_paths, &[("sdc", "")]),
    (
        "the same disk by a second path, the first in use",
        |machine| {
            two_paths(machine);
            machine.mount("8:17", "/data", "xfs", "/dev/sdb1");
        },
        &[("sdc", "is the same disk as /dev/sdb (world-wide name naa.5000c500a1b2c3d4)")],
    ),
    (
        "an unreadable mount table",
        |machine| machine.write("proc/self/mountinfo", "gibberish\n"),
        &[("sdb", "cannot determine whether")],
    ),
];

fn two_paths(machine: &FakeMachine) {
    machine.disk("sdc", "8:32", 8_000_000);
    for disk in ["sdb", "sdc"] {
        machine.attribute(disk, "device/wwid", "naa.5000c500a1b2c3d4");
    }
}

#[test]
fn every_use_is_seen() {
    for (name, prepare, devices) in CASES {
        let machine = machine();
        prepare(&machine);
        for (device, expected) in *devices {
            let said = match check_usage(machine.root(), &machine.describe(device)) {
                Ok(_) => String::new(),
                Err(refusal) => refusal.reason().to_string(),
            };
            assert!(
                said.is_empty() == expected.is_empty() && said.contains(expected),
                "{name}, {device}: {said}"
            );
        }
    }
}

#[test]
fn a_free_partition_beside_the_system_is_accepted_with_a_caution() {
    let machine = machine();
    machine.partition("sda", "sda3", "8:3", 1000);
    check_usage(machine.root(), &machine.describe("sda3")).unwrap();
    let point = system_mount_beside(machine.root(), &machine.describe("sda3"));
    assert_eq!(point.as_deref(), Some(Path::new("/")));
    assert_eq!(system_mount_beside(machine.root(), &machine.describe("sdb1")), None);
}
