//! A device that fails, shrinks or goes away under a trial: that is no fault of the candidate's, and leaves nothing behind.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Disk, Place, Seen, tool, unmount};

/// What happens to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every read and write fails (EIO), as of a disk that was unplugged.
    Errors,
    /// What lies below it is full: writes fail (ENOSPC).
    NoRoom,
    /// The file below it becomes shorter.
    Truncated,
    TruncatedToNothing,
    /// The same, and the device with it.
    Shrunk,
    /// Somebody detaches it; a device that is open stays until it is closed.
    Detached,
}

/// A filesystem of the test's own that the file below the device lies on.
struct Below {
    point: PathBuf,
}

impl Below {
    fn new(place: &Place) -> Below {
        let (image, point) = (place.path().join("below.image"), place.path().join("below"));
        std::fs::File::create(&image).unwrap().set_len(700 << 20).unwrap();
        std::fs::create_dir(&point).unwrap();
        tool(&["mkfs.xfs", "-q", image.to_str().unwrap()]);
        tool(&["mount", "-o", "loop", image.to_str().unwrap(), point.to_str().unwrap()]);
        Below { point }
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        unmount(&self.point);
    }
}

fn happen(fault: Fault, below: &Below, disk: &Disk) {
    let (file, point) = (disk.file.to_str().unwrap(), below.point.to_str().unwrap());
    match fault {
        Fault::Errors => {
            tool(&["xfs_io", "-x", "-c", "shutdown", point]);
        }
        Fault::NoRoom => {
            let free = rustix::fs::statvfs(point).unwrap();
            let length = (free.f_bavail * free.f_frsize - (2 << 20)).to_string();
            tool(&["fallocate", "-l", &length, &format!("{point}/rest")]);
        }
        Fault::Truncated => {
            tool(&["truncate", "-s", "100M", file]);
        }
        Fault::TruncatedToNothing => {
            tool(&["truncate", "-s", "0", file]);
        }
        Fault::Shrunk => {
            tool(&["truncate", "-s", "100M", file]);
            tool(&["losetup", "--set-capacity", &disk.device]);
        }
        Fault::Detached => {
            tool(&["losetup", "--detach", &disk.device]);
        }
    }
}

/// Runs `filesystem` on a device to which this happens in the first phase of its first trial; what the run said.
fn run_with(lab: &str, filesystem: &str, fault: Fault) -> (Option<i32>, String) {
    let place = Place::new();
    let below = Below::new(&place);
    let disk = Disk::new(&place, "below/file", 512 << 20);
    let go = place.path().join("go");
    let plan = format!(
        r#"
title        = "A device fails"
lab          = "{lab}"
protocol     = {{ blocks = 2, timeout = "120s" }}
dataset.tree = {{ profile = "mixed", files = 60, directories = 6, size = "40MiB" }}
phase = [
    {{ name = "wait", command = 'while [ ! -e "{}" ]; do sleep 0.05; done' }},
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "read", operation = "tree.read", dataset = "tree", cold = true }},
]
[[candidate]]
filesystem = "{filesystem}"
[[candidate]]
filesystem = "{filesystem}"
name = "twin"
"#,
        go.display()
    );
    let path = place.plan("plan", &plan);
    let mut command = place.command(&["run", &path, "--out", "run", "--quiet", "--device", &disk.device]);
    command.args(["--set", "protocol.disturbed=false"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while place.journal().step() != "wait" {
        assert!(Instant::now() < patience, "no phase began: {:#?}", place.journal());
        std::thread::sleep(Duration::from_millis(5));
    }
    happen(fault, &below, &disk);
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let seen = Seen::of(&output);
    let journal = place.journal();
    let context = format!("{lab} {filesystem} {fault:?}: {}\n{journal:#?}", seen.stderr);
    assert!(journal.all("trial_finished").all(|end| end["status"] == "ok"), "{context}");
    assert!(journal.all("candidate_dropped").next().is_none(), "{context}");
    if fault == Fault::Detached {
        assert_eq!(output.status.code(), Some(0), "{context}");
        assert_eq!(journal.finished(), 4, "{context}");
    } else {
        assert_eq!(output.status.code(), Some(1), "{context}");
        assert!(seen.stderr.contains(&disk.device) && seen.stderr.contains("hint:"), "{context}");
        assert!(!seen.stderr.contains("panicked"), "{context}");
    }
    drop(disk);
    drop(below);
    place.is_left_clean();
    (output.status.code(), seen.stderr)
}

/// Each of these faults under each of these filesystems.
pub fn faults_are_not_held_against_candidates(lab: &str, faults: &[Fault], filesystems: &[&str]) {
    for fault in faults {
        for filesystem in filesystems {
            let (_, said) = run_with(lab, filesystem, *fault);
            let words: &[&str] = match fault {
                Fault::Errors => &["which says nothing about the candidate", "cannot be read"],
                // Which of these is seen first depends on the lab and on what the kernel logs.
                Fault::NoRoom => {
                    &["which says nothing about the candidate", "cannot be read", "cannot hold all its data"]
                }
                Fault::Truncated | Fault::TruncatedToNothing => {
                    &["has become shorter", "nothing about the candidate"]
                }
                Fault::Shrunk => &["is too small", "its size was", "nothing about the candidate"],
                Fault::Detached => &[""],
            };
            assert!(words.iter().any(|word| said.contains(word)), "{lab} {filesystem} {fault:?}: {said}");
        }
    }
}
