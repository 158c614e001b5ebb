//! Leftovers in made-up trees, and real ones made for the test.

use super::{Leftover, find_in, find_lasting, remove_leftover};
use crate::guard::fake::FakeMachine;
use crate::host::image;
use crate::host::image::SCRATCH_PREFIX;
use crate::host::process_key::ProcessKey;
use crate::host::root::Root;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn process(machine: &FakeMachine, pid: u32, parent: u32, line: &str) {
    machine.write(&format!("proc/{pid}/cmdline"), &line.replace(' ', "\0"));
    let fields = "0 ".repeat(17);
    machine.write(&format!("proc/{pid}/stat"), &format!("{pid} (x) S {parent} {fields}{} 0", pid * 100));
}

#[test]
fn guests_and_agents_are_strays_only_without_a_conductor_above_them() {
    let machine = FakeMachine::new();
    let guest = "/usr/bin/linux.uml init=/usr/bin/fsverdict ubd0=/proc/self/fd/3";
    process(&machine, 10, 1, "/usr/bin/fsverdict run usb-backup");
    process(&machine, 11, 10, "/usr/bin/fsverdict sandbox");
    process(&machine, 12, 11, guest);
    process(&machine, 20, 1, guest);
    process(&machine, 21, 20, guest);
    process(&machine, 30, 1, "/usr/bin/fsverdict agent");
    process(&machine, 31, 30, "rsync -a /a /b");
    let found = find_in(machine.root(), &[]);
    let pids: Vec<u32> = found
        .iter()
        .map(|leftover| match leftover {
            Leftover::Process { key, .. } => {
                assert_eq!(key.start, u64::from(key.pid) * 100);
                key.pid
            }
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(pids, [20, 21, 30]);
}

#[test]
fn only_scratch_files_of_processes_that_are_gone_are_found() {
    let machine = FakeMachine::new();
    process(&machine, 10, 1, "/usr/bin/fsverdict run usb-backup");
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
    for name in ["scratch-10-1000-0", "scratch-10-999-0", "scratch-77-5-1", "scratch-notes.txt", "thesis.tex"]
    {
        make(name);
    }
    let found = find_in(machine.root(), &[folder.path().to_owned()]);
    let expected = ["scratch-10-999-0", "scratch-77-5-1"];
    assert_eq!(found, expected.map(|name| Leftover::File { path: folder.path().join(name) }));
    for leftover in &found {
        remove_leftover(leftover).unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// In /var/tmp anybody can make a folder of our name before us, with notes in it of folders that are none of ours.
#[test]
fn what_lies_in_a_scratch_folder_of_others_is_not_believed() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    type Change = fn(&Path);
    let cases: [(&str, Change); 3] = [
        ("others may write to it", |folder| {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("a link to it", |folder| {
            std::fs::rename(folder, folder.with_extension("real")).unwrap();
            symlink(folder.with_extension("real"), folder).unwrap();
        }),
        ("another user's", |folder| {
            if rustix::process::geteuid().is_root() {
                chown(folder, Some(65534), None).unwrap();
            } else {
                std::fs::remove_dir_all(folder).unwrap();
            }
        }),
    ];
    let place = tempfile::tempdir().unwrap();
    let machine = FakeMachine::new();
    for (number, (case, change)) in cases.into_iter().enumerate() {
        let folder = place.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::write(folder.join("folder-77-5-1"), "[\"/srv/.fsverdict-thesis\",2]\n3\n").unwrap();
        std::fs::write(folder.join("scratch-77-5-2"), "").unwrap();
        let look = || find_in(machine.root(), std::slice::from_ref(&folder));
        assert_eq!(look().len(), 2, "{case}: as it is ours");
        change(&folder);
        assert_eq!(look(), [], "{case}");
    }
}

#[test]
fn a_scheduler_that_nobody_answers_for_is_found() {
    let machine = FakeMachine::new();
    machine.write("run/fsverdict/scheduler/sda", "none");
    let found = find_in(machine.root(), &[]);
    assert_eq!(found, [Leftover::Scheduler { disk: "sda".to_owned(), former: "none".to_owned() }]);
    assert_eq!(found[0].to_string(), "setting of the I/O scheduler of sda (before: none)");
}

#[test]
fn what_goes_by_itself_or_comes_back_as_another_is_no_leftover() {
    let of = |sequence| Leftover::Loop {
        path: "/dev/loop0".into(),
        backing: "/cache/#12 (deleted)".into(),
        sequence: Some(sequence),
    };
    let file = Leftover::File { path: "/cache/scratch-7-7-0".into() };
    for (looks, expected) in [
        (vec![vec![of(1)], vec![]], vec![]),
        (vec![vec![of(1)], vec![of(2)], vec![of(2)]], vec![]),
        (vec![vec![file.clone(), of(1)], vec![file.clone()]], vec![file.clone()]),
        (vec![vec![of(1)]], vec![of(1)]),
    ] {
        let mut count = 0;
        let found = find_lasting(|| {
            count += 1;
            looks[count.min(looks.len()) - 1].clone()
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn scratch_files_of_this_process_are_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let own = ProcessKey::current(&Root::default()).unwrap();
    std::fs::write(folder.path().join(format!("{SCRATCH_PREFIX}{own}-0")), "").unwrap();
    let found = find_in(&Root::default(), &[folder.path().to_owned()]);
    assert!(!found.iter().any(|leftover| matches!(leftover, Leftover::File { .. })), "{found:?}");
}

#[test]
fn a_stray_process_is_ended_and_its_successor_under_the_same_number_is_not() {
    let root = Root::default();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let key = ProcessKey::of(&root, child.id()).unwrap();
    let earlier = ProcessKey { start: key.start - 1, ..key };
    assert!(remove_leftover(&Leftover::Process { key: earlier, what: String::new() }).is_err());
    assert!(key.is_alive(&root));
    remove_leftover(&Leftover::Process { key, what: String::new() }).unwrap();
    assert!(!child.wait().unwrap().success());
    remove_leftover(&Leftover::Process { key, what: String::new() }).unwrap();
}

fn attached(device: &Path) -> bool {
    let name = device.file_name().unwrap().to_string_lossy().into_owned();
    Path::new(&format!("/sys/class/block/{name}/loop/backing_file")).exists()
}

/// Attaches without auto-clear, as nothing of ours does: the state `clean` is for.
fn leave_loop(image: &Path) -> PathBuf {
    let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn loop_devices_and_mounts_left_over_our_folder_are_undone_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let [ours, other] = [scratch.join("image"), folder.path().join("image")];
    for image in [&ours, &other] {
        std::fs::File::create(image).unwrap().set_len(16 << 20).unwrap();
        let quiet = Command::new("mkfs.ext4").arg("-q").arg(image).stdout(Stdio::null()).status().unwrap();
        assert!(quiet.success());
    }
    let [ours, other] = [leave_loop(&ours), leave_loop(&other)];
    let point = folder.path().join("point");
    std::fs::create_dir(&point).unwrap();
    assert!(Command::new("mount").arg(&ours).arg(&point).status().unwrap().success());
    let about = |found: Vec<Leftover>| -> Vec<Leftover> {
        let relevant = |leftover: &Leftover| match leftover {
            Leftover::Mount { point, .. } => point.starts_with(folder.path()),
            Leftover::Loop { path, .. } => *path == ours || *path == other,
            _ => false,
        };
        found.into_iter().filter(relevant).collect()
    };
    let found = about(find_in(&Root::default(), std::slice::from_ref(&scratch)));
    let undone: Vec<bool> = found.iter().map(|leftover| remove_leftover(leftover).is_ok()).collect();
    // A device that anybody (another test's child before its exec) still has open goes when that closes it.
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        about(find_in(&Root::default(), std::slice::from_ref(&scratch))).is_empty() && !attached(&ours)
    });
    // This test leaves nothing behind, passed or failed.
    let _ = Command::new("umount").arg(&point).stderr(Stdio::null()).status();
    for device in [&ours, &other] {
        let _ = Command::new("losetup").arg("-d").arg(device).stderr(Stdio::null()).status();
    }
    assert!(
        matches!(&found[..], [Leftover::Mount { .. }, Leftover::Loop { path, .. }] if *path == ours),
        "{found:?}"
    );
    assert_eq!(undone, [true, true]);
    assert!(gone, "{} is still attached", ours.display());
}

#[test]
fn loop_device_of_a_living_run_is_no_leftover() {
    use crate::host::loop_device::{LoopDevice, LoopOptions};
    let folder = tempfile::tempdir().unwrap();
    let of_this = ProcessKey::current(&Root::default());
    let of_another = of_this.map(|process| ProcessKey { start: process.start - 1, ..process });
    // Our own descriptors do not count for ourselves: `open` is whether another process has it.
    for (owner, open, left) in
        [(None, false, true), (None, true, false), (of_this, false, false), (of_another, false, true)]
    {
        let image = image::create_image(folder.path(), 1 << 20, 1 << 20).unwrap();
        let options = LoopOptions { owner, ..LoopOptions::default() };
        let device = LoopDevice::attach_image(image.as_fd(), &options).unwrap();
        let mut other = Command::new("sleep");
        other.arg("60").stdin(if open { device.file().try_clone().unwrap().into() } else { Stdio::null() });
        let mut other = other.spawn().unwrap();
        // A child of another test's has all our descriptors until its exec.
        let is_found = || {
            let found = find_in(&Root::default(), &[folder.path().to_owned()]);
            found
                .iter()
                .any(|leftover| matches!(leftover, Leftover::Loop { path, .. } if path == device.path()))
        };
        let found = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_found()
        });
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(found, left, "owner {owner:?}, open {open}");
    }
}
