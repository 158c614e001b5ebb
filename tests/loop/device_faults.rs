//! Devices that fail under native trials, and what a dry run says of devices that no run may have.

use std::fs::File;
use std::path::Path;

use crate::common::labs::device_faults::{Fault, faults_are_not_held_against_candidates};
use crate::common::{Disk, Place, not_run, tool};

const FAULTS: [Fault; 6] = [
    Fault::Errors,
    Fault::NoRoom,
    Fault::Truncated,
    Fault::TruncatedToNothing,
    Fault::Shrunk,
    Fault::Detached,
];

#[test]
fn loop_a_device_that_fails_is_not_held_against_a_candidate() {
    faults_are_not_held_against_candidates("native", &FAULTS, &["ext4", "xfs", "btrfs"]);
}

const PLAN: &str = r#"
title             = "Somewhere"
lab               = "native"
protocol          = { blocks = 1, timeout = "60s" }
matrix.filesystem = ["ext4"]
phase             = [{ name = "do", command = "true" }]
"#;

/// What is done to the device, whose mount point or the like is undone by what is returned; and what must be said of it.
type Member = (&'static str, fn(&Place, &Disk) -> Vec<Vec<String>>, &'static [&'static str]);

fn undo(argv: &[&str]) -> Vec<Vec<String>> {
    vec![argv.iter().map(|word| (*word).to_owned()).collect()]
}

const REFUSED: &[Member] = &[
    (
        "mounted",
        |place, disk| {
            let point = place.path().join("point");
            std::fs::create_dir(&point).unwrap();
            tool(&["mkfs.ext4", "-q", "-F", &disk.device]);
            tool(&["mount", &disk.device, point.to_str().unwrap()]);
            undo(&["umount", point.to_str().unwrap()])
        },
        &["is mounted on", "hint: if it may be erased, unmount it first"],
    ),
    (
        "swap",
        |_, disk| {
            tool(&["mkswap", &disk.device]);
            tool(&["swapon", &disk.device]);
            undo(&["swapoff", &disk.device])
        },
        &["is swap space"],
    ),
    (
        "read-only",
        |_, disk| {
            tool(&["blockdev", "--setro", &disk.device]);
            undo(&["blockdev", "--setrw", &disk.device])
        },
        &["is read-only"],
    ),
    (
        "another loop device over the same file",
        |_, disk| {
            let other = tool(&["losetup", "--find", "--show", disk.file.to_str().unwrap()]);
            undo(&["losetup", "--detach", &other])
        },
        &["which maps the same bytes"],
    ),
    (
        "not its own identity missing, but named",
        |_, disk| {
            tool(&["mkfs.ext4", "-q", "-F", &disk.device]);
            Vec::new()
        },
        &["everything on it would be destroyed, and it has to be named", "is not empty", "--erase"],
    ),
];

#[test]
fn loop_a_dry_run_says_on_its_output_that_a_device_would_be_refused() {
    for (what, prepare, said) in REFUSED {
        let place = Place::new();
        let disk = Disk::new(&place, "disk", 320 << 20);
        let undone = prepare(&place, &disk);
        let path = place.plan("plan", PLAN);
        let seen = place.fsverdict(&["run", &path, "--device", &disk.device, "--dry-run"]);
        for argv in &undone {
            tool(&argv.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let seen = seen.exits(1).says(&["the run would not start"]);
        let all = seen.stdout.contains("the run would be refused: ");
        assert!(all && said.iter().all(|word| seen.stdout.contains(word)), "{what}: {seen:#?}");
    }
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 320 << 20);
    let path = place.plan("plan", PLAN);
    let open = File::options().read(true).write(true).open(&disk.device).unwrap();
    let mut holder = std::process::Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    let seen = place.fsverdict(&["run", &path, "--device", &disk.device, "--dry-run"]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    seen.exits(1).shows(&["the run would be refused: ", "is held by the program sleep"]);
    for missing in ["/dev/no-such-device", disk.file.to_str().unwrap()] {
        let seen = place.fsverdict(&["run", &path, "--device", missing, "--dry-run"]).exits(1);
        assert!(seen.stdout.contains("the run would be refused: "), "{seen:#?}");
    }
    // One that may be had is said to be, and nothing else.
    let seen = place.fsverdict(&["run", &path, "--device", &disk.device, "--dry-run"]).exits(0);
    assert!(!seen.stdout.contains("refused") && seen.stdout.contains("would be destroyed"), "{seen:#?}");
    // The second of two.
    let other = Disk::new(&place, "other", 320 << 20);
    tool(&["mkfs.ext4", "-q", "-F", &other.device]);
    let set = format!("device.path=[\"{}\", \"{}\"]", disk.device, other.device);
    let two = place.plan("two", &PLAN.replace("[\"ext4\"]", "[\"btrfs\"]"));
    let seen = place.fsverdict(&["run", &two, "--set", &set, "--dry-run"]).exits(1);
    let lines: Vec<&str> = seen.stdout.lines().filter(|line| line.starts_with("device: ")).collect();
    assert!(lines[0].ends_with("everything on it would be destroyed"), "{seen:#?}");
    assert!(lines[1].contains(&other.device) && lines[1].ends_with("named for that"), "{seen:#?}");
}

#[test]
fn loop_a_dry_run_on_the_systems_disk_says_that_it_would_be_refused() {
    let source = tool(&["findmnt", "--noheadings", "--output", "SOURCE", "/"]);
    if !Path::new(&source).starts_with("/dev") {
        return not_run(&format!("the disk below / cannot be named here: {source}"));
    }
    let place = Place::new();
    let path = place.plan("plan", PLAN);
    let seen = place.fsverdict(&["run", &path, "--device", &source, "--dry-run"]).exits(1);
    let line = format!("device: {source}: not written to");
    seen.shows(&[line.as_str(), "the run would be refused: ", "is the system's disk"]);
}
