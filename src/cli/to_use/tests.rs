//! Tests of recipes: what they hold for each filesystem and use, and that a shell carries them out.

use std::process::Command;

use super::{role_of, to_use};
use fsverdict_judgement::plan::FilesystemRole::{self, Data, Removable, Root};
use fsverdict_judgement::plan::{Candidate, presets};
use fsverdict_stack::filesystem::registry;

fn candidate(filesystem: &str, encryption: &str) -> Candidate {
    let mut candidate: Candidate = serde_json::from_value(serde_json::json!({
        "name": filesystem, "filesystem": filesystem, "encryption": encryption,
    }))
    .unwrap();
    if filesystem == "ext4" {
        candidate.mkfs = ["-O", "^has_journal", "-L", "my files"].map(str::to_owned).into();
        candidate.mount = vec!["noatime".to_owned()];
    }
    candidate
}

#[test]
fn what_only_a_trial_needs_is_left_out() {
    let lines = |filesystem, encryption| {
        to_use(&candidate(filesystem, encryption), 1, Data).unwrap().lines.join("\n")
    };
    let ext4 = lines("ext4", "none");
    let made = "mkfs.ext4 -b 4096 -i 16384 -O ^has_journal -L 'my files' \"$DEVICE\" &&\n";
    assert!(ext4.contains(made), "{ext4}");
    assert!(
        ext4.contains("\"UUID=$ID\" \"$MOUNTED\" 'ext4 noatime,nofail 0 2' >>/etc/fstab &&\n")
            && !ext4.contains("noinit_itable"),
        "{ext4}"
    );
    assert!(lines("f2fs", "none").contains("mkfs.f2fs \"$DEVICE\" &&\n"));
    assert!(
        lines("btrfs", "none").contains(",nofail 0 0'") && lines("f2fs", "none").contains(",nofail 0 2'")
    );
    let luks = lines("xfs", "luks2");
    let made = [
        "NAME=${DEVICE##*/}",
        "cryptsetup luksFormat --type luks2 \"$DEVICE\" &&",
        "cryptsetup open \"$DEVICE\" \"$NAME\" &&",
        "mkfs.xfs \"/dev/mapper/$NAME\" &&",
    ];
    assert!(luks.contains(&made.join("\n")), "{luks}");
    assert!(luks.contains("echo \"$NAME UUID=$ID none luks,nofail\" >>/etc/crypttab &&\n"), "{luks}");
    assert!(luks.contains("'%s %s %s\\n' \"/dev/mapper/$NAME\" \"$MOUNTED\""), "{luks}");
    assert!(!luks.contains("iterations") && !luks.contains("--batch-mode"), "{luks}");
    let mut stacked = candidate("xfs", "none");
    stacked.layers = fsverdict_judgement::plan::Layers::from_names(["luks2", "luks1"]).unwrap();
    let stacked = to_use(&stacked, 1, Data).unwrap();
    let made = [
        "cryptsetup open \"$DEVICE\" \"$NAME\" &&",
        "cryptsetup luksFormat --type luks1 \"/dev/mapper/$NAME\" &&",
        "cryptsetup open \"/dev/mapper/$NAME\" \"$NAME-2\" &&",
        "mkfs.xfs \"/dev/mapper/$NAME-2\" &&",
    ];
    let (lines, notes) = (stacked.lines.join("\n"), stacked.notes);
    assert!(lines.contains(&made.join("\n")), "{lines}");
    let tables = [
        "echo \"$NAME UUID=$ID none luks,nofail\" >>/etc/crypttab &&",
        "echo \"$NAME-2 /dev/mapper/$NAME none luks,nofail\" >>/etc/crypttab &&",
        "printf '%s %s %s\\n' \"/dev/mapper/$NAME-2\" \"$MOUNTED\"",
    ];
    assert!(lines.contains(&tables.join("\n")), "{lines}");
    assert_eq!(notes.iter().filter(|note| note.contains("crypttab")).count(), 1, "{notes:?}");
    let mut pool = candidate("zfs", "none");
    pool.mkfs = ["-O", "encryption=aes-256-gcm", "mirror"].map(str::to_owned).into();
    let pool = to_use(&pool, 2, Data).unwrap();
    let lines = [
        "DEVICE=/dev/disk/by-id/NAME DEVICE2=/dev/disk/by-id/NAME2 FOLDER=/mnt/data",
        "POOL=tank",
        "zpool create -m \"$FOLDER\" -O keyformat=passphrase -O encryption=aes-256-gcm \"$POOL\" mirror \"$DEVICE\" \"$DEVICE2\"",
    ];
    assert_eq!(pool.lines, lines);
    let exfat = to_use(&candidate("exfat", "none"), 1, Data).unwrap();
    assert!(exfat.lines.join("\n").contains("'exfat uid=1000,gid=1000,nofail 0 2'"), "{exfat:?}");
    assert!(exfat.notes.iter().any(|note| note.contains("belongs to that user")), "{exfat:?}");
    let mut twice = candidate("bcachefs", "none");
    twice.mkfs = vec!["--replicas=2".to_owned()];
    let twice = to_use(&twice, 2, Data).unwrap();
    assert!(twice.lines.join("\n").contains("\"$DEVICE:$DEVICE2\" \"$MOUNTED\" 'bcachefs "), "{twice:?}");
    assert!(!twice.lines.join("\n").contains("blkid"), "{twice:?}");
    assert!(twice.notes.iter().any(|note| note.contains("-o degraded")), "{twice:?}");
    assert!(
        !to_use(&candidate("btrfs", "none"), 1, Data)
            .unwrap()
            .notes
            .iter()
            .any(|note| note.contains("degraded"))
    );
    assert!(to_use(&candidate(fsverdict_judgement::plan::DIRECTORY, "none"), 1, Data).is_none());
}

/// With programs that do nothing in place of the real ones, one of which fails, and tables of the test's own.
#[test]
fn nothing_is_written_into_the_tables_after_a_step_that_failed() {
    let programs = ["cryptsetup", "mkfs.ext4", "blkid", "mount"];
    for (failing, encryption) in
        [("", "luks2"), ("cryptsetup", "luks2"), ("mkfs.ext4", "none"), ("blkid", "luks1")]
    {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let mut script = String::new();
        for program in programs {
            let does = if program == failing { "return 1" } else { "echo 4711" };
            script.push_str(&format!("{program}() {{ {does}; }}\n"));
        }
        let lines = to_use(&candidate("ext4", encryption), 1, Data).unwrap().lines.join("\n");
        let lines = lines
            .replace("/etc/", &format!("{at}/"))
            .replace("FOLDER=/mnt/data", &format!("FOLDER='{at}/my own files'"));
        script = script.replace("mkfs.ext4()", "mkfs_ext4()") + &lines.replace("mkfs.ext4 ", "mkfs_ext4 ");
        // Pasted into a shell that goes on past errors.
        let done = Command::new("sh").args(["-c", &script]).output().unwrap();
        let table = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let said = format!("{script}\n{}", String::from_utf8_lossy(&done.stderr));
        let (crypttab, fstab) = (table("crypttab"), table("fstab"));
        if failing.is_empty() {
            assert!(done.status.success(), "{said}");
            assert_eq!(crypttab, "NAME UUID=4711 none luks,nofail\n", "{said}");
            let entry = format!("/dev/mapper/NAME {at}/my\\040own\\040files ext4 noatime,nofail 0 2\n");
            assert_eq!(fstab, entry, "{said}");
        } else {
            assert!(!done.status.success(), "{said}");
            assert_eq!((crypttab, fstab), (String::new(), String::new()), "{said}");
        }
    }
}

/// As somebody types them, with this machine's `/etc/fstab` out of reach; mounted where this kernel can.
#[test]
fn loop_the_lines_make_every_filesystem_there_are_tools_for() {
    let kernel = std::fs::read_to_string("/proc/filesystems").unwrap();
    let mut mounted = Vec::new();
    for filesystem in registry() {
        let program = filesystem.mkfs.program;
        if fsverdict_linux::sandbox::program::find_installed_program(program).is_none() {
            // No Debian release has the tools of bcachefs.
            assert!(["bcachefs", "zfs"].contains(&filesystem.name), "{}", filesystem.name);
            continue;
        }
        // A pool would be one of this machine's.
        if filesystem.pool.is_some() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let mut lines = to_use(&candidate(filesystem.name, "none"), 1, Data).unwrap().lines;
        let mounts = kernel.lines().any(|line| line.trim() == filesystem.name);
        assert_eq!(lines.remove(0), "DEVICE=/dev/disk/by-id/NAME FOLDER=/mnt/data");
        let last = lines.pop().unwrap();
        if !mounts {
            let entry = lines.pop().unwrap();
            lines.push(entry.trim_end_matches(" &&").to_owned());
        }
        let look = if mounts {
            format!("{last}\nfindmnt --noheadings --output FSTYPE \"$FOLDER\"\numount \"$FOLDER\"")
        } else {
            String::new()
        };
        let script = format!(
            "truncate -s 1G {at}/image\n: >{at}/fstab\nmount --bind {at}/fstab /etc/fstab\nFOLDER='{at}/my data'\n\
             DEVICE=$(losetup --find --show {at}/image)\ntrap 'losetup --detach \"$DEVICE\"' EXIT\n{}\ncat /etc/fstab\n{look}\n",
            lines.join("\n")
        );
        std::fs::write(folder.path().join("script"), &script).unwrap();
        let whole = format!("yes y | unshare --mount sh -eu {at}/script");
        let done = Command::new("sh").args(["-c", &whole]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{script}\n{said}\n{}", String::from_utf8_lossy(&done.stderr));
        let entry = format!("{at}/my\\040data {} ", filesystem.name);
        assert!(said.contains("UUID=") && said.contains(&entry), "{said}");
        if mounts {
            assert_eq!(said.trim_end().lines().last(), Some(filesystem.name), "{said}");
            mounted.push(filesystem.name);
        }
    }
    assert!(mounted.contains(&"ext4"), "{mounted:?}");
}

/// Every filesystem, plain and encrypted, in every role, on one device and on two: what a system boots from alone is told how
/// to boot, and what is carried about alone enters no table.
#[test]
fn each_recipe_is_that_of_its_role() {
    for filesystem in registry() {
        for (encryption, devices) in [("none", 1), ("luks2", 1), ("none", 2)] {
            for role in [Data, Root, Removable] {
                let made = to_use(&candidate(filesystem.name, encryption), devices, role).unwrap();
                check_recipe(&made.lines, &made.notes, filesystem.pool.is_some(), role);
                let is_named = made.notes.iter().any(|note| note.contains(filesystem.facts.as_root));
                let is_special = !filesystem.facts.as_root.is_empty();
                assert_eq!(is_special && is_named, is_special && role == Root, "{made:?}");
            }
        }
    }
}

fn check_recipe(lines: &[String], notes: &[String], is_pool: bool, role: FilesystemRole) {
    let shown = format!("{}\n{}", lines.join("\n"), notes.join("\n"));
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    let (has_mkfs, has_mount) = (count("mkfs") + count("mke2fs") + count("bcachefs format"), count("mount "));
    assert!(is_pool || has_mkfs == 1 && has_mount == 1, "{shown}");
    assert_eq!(count(">>/etc/fstab"), usize::from(role == Data && !is_pool), "{shown}");
    assert_eq!(count("'/etc/fstab: '"), usize::from(role == Root && !is_pool), "{shown}");
    assert_eq!(count("/etc/") > 0, role != Removable && (!is_pool || count("cryptsetup") > 0), "{shown}");
    assert_eq!(shown.contains("initramfs"), role == Root, "{shown}");
    assert_eq!(shown.contains("nofail"), role == Data && (!is_pool || count("cryptsetup") > 0), "{shown}");
    // Each line but the last runs the next one only on success, and no variable is read that no line sets.
    let (last, steps) = lines.split_last().unwrap();
    let is_setting = |line: &&String| line.split(' ').all(|word| word.contains('='));
    let steps: Vec<&String> = steps.iter().filter(|line| !is_setting(line)).collect();
    assert!(steps.iter().all(|line| line.ends_with(" &&")) && !last.ends_with("&&"), "{shown}");
    let mut known: Vec<&str> = Vec::new();
    for line in lines {
        for read in line.split('$').skip(1) {
            let read = read.trim_start_matches('{');
            let end = read.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(read.len());
            assert!(read.starts_with('(') || known.contains(&&read[..end]), "{}: {shown}", &read[..end]);
        }
        let set = line.split(' ').filter_map(|word| word.split_once('='));
        known.extend(set.map(|(name, _)| name));
    }
}

#[test]
fn presets_say_what_is_a_root_and_what_is_carried() {
    let role = |name: &str| {
        let preset = presets().iter().find(|preset| preset.name == name).unwrap();
        let plan = crate::cli::with_vocabulary(|vocabulary| {
            fsverdict_judgement::plan::read_with(preset.toml, name, &Default::default(), vocabulary)
        });
        let plan = plan.unwrap();
        role_of(&plan, &plan.candidates[0])
    };
    for (name, expected) in [
        ("laptop-root", Root),
        ("pi-card", Root),
        ("home-assistant", Root),
        ("root-on-flash", Root),
        ("stick", Removable),
        ("usb-unplug", Removable),
        ("nextcloud", Data),
        ("sqlite-app", Data),
        ("photo-backup", Data),
        ("usb-backup", Data),
    ] {
        assert_eq!(role(name), expected, "{name}");
    }
}
