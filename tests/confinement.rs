//! A phase tries to break out of its cell, in each lab, with the conductor as root and as an ordinary user: it must be
//! able to write to the filesystem under test and its scratch folder, and to nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use common::{Disk, PROGRAM, Place, is_root};

/// What the phase tries. A line `BROKE …` is a success it must not have; nothing in it would harm this machine if it had.
///
/// OUTSIDE is a file in a folder of the test's that whoever runs it may write to; VICTIM a block device of the test's.
const ATTEMPTS: &str = r#"
broke() { echo "BROKE $*"; }
exec 2>/dev/null
touch OUTSIDE-plain && broke write outside
touch /etc/fsverdict-was-here && broke write /etc
mount -o remount,rw / && broke remount
mount -o remount,bind,rw / && broke remount as a bind mount
touch OUTSIDE-remounted && broke write outside after a remount
touch "$DOCS/new" && broke write the staged folder
rm "$DOCS/page" && broke remove what is staged
mount -o remount,bind,rw "$DOCS/.." && broke remount the staged folder
umount -l "$DOCS/.." && broke unmount the staged folder
[ "$(cat "$DOCS/page")" = "read me" ] && echo may read the staged folder
umount /proc && broke unmount /proc
umount -l /dev && broke unmount /dev
mkdir "$SCRATCH/m"
for type in devtmpfs proc sysfs tmpfs; do mount -t $type none "$SCRATCH/m" && broke mount $type; done
mount -t hostfs -o / none "$SCRATCH/m" && broke mount the host
mount --bind / "$SCRATCH/m" && broke bind
for device in VICTIM "$DEVICE" /dev/ubda /dev/ubdb; do
    if dd if=/dev/zero of=$device bs=4096 count=1 conv=nocreat; then broke write $device; fi
done
mknod "$SCRATCH/node" b VICTIM_MAJOR VICTIM_MINOR && broke mknod in the scratch folder
mknod "$MOUNT/node" b VICTIM_MAJOR VICTIM_MINOR && broke mknod in the filesystem under test
dd if=/dev/zero of="$SCRATCH/node" bs=4096 count=1 conv=nocreat && broke write a node of its own
dd if=/dev/zero of="$MOUNT/node" bs=4096 count=1 conv=nocreat && broke write a node of its own
unshare --mount true && broke unshare mounts
unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw / && touch OUTSIDE-unshared' && broke unshare
nsenter --target 1 --mount true && broke nsenter
chroot /proc/1/root touch OUTSIDE-chroot && broke chroot
touch /proc/1/root/OUTSIDE-root && broke write through /proc/1/root
[ -e SOCKET ] && broke reach the socket of a service
true </dev/tty && broke open the terminal
echo x >&9 && broke write to a descriptor of the user
for descriptor in /proc/[0-9]*/fd/*; do
    case $(readlink "$descriptor") in
    pipe:* | /dev/null | /proc/* | "") ;;
    *) broke keep a descriptor of "$(readlink "$descriptor")" ;;
    esac
done
same=$(cat /proc/sys/vm/swappiness) && echo "$same" >/proc/sys/vm/swappiness && broke write /proc/sys
for file in /sys/block/*/queue/nomerges; do
    same=$(cat "$file") && echo "$same" >"$file" && broke write $file
done
for file in /sys/fs/cgroup /sys/kernel/debug /dev; do mkdir "$file/fsverdict-was-here" && broke write $file; done
touch "$MOUNT/own" && echo may write the filesystem
touch "$SCRATCH/own" && echo may write the scratch folder
echo end of attempts
"#;

fn plan(lab: &str, attempts: &str, docs: &std::path::Path) -> String {
    format!(
        r#"
title = "What a phase may write"
lab   = "{lab}"
[device]
image = "64MiB"
[protocol]
blocks  = 1
timeout = "60s"
disturbed = false
[dataset.docs]
path = "{docs}"
[[candidate]]
filesystem = "ext4"
[[phase]]
name    = "escape"
command = '''{attempts}'''
"#,
        docs = docs.display()
    )
}

/// The names in a folder.
fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn tries_to_break_out(lab: &str) {
    let place = Place::new();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let docs = place.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("page"), "read me").unwrap();
    // A victim with a known content, which the attempts would zero.
    let victim = is_root().then(|| {
        let disk = Disk::new(&place, "victim", 1 << 20);
        fs::write(&disk.device, vec![0xa5; 1 << 20]).unwrap();
        (disk.bytes(), disk)
    });
    let device = victim.as_ref().map_or("/dev/loop0", |(_, disk)| disk.device.as_str());
    let number = fs::read_to_string(format!("/sys/block/{}/dev", device.trim_start_matches("/dev/")));
    let number = number.unwrap_or_else(|_| "7:0".to_owned());
    let (major, minor) = number.trim().split_once(':').unwrap();
    let attempts = ATTEMPTS
        .replace("VICTIM_MAJOR", major)
        .replace("VICTIM_MINOR", minor)
        .replace("VICTIM", device)
        .replace("OUTSIDE", outside.join("file").to_str().unwrap());

    // A service of this machine, whose socket only root can put where services have theirs.
    let socket = PathBuf::from(format!("/run/fsverdict-test-{}-{lab}", std::process::id()));
    let service = is_root().then(|| UnixListener::bind(&socket).unwrap());
    let attempts = attempts.replace("SOCKET", socket.to_str().unwrap());

    // A descriptor that the user's shell left open, of a file the phase has no business with.
    let plan = place.plan("plan", &plan(lab, &attempts, &docs));
    let inherited = outside.join("inherited");
    let line = format!("exec {PROGRAM} run {plan} --out run 9>{}", inherited.display());
    // On a terminal, into which a phase might type commands for the shell there (ioctl_tty(2), TIOCSTI).
    let seen = place.any("script", &["--quiet", "--return", "--command", &line, "/dev/null"]);
    if service.is_some() {
        fs::remove_file(&socket).unwrap();
    }
    seen.exits(0);
    let journal = place.journal();
    let said = journal.program("escape")["stdout"].as_str().unwrap().to_owned();
    assert!(!said.contains("BROKE"), "{said}");
    for word in [
        "may read the staged folder",
        "may write the filesystem",
        "may write the scratch folder",
        "end of attempts",
    ] {
        assert!(said.contains(word), "`{word}` is missing: {said}");
    }
    assert_eq!(names(&outside), ["inherited"]);
    assert_eq!(fs::read_to_string(&inherited).unwrap(), "");
    assert!(!std::path::Path::new("/etc/fsverdict-was-here").exists());
    if let Some((before, disk)) = &victim {
        assert!(before.iter().all(|byte| *byte == 0xa5));
        assert!(disk.bytes() == *before, "the victim was written");
    }
    drop(victim);
    place.is_left_clean();
}

#[test]
fn loop_a_phase_cannot_break_out_of_the_native_lab() {
    tries_to_break_out("native");
}

#[test]
fn uml_a_phase_cannot_break_out_of_a_guest() {
    tries_to_break_out("uml");
}
