//! Machines in use in every way the guard must see.

use super::{check, system_mount_beside};
use crate::host::guard::fake::FakeMachine;
use crate::host::guard::refusal::Refusal;
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
        assert_eq!(refusal.hint().unwrap(), "if it may be erased, unmount it first: umount '/media/my disk'");
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
    assert_eq!(refusal.hint().unwrap(), "if it may be erased, take it out of use first: swapoff /dev/sdb2");
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
        assert!(matches!(&refusal, Refusal::Held { holder, .. } if holder == "dm-1 (vg-data)"), "{refusal}");
    }
    accepted(&machine, "dm-1");
}

#[test]
fn loop_devices_hide_nothing_in_either_direction() {
    let machine = machine();
    machine.disk("loop0", "7:0", 100);
    machine.attribute("loop0", "loop/backing_file", "/dev/sdb1");
    let refused = refusal(&machine, "sdb");
    assert!(matches!(&refused, Refusal::Held { holder, .. } if holder.starts_with("loop0, ")), "{refused}");
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
