//! Trials in a virtual machine, with a distribution's kernel: filesystems that are modules, encryption, a modelled device,
//! and guests that panic, hang or lose their conductor. Without KVM each boot takes ten seconds and more, so there are few.
//!
//! The kernel is this machine's own, or the package `TEST_VM_KERNEL` names, as `scripts/test-tiers` sets it.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::common::{Place, one_command, tool};

fn package() -> Option<PathBuf> {
    std::env::var_os("TEST_VM_KERNEL").map(PathBuf::from)
}

/// The plan's line about the kernel: the package's, unpacked once for all tests; none for this machine's own.
fn kernel() -> String {
    let Some(package) = package() else { return String::new() };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm").join(package.file_stem().unwrap());
    let (text, mark) = (folder.to_str().unwrap(), folder.join("complete"));
    if !mark.is_file() {
        std::fs::create_dir_all(&folder).unwrap();
        tool(&["dpkg-deb", "--extract", package.to_str().unwrap(), text]);
        for release in std::fs::read_dir(folder.join("lib/modules")).unwrap().flatten() {
            tool(&["depmod", "-b", text, release.file_name().to_str().unwrap()]);
        }
        std::fs::write(&mark, "").unwrap();
    }
    let mut files = std::fs::read_dir(folder.join("boot")).unwrap().flatten();
    let image = files.find(|file| file.file_name().to_string_lossy().starts_with("vmlinuz-")).unwrap();
    format!("kernel = {:?}\n", image.path())
}

fn command(line: &str) -> String {
    one_command("vm", line).replace("timeout = \"60s\"", "timeout = \"600s\"") + &kernel()
}

#[test]
fn vm_filesystems_that_are_modules_run_and_so_does_encryption() {
    let place = Place::new();
    // As a user names a package: it is unpacked, and not installed.
    let kernel = package().map_or(String::new(), |package| format!("kernel = {package:?}"));
    let plan = format!(
        r#"
title        = "Modules"
lab          = "vm"
{kernel}
device.image = "170MB"
protocol     = {{ blocks = 1, timeout = "600s" }}
dataset.tree = {{ profile = "mixed", files = 20, directories = 4, size = "256KiB" }}
phase = [
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "read", operation = "tree.read", dataset = "tree", cold = true }},
    {{ name = "check", operation = "fsck" }},
]
candidate = [
    {{ filesystem = "ext4" }}, {{ filesystem = "jfs" }}, {{ filesystem = "nilfs2" }}, {{ filesystem = "f2fs" }},
    {{ filesystem = "vfat" }}, {{ filesystem = "jfs", encryption = "luks2" }},
]
"#
    );
    place.run(&plan, &[]).exits(0).shows(&["in a virtual machine (QEMU"]);
    let report = place.report();
    let candidates = report["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 6);
    assert!(candidates.iter().all(|candidate| candidate["status"] == "ok"), "{candidates:#?}");
    let journal = place.journal();
    let facts = &journal.0[0]["environment"];
    assert!(["kvm", "tcg"].contains(&facts["lab.accelerator"].as_str().unwrap()), "{facts:#}");
    assert!(facts["lab.qemu"].as_str().unwrap().contains('.'), "{facts:#}");
    let cautioned = journal.all("caution").any(|one| one["text"].as_str().unwrap().contains("(TCG)"));
    assert_eq!(cautioned, facts["lab.accelerator"] == "tcg");
    place.is_left_clean();
}

/// The device's process sees every request of the guest, and says so.
#[test]
fn vm_a_modelled_device_is_served_in_real_time() {
    let place = Place::new();
    let plan = command("dd if=/dev/zero of=$MOUNT/file bs=64k count=16 conv=fsync")
        .replace("device.image      = \"64MiB\"", "device = { model = \"usb-disk-5400\", size = \"1GB\" }");
    place.run(&plan, &[]).exits(0).shows(&["real time on the model usb-disk-5400"]);
    let journal = place.journal();
    let of = |fact: &str| journal.fact(fact).pop().unwrap();
    assert!(of("device.requests").parse::<u64>().unwrap() > 20, "{}", of("device.requests"));
    assert!(of("device.lateness").contains("µs"));
    // Firmware and unpacking come before the guest's clock: what the trace has belongs to no phase.
    let seen: String = journal.all("observation").map(ToString::to_string).collect();
    assert!(seen.contains("device_written") && !seen.contains("medium_written"), "{seen}");
    place.is_left_clean();
}

#[test]
fn vm_a_killed_conductor_leaves_nothing() {
    let place = Place::new();
    let mut running = place.start(&command("sleep 1000"), &[]);
    running.wait_for("the phase", |journal| journal.step() == "do");
    place.worker("qemu-system-x86_64");
    running.signal(Signal::KILL);
    place.is_left_clean();
}

#[test]
fn vm_an_ordinary_user_can_have_one() {
    let place = Place::new();
    let plan = place.plan("plan", &command("id -u && touch $MOUNT/file"));
    for folder in ["home", "cache"] {
        tool(&["chown", "-R", "65534:65534", place.path().join(folder).to_str().unwrap()]);
    }
    let out = place.path().join("cache/run");
    place.unprivileged(&["run", &plan, "--out", out.to_str().unwrap()]).exits(0);
    std::fs::remove_dir_all(out).unwrap();
    place.is_left_clean();
}

#[test]
fn vm_a_kernel_that_panics_says_why() {
    let place = Place::new();
    // Not enough for what it boots into.
    let seen = place.run(&(command("true") + "memory = \"80MiB\"\n"), &[]);
    seen.exits(1).says(&["hint: it seems to lack memory"]);
    // Some kernels say in their panic that memory ran out, which is not the candidate's failure.
    let (status, reason) = place.status("ext4");
    assert!(
        ["failed", "skipped"].contains(&status.as_str()) && reason.contains("Kernel panic"),
        "{status}: {reason}"
    );
    place.is_left_clean();
}

#[test]
fn vm_a_guest_that_takes_too_long_is_ended() {
    let place = Place::new();
    place.run(&command("true"), &["--set", "protocol.timeout=2s"]).exits(1);
    place.failed("ext4", &["within the 2s"]);
    place.is_left_clean();
}

#[test]
fn vm_what_is_no_kernel_is_refused_with_what_to_do() {
    let place = Place::new();
    let file = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let folder = place.path().join("tree");
    std::fs::create_dir(&folder).unwrap();
    let cases = [
        ("6.12".to_owned(), "the lab uml runs them"),
        ("/nowhere/vmlinuz".to_owned(), "cannot read the kernel /nowhere/vmlinuz"),
        (file("vmlinux", b"\x7fELF"), "is no Linux kernel for PCs"),
        (file("linux-image.deb", b"!<arch>\n"), "cannot unpack"),
        (folder.to_str().unwrap().to_owned(), "is no tree in which a kernel was built"),
    ];
    for (kernel, wanted) in cases {
        let plan = place.plan("plan", &(one_command("vm", "true") + &format!("kernel = {kernel:?}\n")));
        place.fsverdict(&["run", &plan, "--dry-run"]).exits(1).says(&[wanted, "hint:"]);
    }
    let plan = place.plan("plan", &(one_command("vm", "true") + "clock = \"simulated\"\n"));
    place.fsverdict(&["run", &plan, "--dry-run"]).exits(2).says(&["does not go with lab = \"vm\"", "hint:"]);
}
