//! For the end of a verdict: the commands that set up the recommended candidate on the user's own system.

use fsverdict_judgement::plan::{Candidate, split_layer, with_devices};
use fsverdict_lab::trial::{Arrangement, Below, LayerSite};
use fsverdict_report::{ToUse, shell_word};
use fsverdict_stack::filesystem::find_filesystem;
use fsverdict_stack::layer::{Layer, LayerPlace};

/// The shell variable with the path of the device of this number.
fn device(number: usize) -> String {
    format!("$DEVICE{}", of_further(number))
}

/// Variables in a layer's lines that the user has to set, with an example of each.
const CHOSEN: [(&str, &str); 2] = [("$HEADER", "HEADER=/root/luks-header"), ("$SIZE", "SIZE=100G")];

/// The names of opened layers begin with that of the device: those on a second one do not aim at the first.
fn name(number: usize, layer: usize) -> String {
    let layer = if layer == 0 { String::new() } else { format!("-{}", layer + 1) };
    // Else a number behind it would be taken for a part of the variable's.
    format!("$NAME{}{layer}", of_further(number))
}

fn of_further(number: usize) -> String {
    if number > 1 { number.to_string() } else { String::new() }
}

/// In fstab(5) a space ends a field.
const FOLDER_IN_FSTAB: &str = r#"MOUNTED=$(printf %s "$FOLDER" | sed 's/ /\\040/g')"#;
const NOFAIL: &str = "`nofail`: boots without it";
const NO_CLEANER: &str = "Measured without its garbage collector, which mount(8) starts on a real system: without it space does not come back, and with it there is work in the background";

/// None for a folder of the user's, which was there before. `devices` is how many the plan has.
pub(super) fn to_use(candidate: &Candidate, devices: usize) -> Option<ToUse> {
    let filesystem = find_filesystem(&candidate.filesystem)?;
    let layers: Vec<&Layer> =
        candidate.layers.names().map(fsverdict_stack::layer::find_layer).collect::<Option<_>>()?;
    let options: Vec<&str> = candidate.layers.names().map(|layer| split_layer(layer).1).collect();
    let arrangement = Arrangement::for_candidate(candidate, devices);
    let used: Vec<usize> = (1..=devices).filter(|number| arrangement.uses_device(*number)).collect();
    let properties = filesystem.properties(&candidate.mkfs, &candidate.mount);
    let mut to_use = ToUse {
        candidate: candidate.name.clone(),
        lines: Vec::new(),
        has: properties.has,
        lacks: properties.lacks,
        read_by: properties.read_by,
        source: filesystem.facts.source,
        notes: vec![NOFAIL.to_owned()],
    };
    let named = |number: &usize| format!("DEVICE{0}=/dev/disk/by-id/NAME{0}", of_further(*number));
    to_use.add(&(used.iter().map(named).collect::<Vec<_>>().join(" ") + " FOLDER=/mnt/data"));
    if !layers.is_empty() {
        let names = used.iter().map(|number| format!("NAME{0}=${{DEVICE{0}##*/}}", of_further(*number)));
        to_use.add(&names.collect::<Vec<_>>().join(" "));
    }
    // The device nodes of the opened layers, in their order.
    let mut opened: Vec<String> = Vec::new();
    let node = |below: Below, opened: &[String]| match below {
        Below::Device(number) => device(number),
        Below::Site(at) => opened.get(at).cloned().unwrap_or_default(),
    };
    let by = |below: Below, opened: &[String]| match below {
        Below::Device(number) => format!("UUID=$ID{}", of_further(number)),
        Below::Site(_) => node(below, opened),
    };
    let mut at_boot = Vec::new();
    for LayerSite { layer: at, below, device } in &arrangement.sites {
        let (Some(layer), Some(options)) = (layers.get(*at), options.get(*at)) else { continue };
        let name = name(*device, *at);
        let paths: Vec<String> = below.iter().map(|below| node(*below, &opened)).collect();
        let site = LayerPlace { below: &paths, name: &name, options, key: "", bytes: None };
        (layer.in_use.lines)(&site).iter().for_each(|argv| to_use.add_step_of(argv));
        let first = below.first().map(|below| by(*below, &opened)).unwrap_or_default();
        at_boot.extend(layer.in_use.at_boot.map(|step| step(&site, &first)));
        let note = layer.in_use.note.map(str::to_owned).filter(|note| !to_use.notes.contains(note));
        to_use.notes.extend(note);
        opened.push(layer.kind.device_node(&name));
    }
    for (named, example) in CHOSEN {
        if to_use.lines.iter().any(|line| line.contains(named)) {
            to_use.lines.insert(1, example.to_owned());
        }
    }
    let above = layers.iter().filter(|layer| layer.kind.is_above());
    to_use.notes.extend(above.filter_map(|layer| layer.in_use.note).map(str::to_owned));
    let first = arrangement.filesystem_devices().next()?.is;
    let by = by(first, &opened);
    let of_device = |number: usize| {
        let top = arrangement.tops.iter().find(|top| top.device == number)?;
        Some(node(top.is, &opened))
    };
    let mut mkfs: Vec<String> = candidate.mkfs.iter().map(|word| with_devices(word, of_device)).collect();
    if layers.iter().any(|layer| layer.seal.is_some()) {
        mkfs = filesystem.for_large_sectors(&mkfs);
    }
    let mut options: Vec<String> = candidate.mount.iter().map(|word| with_devices(word, of_device)).collect();
    for kind in filesystem.apart {
        let Some(path) = kind.device_in(&candidate.mkfs).and_then(of_device) else { continue };
        if let Some(words) = kind.prepare {
            let program = [filesystem.mkfs.program].into_iter().chain(words.iter().copied());
            let argv: Vec<String> = program.map(str::to_owned).chain([path.clone()]).collect();
            to_use.add_step_of(&argv);
        }
        options.extend(kind.mount.map(|option| format!("{option}{path}")));
    }
    let taken = if filesystem.takes_several { usize::MAX } else { 1 };
    let on: Vec<String> =
        arrangement.filesystem_devices().take(taken).map(|top| node(top.is, &opened)).collect();
    let on: Vec<&str> = on.iter().map(String::as_str).collect();
    let made = filesystem.mkfs_argv_in_use(&on, &mkfs);
    to_use.add_step_of(&made);
    for number in &used {
        let of = of_further(*number);
        to_use.add_step(&format!("ID{of}=$(blkid -o value -s UUID \"$DEVICE{of}\")"));
    }
    to_use.add_step(FOLDER_IN_FSTAB);
    to_use.add_step("mkdir -p \"$FOLDER\"");
    at_boot.iter().for_each(|step| to_use.add_step(step));
    let mount = filesystem.mount_in_use(&options);
    let mut options = if mount.options.is_empty() { "defaults".to_owned() } else { mount.option_string() };
    if !options.split(',').any(|option| option == "nofail") {
        options.push_str(",nofail");
    }
    let checked = if filesystem.fsck.is_some() && !filesystem.checks_itself { "0 2" } else { "0 0" };
    // Quoted, since the options are a plan's; by printf, since some shells' echo makes a space of `\040` again.
    let rest = shell_word(&format!("{} {options} {checked}", mount.kind));
    to_use.add_step(&format!("printf '%s %s %s\\n' \"{by}\" \"$MOUNTED\" {rest} >>/etc/fstab"));
    to_use.add("mount \"$FOLDER\"");
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

    use super::to_use;
    use fsverdict_judgement::plan::Candidate;
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
        let lines =
            |filesystem, encryption| to_use(&candidate(filesystem, encryption), 1).unwrap().lines.join("\n");
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
        stacked.layers = fsverdict_judgement::plan::Layers::of(["luks2", "luks1"]).unwrap();
        let stacked = to_use(&stacked, 1).unwrap();
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
        let nilfs2 = to_use(&candidate("nilfs2", "none"), 1).unwrap();
        assert!(nilfs2.notes.iter().any(|note| note.contains("garbage collector")), "{:?}", nilfs2.notes);
        assert!(to_use(&candidate(fsverdict_judgement::plan::DIRECTORY, "none"), 1).is_none());
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
            let lines = to_use(&candidate("ext4", encryption), 1).unwrap().lines.join("\n");
            let lines = lines
                .replace("/etc/", &format!("{at}/"))
                .replace("FOLDER=/mnt/data", &format!("FOLDER='{at}/my own files'"));
            script =
                script.replace("mkfs.ext4()", "mkfs_ext4()") + &lines.replace("mkfs.ext4 ", "mkfs_ext4 ");
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
            if fsverdict_linux::sandbox::program::find_program(filesystem.mkfs.program).is_none() {
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
            let mut lines = to_use(&candidate(filesystem.name, "none"), 1).unwrap().lines;
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
}
