//! For the end of a verdict: how whom it takes is made on a system of one's own.

use crate::filesystem::find;
use crate::layer::find_encryption;
use crate::plan::{Candidate, quoted};
use crate::report::ToUse;

/// Where an opened encrypted device is found.
const OPENED: &str = "/dev/mapper/data";
const NAME: &str = "data";
/// Whoever types the lines has named it.
const DEVICE: &str = "$DEVICE";
const DISCARDS: &str = "Measured with discards passed through the encryption, which shows which blocks are in use: `discard` in /etc/crypttab allows them";
const NO_CLEANER: &str = "Measured without its garbage collector, which mount(8) starts on a real system: without it space does not come back, and with it there is work in the background";

/// None for a folder of the user's, which was there before.
pub(super) fn to_use(candidate: &Candidate) -> Option<ToUse> {
    let filesystem = find(&candidate.filesystem)?;
    let encryption = find_encryption(&candidate.encryption)?;
    let properties = filesystem.properties(&candidate.mkfs, &candidate.mount);
    let mut to_use = ToUse {
        candidate: candidate.name.clone(),
        lines: Vec::new(),
        has: properties.has,
        lacks: properties.lacks,
        read_by: properties.read_by,
        source: filesystem.facts.source,
        notes: Vec::new(),
    };
    to_use.add("DEVICE=/dev/disk/by-id/NAME FOLDER=/mnt/data");
    let encrypted = encryption.in_use_argv(DEVICE, NAME);
    let device = if encrypted.is_empty() { DEVICE } else { OPENED };
    encrypted.iter().for_each(|argv| to_use.add_program(argv));
    to_use.add_program(&filesystem.mkfs_argv_in_use(device, &candidate.mkfs));
    let id = "UUID=$(blkid -o value -s UUID \"$DEVICE\")";
    let by = if encrypted.is_empty() {
        id
    } else {
        to_use.add(&format!("echo \"{NAME} {id} none luks\" >>/etc/crypttab"));
        to_use.notes.push(DISCARDS.to_owned());
        OPENED
    };
    let mount = filesystem.mount_in_use(&candidate.mount);
    let options = if mount.options.is_empty() { "defaults".to_owned() } else { mount.option_string() };
    let checked = if filesystem.fsck.is_some() { "0 2" } else { "0 0" };
    // Quoted, since the options are a plan's.
    let rest = quoted(&format!(" {} {options} {checked}", mount.kind));
    to_use.add(&format!("echo \"{by} $FOLDER\"{rest} >>/etc/fstab"));
    to_use.add("mkdir -p \"$FOLDER\" && mount \"$FOLDER\"");
    if let Some(scheduler) = &candidate.scheduler {
        to_use.notes.push(format!(
            "Measured with the I/O scheduler {scheduler}: /sys/block/…/queue/scheduler takes it until the next boot, a rule of udev keeps it"
        ));
    }
    if filesystem.cleaner.is_some() && mount.cleaner.is_none() {
        to_use.notes.push(NO_CLEANER.to_owned());
    }
    if !filesystem.facts.kernel_status.starts_with("In the kernel, actively developed.") {
        to_use.notes.push(filesystem.facts.kernel_status.to_owned());
    }
    Some(to_use)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{NAME, to_use};
    use crate::filesystem::registry;
    use crate::plan::Candidate;

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
        let lines =
            |filesystem, encryption| to_use(&candidate(filesystem, encryption)).unwrap().lines.join("\n");
        let ext4 = lines("ext4", "none");
        let made = "mkfs.ext4 -b 4096 -i 16384 -O ^has_journal -L 'my files' \"$DEVICE\"\n";
        assert!(ext4.contains(made), "{ext4}");
        assert!(
            ext4.contains("' ext4 noatime 0 2' >>/etc/fstab\n") && !ext4.contains("noinit_itable"),
            "{ext4}"
        );
        assert!(lines("f2fs", "none").contains("mkfs.f2fs \"$DEVICE\"\n"));
        let luks = lines("xfs", "luks2");
        assert!(luks.contains("cryptsetup luksFormat --type luks2 \"$DEVICE\"\ncryptsetup open \"$DEVICE\" data\nmkfs.xfs /dev/mapper/data\n"), "{luks}");
        assert!(luks.contains(" none luks\" >>/etc/crypttab\n"), "{luks}");
        assert!(!luks.contains("iterations") && !luks.contains("--batch-mode"), "{luks}");
        let nilfs2 = to_use(&candidate("nilfs2", "none")).unwrap();
        assert!(nilfs2.notes.iter().any(|note| note.contains("garbage collector")), "{:?}", nilfs2.notes);
        assert!(to_use(&candidate(crate::plan::DIRECTORY, "none")).is_none());
    }

    /// As somebody types them, with this machine's `/etc/fstab` out of reach; mounted where this kernel can.
    #[test]
    fn loop_the_lines_make_every_filesystem_there_are_tools_for() {
        let kernel = std::fs::read_to_string("/proc/filesystems").unwrap();
        let mut mounted = Vec::new();
        for filesystem in registry() {
            if crate::host::program::locate(filesystem.mkfs.program).is_none() {
                // No Debian release has the tools.
                assert_eq!(filesystem.name, "bcachefs");
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().display();
            let mut lines = to_use(&candidate(filesystem.name, "none")).unwrap().lines;
            let mounts = kernel.lines().any(|line| line.trim() == filesystem.name);
            assert_eq!(lines.remove(0), "DEVICE=/dev/disk/by-id/NAME FOLDER=/mnt/data");
            let last = lines.pop().unwrap();
            let look = if mounts {
                format!("{last}\nfindmnt --noheadings --output FSTYPE \"$FOLDER\"\numount \"$FOLDER\"")
            } else {
                String::new()
            };
            let script = format!(
                "truncate -s 1G {at}/image\n: >{at}/fstab\nmount --bind {at}/fstab /etc/fstab\nFOLDER={at}/{NAME}\n\
                 DEVICE=$(losetup --find --show {at}/image)\ntrap 'losetup --detach \"$DEVICE\"' EXIT\n{}\ncat /etc/fstab\n{look}\n",
                lines.join("\n")
            );
            std::fs::write(folder.path().join("script"), &script).unwrap();
            let whole = format!("yes y | unshare --mount sh -eu {at}/script");
            let done = Command::new("sh").args(["-c", &whole]).output().unwrap();
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success(), "{script}\n{said}\n{}", String::from_utf8_lossy(&done.stderr));
            let entry = format!("{at}/{NAME} {} ", filesystem.name);
            assert!(said.contains("UUID=") && said.contains(&entry), "{said}");
            if mounts {
                assert_eq!(said.trim_end().lines().last(), Some(filesystem.name), "{said}");
                mounted.push(filesystem.name);
            }
        }
        assert!(mounted.contains(&"ext4"), "{mounted:?}");
    }
}
