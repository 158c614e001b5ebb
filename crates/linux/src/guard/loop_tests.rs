//! The guard before real devices: loop devices made for the test, and the machine's own disk, which it must refuse.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fake::write_partition_table;
use super::{GrantedLease, HeldLease, LeaseTicket, Occupancy, Refusal, grant_lease};
use crate::host::image;
use crate::host::loop_device::{LoopDevice, LoopOptions};
use crate::host::procfs::read_mounts;
use crate::host::root::Root;
use fsverdict_text::Hinted;

const SIZE: u64 = 320 << 20;
const UUID: &str = "7d9c2a52-3c1c-4a53-9d0c-7a0f5e2b6c11";

/// A disk to examine: a scratch image on a loop device, both gone when dropped.
struct LoopDisk {
    _folder: tempfile::TempDir,
    image: File,
    device: LoopDevice,
}

impl LoopDisk {
    fn new() -> Self {
        Self::with(&LoopOptions::default(), |_| {})
    }

    /// `prepare` writes to the image before it is attached.
    fn with(options: &LoopOptions, prepare: impl Fn(&File)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = File::from(image::create_image(folder.path(), SIZE, SIZE).unwrap());
        prepare(&image);
        let device = LoopDevice::attach_image(image.as_fd(), options).unwrap();
        LoopDisk { _folder: folder, image, device }
    }

    fn path(&self) -> &Path {
        self.device.path()
    }

    fn format(&self, argv: &[&str]) {
        let status =
            Command::new(argv[0]).args(&argv[1..]).arg(self.path()).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{argv:?}");
    }

    /// The same over a file that has a name.
    fn named() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(folder.path().join("image"))
            .unwrap();
        file.set_len(SIZE).unwrap();
        let device = LoopDevice::attach_image(file.as_fd(), &LoopOptions::default()).unwrap();
        LoopDisk { _folder: folder, image: file, device }
    }

    /// Detaches it and attaches its file once more.
    fn attach_anew(&mut self) {
        self.device = LoopDevice::attach_image(self.image.as_fd(), &LoopOptions::default()).unwrap();
    }

    /// Runs a tool on the device and ignores its result.
    fn run(&self, argv: &[&str]) {
        let ended = Command::new(argv[0]).args(&argv[1..]).arg(self.path()).stdout(Stdio::null()).status();
        ended.unwrap();
    }

    fn examine(&self, erase: Option<&str>) -> Result<GrantedLease, Refusal> {
        grant_lease(&Root::default(), self.path(), 1 << 20, erase)
    }
}

/// A mount that ends with the test, passed or failed.
struct Mounted(PathBuf);

impl Mounted {
    fn new(device: &Path, point: &Path) -> Self {
        assert!(Command::new("mount").arg(device).arg(point).status().unwrap().success());
        Mounted(point.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn the_disk_this_system_runs_from_is_refused_without_being_opened() {
    let root = read_mounts(&Root::default())
        .unwrap()
        .into_iter()
        .find(|mount| mount.target == Path::new("/"))
        .unwrap();
    if !root.source.starts_with("/dev") || !root.source.exists() {
        return; // In a container / is an overlay, and its disk cannot be named from within.
    }
    // An ordinary user may not open the disk at all, yet sees this: it was refused before any open.
    let refusal = grant_lease(&Root::default(), &root.source, 0, Some("anything")).unwrap_err();
    assert!(matches!(&refusal, Refusal::System { point, .. } if point == Path::new("/")), "{refusal}");
    assert_eq!(refusal.erase_identity(), None);
}

#[test]
fn loop_blank_disk_is_cleared_and_held() {
    let disk = LoopDisk::new();
    let cleared = disk.examine(None).unwrap();
    // Another run is told which run holds the device.
    let refusal = disk.examine(None).unwrap_err();
    let shown = format!("is being tested by another run: process {}", std::process::id());
    assert!(refusal.to_string().contains(&shown), "{refusal}");
    let (ticket, hold) = cleared.into_ticket().unwrap();
    assert!(matches!(disk.examine(None), Err(Refusal::Taken { .. })));
    hold.check_unused(&Root::default()).unwrap();
    // mkfs and mount claim the device the same way, so that no other program can claim it in between.
    let claim = ticket.redeem(&Root::default()).unwrap();
    let refusal = ticket.redeem(&Root::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal}");
    assert!(refusal.hint().unwrap().contains(&format!("fuser -v {}", disk.path().display())));
    assert!(matches!(hold.check_free(&Root::default()), Err(Refusal::Busy { .. })));
    hold.check_unchanged(&Root::default()).unwrap();
    claim.file().write_all_at(&[1; 4096], 0).unwrap();
    assert!(claim.discard().unwrap());
    let mut page = [1; 4096];
    claim.file().read_exact_at(&mut page, 0).unwrap();
    assert_eq!(page, [0; 4096]);
}

#[test]
fn loop_every_filesystem_here_is_seen_and_asked_for_by_its_identity() {
    for (kind, uuid) in [
        // Each its own, and no other test's: mkfs.btrfs refuses a UUID that any device here bears.
        ("ext4", "5b2f0e70-0d5e-4d38-8a4c-9a3c5f1e7a01"),
        ("xfs", "5b2f0e70-0d5e-4d38-8a4c-9a3c5f1e7a02"),
        ("btrfs", "5b2f0e70-0d5e-4d38-8a4c-9a3c5f1e7a03"),
        ("swap", "5b2f0e70-0d5e-4d38-8a4c-9a3c5f1e7a04"),
    ] {
        let disk = LoopDisk::new();
        match kind {
            "ext4" => disk.format(&["mkfs.ext4", "-q", "-L", "backup", "-U", uuid]),
            "xfs" => disk.format(&["mkfs.xfs", "-q", "-L", "backup", "-m", &format!("uuid={uuid}")]),
            "btrfs" => disk.format(&["mkfs.btrfs", "-q", "-L", "backup", "-U", uuid]),
            _ => disk.format(&["mkswap", "-L", "backup", "-U", uuid]),
        }
        let refusal = disk.examine(None).unwrap_err();
        let shown = refusal.to_string();
        assert!(shown.contains("is not empty") && shown.contains("320 MiB"), "{shown}");
        assert!(shown.contains(&format!("{kind} \"backup\" (uuid {uuid})")), "{shown}");
        assert_eq!(refusal.erase_identity(), Some(uuid));
        assert!(refusal.hint().unwrap().contains(&format!("--erase {uuid} ")));
        let wrong = disk.examine(Some("5b2f0e70")).unwrap_err();
        assert!(wrong.to_string().starts_with("`5b2f0e70` is not the identity of /dev/loop"), "{wrong}");
        disk.examine(Some(uuid)).unwrap();
    }
}

#[test]
fn loop_a_wrong_identity_is_refused_even_for_a_blank_disk() {
    let disk = LoopDisk::new();
    let refusal = disk.examine(Some(UUID)).unwrap_err();
    assert!(matches!(&refusal, Refusal::Signed(signed) if signed.state == Occupancy::Blank), "{refusal}");
    assert_eq!(refusal.erase_identity(), None);
    assert_eq!(refusal.hint().unwrap(), "it is empty: omit --erase");
}

#[test]
fn loop_partition_table_is_seen_and_asked_for() {
    let disk = LoopDisk::with(&LoopOptions::default(), |image| {
        write_partition_table(image, 0x00c0_ffee, 2048, 100_000);
    });
    let refusal = disk.examine(None).unwrap_err();
    assert!(refusal.to_string().contains("dos partition table (uuid 00c0ffee)"), "{refusal}");
    disk.examine(Some("00c0ffee")).unwrap();
}

#[test]
fn loop_data_nobody_recognises_must_be_named_by_its_digest() {
    // As a headerless encrypted disk or a database on a raw device would look.
    let disk =
        LoopDisk::with(&LoopOptions::default(), |image| image.write_all_at(b"precious", 5000).unwrap());
    let refusal = disk.examine(None).unwrap_err();
    assert!(refusal.to_string().contains("data that no known signature explains"), "{refusal}");
    let backing = refusal.erase_identity().unwrap().to_owned();
    assert!(backing.contains("(deleted)"), "a loop device answers to its file: {backing}");
    let Refusal::Signed(signed) = &refusal else { panic!("{refusal}") };
    let (_, digest) = signed.identity.names().last().unwrap();
    assert!(digest.starts_with("contents-"));
    disk.examine(Some(digest)).unwrap();
    disk.examine(Some(&backing)).unwrap();
    disk.image.write_all_at(b"PRECIOUS", 5000).unwrap();
    assert!(disk.examine(Some(digest)).is_err(), "other data, other name");
}

#[test]
fn loop_mounted_disk_is_refused_whatever_is_said() {
    let disk = LoopDisk::new();
    disk.format(&["mkfs.ext4", "-q", "-U", UUID]);
    let point = tempfile::tempdir().unwrap();
    let mounted = Mounted::new(disk.path(), point.path());
    let refusal = disk.examine(Some(UUID)).unwrap_err();
    assert!(matches!(&refusal, Refusal::Mounted { point: shown, .. } if shown == point.path()), "{refusal}");
    drop(mounted);
    disk.examine(Some(UUID)).unwrap();
}

#[test]
fn loop_mount_in_another_namespace_is_busy() {
    let disk = LoopDisk::new();
    disk.format(&["mkfs.ext4", "-q", "-U", UUID]);
    let point = tempfile::tempdir().unwrap();
    let script = "mount \"$0\" \"$1\" && touch \"$1/there\" && echo there && read -r end";
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script])
        .args([disk.path(), point.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let outcome = disk.examine(Some(UUID));
    drop(child.stdin.take());
    let _ = child.wait();
    assert_eq!(line, "there\n");
    assert!(matches!(outcome, Err(Refusal::Busy { .. })), "{outcome:?}");
}

#[test]
fn loop_disk_that_a_program_writes_to_is_refused_with_its_name() {
    let disk = LoopDisk::new();
    let open = File::options().read(true).write(true).open(disk.path()).unwrap();
    let mut child = Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    let outcome = disk.examine(None);
    child.kill().unwrap();
    child.wait().unwrap();
    let expected = format!("held by the program sleep (process {})", child.id());
    assert!(outcome.unwrap_err().to_string().contains(&expected));
    disk.examine(None).unwrap();
}

#[test]
fn loop_read_only_and_too_small_are_refused() {
    let disk = LoopDisk::with(&LoopOptions { read_only: true, ..LoopOptions::default() }, |_| {});
    assert!(matches!(disk.examine(None), Err(Refusal::ReadOnly { .. })));
    let disk = LoopDisk::new();
    let refusal = grant_lease(&Root::default(), disk.path(), SIZE + 1, None).unwrap_err();
    assert!(matches!(refusal, Refusal::TooSmall { size: SIZE, .. }), "{refusal}");
    grant_lease(&Root::default(), disk.path(), SIZE, None).unwrap();
}

#[test]
fn loop_symbolic_links_are_followed_and_what_they_name_is_told() {
    let disk = LoopDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("my-disk");
    std::os::unix::fs::symlink(disk.path(), &link).unwrap();
    let cleared = grant_lease(&Root::default(), &link, 1, None).unwrap();
    assert_eq!(cleared.device().path, disk.path());
    assert!(cleared.cautions()[0].contains("is a loop device over"), "{:?}", cleared.cautions());
}

#[test]
fn loop_contents_that_change_after_clearance_are_not_written_over() {
    let disk = LoopDisk::new();
    let cleared = disk.examine(None).unwrap();
    // By another path than the device, as a second cable to it would.
    disk.image.write_all_at(b"precious", 40 << 10).unwrap();
    let (ticket, _hold) = cleared.into_ticket().unwrap();
    assert!(matches!(ticket.redeem(&Root::default()), Err(Refusal::ForeignWrite(_))));
    ticket.after_first_write().redeem(&Root::default()).unwrap();
}

/// A stranger's write: 4 KiB past the cache of the device, at this place.
fn write_as_a_stranger(disk: &LoopDisk, place: u64) {
    use std::os::unix::fs::OpenOptionsExt;
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let open = File::options().write(true).custom_flags(direct).open(disk.path()).unwrap();
    // Direct I/O wants memory that is aligned as the device's blocks are.
    let memory = vec![b'x'; 8192];
    let start = memory.as_ptr().align_offset(4096);
    open.write_all_at(&memory[start..start + 4096], place).unwrap();
}

/// Does the same to a device as a trial: claims, discards, writes and releases it.
fn try_once(disk: &LoopDisk, hold: &HeldLease, trial: &str) {
    let root = Root::default();
    let ticket = hold.check_unused(&root).unwrap();
    let claim = hold.redeem(&root, &ticket).unwrap();
    hold.note_writing();
    claim.discard().unwrap();
    // Not synced: dirty pages of the device are ours as well.
    claim.file().write_all_at(b"left by a trial", SIZE / 4).unwrap();
    drop(claim);
    hold.note_end(&root, trial).unwrap();
    assert!(hold.check_unused(&root).is_ok(), "{:?}", disk.path());
}

/// Where the guard's knowledge of a device is created or refreshed. Each gives the lease with that knowledge.
type Knowledge = (&'static str, fn(&LoopDisk) -> HeldLease);
const KNOWLEDGE: &[Knowledge] = &[
    ("the claim, before any trial", |disk| disk.examine(None).unwrap().into_ticket().unwrap().1),
    ("the claim of a device that was named", |disk| {
        disk.format(&["mkfs.ext4", "-q", "-U", UUID]);
        disk.examine(Some(UUID)).unwrap().into_ticket().unwrap().1
    }),
    ("the end of a trial", |disk| {
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        try_once(disk, &hold, "the first trial");
        hold
    }),
    ("the end of a trial that was killed before it wrote", |disk| {
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        hold.check_unused(&Root::default()).unwrap();
        hold.note_end(&Root::default(), "the first trial").unwrap();
        hold
    }),
    ("the end of a trial that was killed and whose mount went later", |disk| {
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        let ticket = hold.check_unused(&Root::default()).unwrap();
        hold.note_writing();
        drop(hold.redeem(&Root::default(), &ticket).unwrap());
        disk.format(&["mkfs.ext4", "-q"]);
        // A check holds the device for a moment, in which mount(8) finds it busy.
        let script =
            "until mount \"$1\" /mnt; do sleep 0.02; done 2>/dev/null; echo x >/mnt/x; sleep 1; umount /mnt";
        let mut mount = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
            .arg(disk.path())
            .spawn()
            .unwrap();
        while hold.check_free(&Root::default()).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        hold.note_end(&Root::default(), "the first trial").unwrap();
        mount.wait().unwrap();
        hold
    }),
    ("the end of a second trial", |disk| {
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        try_once(disk, &hold, "the first trial");
        try_once(disk, &hold, "the second trial");
        hold
    }),
    ("the claim of a run that is carried on", |disk| {
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        try_once(disk, &hold, "the first trial");
        drop(hold);
        let identity = disk.examine(None).unwrap_err().erase_identity().unwrap().to_owned();
        disk.examine(Some(&identity)).unwrap().into_ticket().unwrap().1
    }),
];

/// Where that knowledge is used, before the first write of a trial. Each says why the device is refused, if it is.
type Check = (&'static str, fn(&LoopDisk, &HeldLease, &dyn Fn()) -> Option<Refusal>);
const CHECKS: &[Check] = &[
    ("between two trials", |_, hold, strike| {
        strike();
        hold.check_unused(&Root::default()).err()
    }),
    ("right before the first write, in this process", |_, hold, strike| {
        let ticket = hold.check_unused(&Root::default()).unwrap();
        strike();
        hold.redeem(&Root::default(), &ticket).err()
    }),
    ("right before the first write, in an agent", |_, hold, strike| {
        let ticket = hold.check_unused(&Root::default()).unwrap();
        let ticket: LeaseTicket = serde_json::from_str(&serde_json::to_string(&ticket).unwrap()).unwrap();
        strike();
        let refusal = ticket.redeem(&Root::default()).err()?;
        // The agent's message about it.
        let Refusal::ForeignWrite(foreign) = refusal else { return Some(refusal) };
        hold.revoke(&foreign.found);
        hold.check_unchanged(&Root::default()).err()
    }),
    ("between an agent's discard and its mkfs", |_, hold, strike| {
        let root = Root::default();
        let ticket = hold.check_unused(&root).unwrap();
        let claim = ticket.redeem(&root).unwrap();
        claim.discard().unwrap();
        let held = HeldLease::from_claim(&root, claim).unwrap();
        strike();
        let refusal = held.check_before_first_write(&root, &held.check_free(&root).unwrap()).err()?;
        assert!(held.check_free(&root).is_err(), "the agent's own lease is revoked");
        let Refusal::ForeignWrite(foreign) = refusal else { return Some(refusal) };
        hold.revoke(&foreign.found);
        hold.check_unchanged(&root).err()
    }),
];

#[test]
fn loop_what_somebody_writes_between_two_trials_is_not_written_over() {
    let root = Root::default();
    for (known, prepare) in KNOWLEDGE {
        for (when, check) in CHECKS {
            // Each place with the first check, the one that only counters show with the others.
            let places =
                if *when == CHECKS[0].0 { &[64 << 10, SIZE / 2, SIZE - 4096][..] } else { &[SIZE / 2] };
            for place in places.iter().copied() {
                let disk = LoopDisk::new();
                let hold = prepare(&disk);
                let refusal = check(&disk, &hold, &|| write_as_a_stranger(&disk, place));
                let shown = refusal.map(|refusal| refusal.to_string()).unwrap_or_default();
                let member = format!("{known}; {when}; at {place}: {shown}");
                assert!(shown.contains("was written to by another program"), "{member}");
                // For good: neither the end of a trial nor a further look gives the device back.
                for _ in 0..2 {
                    assert!(
                        matches!(hold.note_end(&root, "a trial"), Err(Refusal::ForeignWrite(_))),
                        "{member}"
                    );
                    assert!(matches!(hold.check_unused(&root), Err(Refusal::ForeignWrite(_))), "{member}");
                    assert!(matches!(hold.check_free(&root), Err(Refusal::ForeignWrite(_))), "{member}");
                }
                let mut page = [0; 4096];
                disk.image.read_exact_at(&mut page, place).unwrap();
                assert_eq!(page, [b'x'; 4096], "{member}");
            }
        }
    }
}

/// Every way to write to the bytes of a device, and the expected message. A partition stands for a part of the disk.
type WriteMethod = (&'static str, fn(&LoopDisk), &'static str);
const WAYS: &[WriteMethod] = &[
    ("a write past the cache", |disk| write_as_a_stranger(disk, SIZE / 2), "4 KiB written"),
    (
        "a write that is still in memory",
        |disk| {
            let open = File::options().write(true).open(disk.path()).unwrap();
            open.write_all_at(b"precious", SIZE / 2).unwrap();
        },
        "4 KiB written",
    ),
    (
        "a write at the start, which is placed",
        |disk| write_as_a_stranger(disk, 64 << 10),
        "differ from byte 65536 on",
    ),
    (
        "a discard",
        |disk| disk.run(&["blkdiscard", "--force", "--offset", "1MiB", "--length", "1MiB"]),
        "1 MiB discarded",
    ),
    (
        "zeros",
        |disk| disk.run(&["blkdiscard", "--force", "--zeroout", "--offset", "1MiB", "--length", "1MiB"]),
        "write",
    ),
    (
        "a write to the file below, which the device does not count",
        |disk| disk.image.write_all_at(b"precious", SIZE / 2).unwrap(),
        "its backing file was modified",
    ),
    (
        "a write to the file below that sets the time of modification back",
        |disk| {
            let modified = disk.image.metadata().unwrap().modified().unwrap();
            disk.image.write_all_at(b"precious", SIZE / 2).unwrap();
            disk.image.set_modified(modified).unwrap();
        },
        "its backing file was modified",
    ),
    (
        "a write to the file below by another name, after its own was removed",
        |disk| {
            let (own, other) = (disk._folder.path().join("image"), disk._folder.path().join("other"));
            std::fs::hard_link(&own, &other).unwrap();
            std::fs::remove_file(own).unwrap();
            std::fs::OpenOptions::new()
                .write(true)
                .open(other)
                .unwrap()
                .write_all_at(b"precious", SIZE / 2)
                .unwrap();
        },
        "its backing file was renamed",
    ),
];

/// Events on a device between two parts of a run with the same permission, and whether they are foreign writes.
type Interval = (&'static str, fn(&mut LoopDisk), bool);
const INTERVALS: &[Interval] = &[
    ("nothing", |_| {}, false),
    ("it is attached anew", LoopDisk::attach_anew, false),
    ("it is written to", |disk| write_as_a_stranger(disk, SIZE / 2), true),
    (
        "it is written to and attached anew",
        |disk| {
            write_as_a_stranger(disk, SIZE / 2);
            disk.attach_anew();
        },
        true,
    ),
    (
        "its file is written to and it is attached anew",
        |disk| {
            disk.image.write_all_at(b"precious", SIZE / 2).unwrap();
            disk.attach_anew();
        },
        true,
    ),
];

#[test]
fn loop_what_somebody_writes_between_two_parts_of_a_run_is_seen_on_a_device_that_was_attached_anew() {
    let root = Root::default();
    for (interval, happen, is_written) in INTERVALS {
        let mut disk = LoopDisk::named();
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        try_once(&disk, &hold, "the trial of ext4 in block 7");
        let left = hold.describe_left(&root);
        drop(hold);
        happen(&mut disk);
        let identity = disk.examine(None).unwrap_err().erase_identity().unwrap().to_owned();
        let (_, hold) = disk.examine(Some(&identity)).unwrap().into_ticket().unwrap();
        let refusal = hold.check_left(&root, &left).err().map(|refusal| refusal.to_string());
        let is_seen = refusal.as_ref().is_some_and(|said| said.contains("the trial of ext4 in block 7"));
        assert_eq!(is_seen, *is_written, "{interval}: {refusal:?}");
        assert_eq!(hold.check_unused(&root).is_err(), *is_written, "{interval}");
    }
}

#[test]
fn loop_a_file_without_the_name_the_kernel_knows_is_a_caution() {
    for (disk, is_told) in [(LoopDisk::named(), false), (LoopDisk::new(), true)] {
        let granted = disk.examine(None).unwrap();
        let told =
            granted.cautions().iter().any(|text| text.contains("is not at the path that the kernel reports"));
        assert_eq!(told, is_told, "{:?}", granted.cautions());
    }
}

#[test]
fn loop_every_way_to_write_between_two_trials_is_seen_and_reading_is_not() {
    for (way, strike, said) in WAYS {
        let disk = LoopDisk::named();
        let (_, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
        try_once(&disk, &hold, "the trial of ext4 in block 7");
        // Actions of other programs.
        std::fs::read(disk.path()).unwrap();
        disk.run(&["blkid", "--probe"]);
        disk.run(&["blockdev", "--flushbufs"]);
        disk.image.sync_all().unwrap();
        File::options().write(true).open(disk.path()).unwrap().sync_all().unwrap();
        hold.check_unused(&Root::default()).unwrap();
        strike(&disk);
        let refusal = hold.check_unused(&Root::default()).unwrap_err().to_string();
        let after = "by another program after the trial of ext4 in block 7: ";
        assert!(refusal.contains(after) && refusal.contains(said), "{way}: {refusal}");
    }
}

#[test]
fn loop_a_device_whose_file_became_shorter_is_told() {
    let (root, folder) = (Root::default(), tempfile::tempdir().unwrap());
    let image =
        File::options().create_new(true).read(true).write(true).open(folder.path().join("image")).unwrap();
    image.set_len(SIZE).unwrap();
    let device = LoopDevice::attach_image(image.as_fd(), &LoopOptions::default()).unwrap();
    let (ticket, hold) = grant_lease(&root, device.path(), 1 << 20, None).unwrap().into_ticket().unwrap();
    assert!(ticket.file_below().is_some());
    hold.check_unchanged(&root).unwrap();
    image.set_len(SIZE / 2).unwrap();
    let refusal = hold.check_unchanged(&root).unwrap_err();
    assert!(refusal.to_string().contains("has become shorter"), "{refusal}");
    assert!(ticket.redeem(&root).is_err());
}

#[test]
fn loop_another_disk_under_the_same_name_is_not_written_over() {
    let first = LoopDisk::new();
    let path = first.path().to_owned();
    let ticket = first.examine(None).unwrap().into_ticket().unwrap().0;
    let ticket: LeaseTicket = serde_json::from_str(&serde_json::to_string(&ticket).unwrap()).unwrap();
    drop(first);
    // Take free loop devices until one has the name of the first; others of this machine may use it meanwhile.
    let others: Vec<LoopDisk> = (0..3).map(|_| LoopDisk::new()).collect();
    let Some(other) = others.iter().find(|disk| disk.path() == path) else {
        let _ = writeln!(std::io::stderr(), "NOT RUN {}:{}: {path:?} was taken meanwhile", file!(), line!());
        return;
    };
    for ticket in [ticket.after_first_write(), ticket] {
        let refusal = ticket.redeem(&Root::default()).unwrap_err();
        assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
    }
    let mut page = [1; 4096];
    other.image.read_exact_at(&mut page, 0).unwrap();
    assert_eq!(page, [0; 4096]);
}

#[test]
fn loop_device_mounted_after_clearance_is_not_written_over() {
    let disk = LoopDisk::new();
    disk.format(&["mkfs.ext4", "-q", "-U", UUID]);
    let (ticket, _hold) = disk.examine(Some(UUID)).unwrap().into_ticket().unwrap();
    let point = tempfile::tempdir().unwrap();
    let _mounted = Mounted::new(disk.path(), point.path());
    assert!(matches!(ticket.redeem(&Root::default()), Err(Refusal::Mounted { .. })));
    assert!(matches!(ticket.after_first_write().redeem(&Root::default()), Err(Refusal::Mounted { .. })));
}

#[test]
fn loop_held_device_cannot_become_another_and_what_can_change_is_seen() {
    let root = Root::default();
    let disk = LoopDisk::new();
    let (ticket, hold) = disk.examine(None).unwrap().into_ticket().unwrap();
    let held = HeldLease::from_claim(&root, ticket.redeem(&root).unwrap()).unwrap();
    let run = |argv: &[&str]| Command::new(argv[0]).args(&argv[1..]).status().unwrap().success();
    let path = disk.path().to_str().unwrap().to_owned();
    // Detaching it returns success, but it stays attached.
    assert!(run(&["losetup", "--detach", &path]));
    held.check_free(&root).unwrap();
    hold.check_unused(&root).unwrap();
    disk.image.set_len(SIZE / 2).unwrap();
    assert!(run(&["losetup", "--set-capacity", &path]));
    let refusal = held.check_free(&root).unwrap_err();
    assert!(refusal.to_string().contains("its size was"), "{refusal}");
    assert!(hold.check_unused(&root).is_err());
    disk.image.set_len(SIZE).unwrap();
    assert!(run(&["losetup", "--set-capacity", &path]));
    held.check_free(&root).unwrap();
}

#[test]
fn loop_node_outside_of_dev_is_taken_for_the_one_within() {
    let disk = LoopDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("disk");
    let number =
        std::fs::metadata(disk.path()).map(|node| std::os::unix::fs::MetadataExt::rdev(&node)).unwrap();
    let kind = rustix::fs::FileType::BlockDevice;
    rustix::fs::mknodat(rustix::fs::CWD, &node, kind, rustix::fs::Mode::RUSR, number).unwrap();
    let cleared = grant_lease(&Root::default(), &node, 1, None).unwrap();
    assert_eq!(cleared.device().path, disk.path());
}
