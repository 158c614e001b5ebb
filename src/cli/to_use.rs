//! For the end of a verdict: the commands that set up the recommended candidate on the user's own system.

use fsverdict_judgement::plan::{Candidate, split_layer, with_devices};
use fsverdict_lab::trial::{Arrangement, Below, LayerSite};
use fsverdict_report::{ToUse, shell_word};
use fsverdict_stack::filesystem::{Filesystem, MountOptions, find_filesystem};
use fsverdict_stack::layer::{Layer, LayerPlace};

/// The shell variable with the path of the device of this number.
fn device(number: usize) -> String {
    format!("$DEVICE{}", of_further(number))
}

/// Variables in lines that the user has to set, with an example of each.
const CHOSEN: [(&str, &str); 3] =
    [("$HEADER", "HEADER=/root/luks-header"), ("$SIZE", "SIZE=100G"), ("$POOL", "POOL=tank")];

/// The name of a layer that is opened on the device of this number. It begins with the device's own name, so that
/// layers on two devices have different names.
fn name(number: usize, layer: usize) -> String {
    let layer = if layer == 0 { String::new() } else { format!("-{}", layer + 1) };
    // The hyphen ends the variable's name: a digit would be read as a part of it.
    format!("$NAME{}{layer}", of_further(number))
}

/// The number behind the names of variables for further devices; empty for the first device.
fn of_further(number: usize) -> String {
    if number > 1 { number.to_string() } else { String::new() }
}

/// Sets `$MOUNTED` to the folder as fstab(5) needs it: a space would end the field.
const FOLDER_IN_FSTAB: &str = r#"MOUNTED=$(printf %s "$FOLDER" | sed 's/ /\\040/g')"#;
const NOFAIL: &str = "`nofail`: the system boots without it; let jobs ask `mountpoint -q FOLDER` first, or they fill the system's disk";
const BY_ITSELF: &str = "ZFS mounts it at each boot by itself: it needs no entry in fstab";
const OWNED_BY_ROOT: &str = "FOLDER belongs to root: `chown USER: FOLDER` after the mount";
const OWNER: [&str; 2] = ["uid=1000", "gid=1000"];
const OWNED: &str = "`uid=` and `gid=`: everything on it belongs to that user and group (`id` prints yours), and otherwise to root, who alone could write";
const DEGRADED: &str = "With a dead disk it is not mounted at boot, but by hand: `mount -o degraded`";
const NO_CLEANER: &str = "Measured without its garbage collector, which mount(8) starts on a real system: without it space does not come back, and with it there is work in the background";

/// Returns the commands that set up this candidate, with notes; `None` for a folder of the user's, which needs none.
/// `devices` is the number of devices in the plan.
pub(super) fn to_use(candidate: &Candidate, devices: usize) -> Option<ToUse> {
    let mut set_up = SetUp::new(candidate, devices)?;
    set_up.add_variables();
    set_up.add_layers();
    let mount = match set_up.filesystem.pool {
        Some(_) => set_up.add_pool(),
        None => set_up.add_filesystem()?,
    };
    set_up.add_variables_to_choose();
    set_up.add_notes(&mount);
    Some(set_up.to_use)
}

/// Collects the commands that set up a candidate, in the order in which the user runs them.
struct SetUp<'a> {
    candidate: &'a Candidate,
    filesystem: &'static Filesystem,
    layers: Vec<&'static Layer>,
    arrangement: Arrangement,
    /// The numbers of the devices that the candidate uses, from 1.
    used: Vec<usize>,
    /// The device nodes of the opened layers, by the number of their site.
    opened: Vec<String>,
    /// Commands that have layers opened at each boot.
    at_boot: Vec<String>,
    to_use: ToUse,
}

impl<'a> SetUp<'a> {
    fn new(candidate: &'a Candidate, devices: usize) -> Option<Self> {
        let filesystem = find_filesystem(&candidate.filesystem)?;
        let layers =
            candidate.layers.names().map(fsverdict_stack::layer::find_layer).collect::<Option<_>>()?;
        let arrangement = Arrangement::for_candidate(candidate, devices);
        let used = (1..=devices).filter(|number| arrangement.uses_device(*number)).collect();
        let properties = fsverdict_stack::layer::properties_of(candidate)?;
        let to_use = ToUse {
            candidate: candidate.name.clone(),
            lines: Vec::new(),
            has: properties.has,
            lacks: properties.lacks,
            read_by: properties.read_by,
            source: filesystem.facts.source,
            notes: vec![NOFAIL.to_owned()],
            status: (!filesystem.facts.actively_developed).then_some(filesystem.facts.kernel_status),
        };
        Some(SetUp {
            candidate,
            filesystem,
            layers,
            arrangement,
            used,
            opened: Vec::new(),
            at_boot: Vec::new(),
            to_use,
        })
    }

    /// Sets the variables of devices, of the folder, and of the names of layers.
    fn add_variables(&mut self) {
        let device = |number: &usize| format!("DEVICE{0}=/dev/disk/by-id/NAME{0}", of_further(*number));
        let devices: Vec<String> = self.used.iter().map(device).collect();
        self.to_use.add(&(devices.join(" ") + " FOLDER=/mnt/data"));
        if !self.layers.is_empty() {
            let name = |number: &usize| format!("NAME{0}=${{DEVICE{0}##*/}}", of_further(*number));
            let names: Vec<String> = self.used.iter().map(name).collect();
            self.to_use.add(&names.join(" "));
        }
    }

    /// Makes and opens the layers, from the devices up.
    fn add_layers(&mut self) {
        let options: Vec<&str> = self.candidate.layers.names().map(|layer| split_layer(layer).1).collect();
        for LayerSite { layer: at, below, device } in &self.arrangement.sites {
            let (Some(layer), Some(options)) = (self.layers.get(*at), options.get(*at)) else { continue };
            let name = name(*device, *at);
            let paths: Vec<String> = below.iter().map(|below| self.device_node(*below)).collect();
            let site = LayerPlace { below: &paths, name: &name, options, key: "", bytes: None };
            (layer.in_use.lines)(&site).iter().for_each(|argv| self.to_use.add_step_of(argv));
            let first = below.first().map(|below| self.table_entry(*below)).unwrap_or_default();
            self.at_boot.extend(layer.in_use.at_boot.map(|step| step(&site, &first)));
            let is_new = |note: &String| !self.to_use.notes.contains(note);
            let note = layer.in_use.note.map(str::to_owned).filter(is_new);
            self.to_use.notes.extend(note);
            self.opened.push(layer.kind.device_node(&name));
        }
        let above = self.layers.iter().filter(|layer| layer.kind.is_above());
        self.to_use.notes.extend(above.filter_map(|layer| layer.in_use.note).map(str::to_owned));
    }

    /// Sets the variables that the lines use besides, in front of these lines.
    fn add_variables_to_choose(&mut self) {
        for (named, example) in CHOSEN {
            if self.to_use.lines.iter().any(|line| line.contains(named)) {
                self.to_use.lines.insert(1, example.to_owned());
            }
        }
    }

    /// Makes the filesystem, enters it into fstab(5) and mounts it. Returns how it is mounted, or `None` if it has no
    /// device.
    fn add_filesystem(&mut self) -> Option<MountOptions> {
        let first = self.arrangement.filesystem_devices().next()?.is;
        let of_device = |number| self.top_node(number);
        let mut options: Vec<String> =
            self.candidate.mount.iter().map(|word| with_devices(word, of_device)).collect();
        options.extend(self.add_apart_devices());
        let is_owned = options.iter().any(|option| option.starts_with("uid="));
        if self.filesystem.facts.permissions {
            self.to_use.notes.push(OWNED_BY_ROOT.to_owned());
        }
        if !self.filesystem.facts.permissions && !is_owned {
            options.extend(OWNER.map(str::to_owned));
            self.to_use.notes.push(OWNED.to_owned());
        }
        let made = self.mkfs_argv();
        self.to_use.add_step_of(&made);
        if self.by_uuid() {
            for number in &self.used {
                let of = of_further(*number);
                self.to_use.add_step(&format!("ID{of}=$(blkid -o value -s UUID \"$DEVICE{of}\")"));
            }
        }
        self.to_use.add_step(FOLDER_IN_FSTAB);
        self.to_use.add_step("mkdir -p \"$FOLDER\"");
        self.at_boot.iter().for_each(|step| self.to_use.add_step(step));
        let mount = self.filesystem.mount_in_use(&options);
        self.add_fstab_entry(first, &mount);
        self.to_use.add("mount \"$FOLDER\"");
        Some(mount)
    }

    /// Makes the pool, which the system imports and mounts at each boot by itself.
    fn add_pool(&mut self) -> MountOptions {
        self.to_use.notes = vec![BY_ITSELF.to_owned()];
        self.at_boot.iter().for_each(|step| self.to_use.add_step(step));
        let made = self.mkfs_argv();
        self.to_use.add_last_of(&made);
        self.filesystem.mount_in_use(&self.candidate.mount)
    }

    /// Prepares the devices that options name for a log or journal, and returns the options of mount for them.
    fn add_apart_devices(&mut self) -> Vec<String> {
        let mut options = Vec::new();
        for kind in self.filesystem.apart {
            let device = kind.device_in(&self.candidate.mkfs);
            let Some(path) = device.and_then(|number| self.top_node(number)) else { continue };
            if let Some(words) = kind.prepare {
                let program = [self.filesystem.mkfs.program].into_iter().chain(words.iter().copied());
                let argv: Vec<String> = program.map(str::to_owned).chain([path.clone()]).collect();
                self.to_use.add_step_of(&argv);
            }
            options.extend(kind.mount.map(|option| format!("{option}{path}")));
        }
        options
    }

    fn mkfs_argv(&self) -> Vec<String> {
        let of_device = |number| self.top_node(number);
        let mut mkfs: Vec<String> =
            self.candidate.mkfs.iter().map(|word| with_devices(word, of_device)).collect();
        if self.layers.iter().any(|layer| layer.seal.is_some()) {
            mkfs = self.filesystem.for_large_sectors(&mkfs);
        }
        let taken = if self.filesystem.takes_several { usize::MAX } else { 1 };
        let tops = self.arrangement.filesystem_devices().take(taken);
        let nodes: Vec<String> = tops.map(|top| self.device_node(top.is)).collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        self.filesystem.mkfs_argv_in_use(&nodes, &mkfs, "$POOL", "$FOLDER")
    }

    fn add_fstab_entry(&mut self, first: Below, mount: &MountOptions) {
        let mut options =
            if mount.options.is_empty() { "defaults".to_owned() } else { mount.option_string() };
        if !options.split(',').any(|option| option == "nofail") {
            options.push_str(",nofail");
        }
        let is_checked = self.filesystem.fsck.is_some() && !self.filesystem.checks_itself;
        let checked = if is_checked { "0 2" } else { "0 0" };
        // Quoted, since the options are a plan's; by printf, since some shells' echo makes a space of `\040` again.
        let rest = shell_word(&format!("{} {options} {checked}", mount.kind));
        let device = self.table_entry(first);
        self.to_use.add_step(&format!("printf '%s %s %s\\n' \"{device}\" \"$MOUNTED\" {rest} >>/etc/fstab"));
    }

    /// Names the differences from the measured set-up that the commands cannot show, and the filesystem's status.
    fn add_notes(&mut self, mount: &MountOptions) {
        let notes = &mut self.to_use.notes;
        if let Some(scheduler) = &self.candidate.scheduler {
            notes.push(format!(
                "Measured with the I/O scheduler {scheduler}: /sys/block/…/queue/scheduler takes it until the next boot, a rule of udev keeps it"
            ));
        }
        if self.filesystem.cleaner.is_some() && mount.cleaner.is_none() {
            notes.push(NO_CLEANER.to_owned());
        }
        if self.filesystem.copies.is_some_and(|copies| copies.profiles(&self.candidate.mkfs).is_some()) {
            notes.push(DEGRADED.to_owned());
        }
        if !self.filesystem.facts.as_root.is_empty() {
            notes.push(format!("For the root of a system {}", self.filesystem.facts.as_root));
        }
    }

    /// The device node of a device or of an opened layer.
    fn device_node(&self, below: Below) -> String {
        match below {
            Below::Device(number) => device(number),
            Below::Site(at) => self.opened.get(at).cloned().unwrap_or_default(),
        }
    }

    /// Whether devices are named by their UUID in tables: those of layers are, and of a filesystem that blkid(8) knows.
    fn by_uuid(&self) -> bool {
        self.filesystem.facts.blkid_knows || !self.layers.is_empty()
    }

    /// The name of a node in fstab(5) and similar tables: the UUID of a device, or the paths of all (bcachefs(8)).
    fn table_entry(&self, below: Below) -> String {
        match below {
            Below::Device(_) if !self.by_uuid() => {
                let paths: Vec<String> = self.used.iter().map(|number| device(*number)).collect();
                self.filesystem.mounted_as_all(&paths)
            }
            Below::Device(number) => format!("UUID=$ID{}", of_further(number)),
            Below::Site(_) => self.device_node(below),
        }
    }

    /// The topmost node on the device of this number, once all layers are opened.
    fn top_node(&self, number: usize) -> Option<String> {
        let top = self.arrangement.tops.iter().find(|top| top.device == number)?;
        Some(self.device_node(top.is))
    }
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
        stacked.layers = fsverdict_judgement::plan::Layers::from_names(["luks2", "luks1"]).unwrap();
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
        let mut pool = candidate("zfs", "none");
        pool.mkfs = ["-O", "encryption=aes-256-gcm", "mirror"].map(str::to_owned).into();
        let pool = to_use(&pool, 2).unwrap();
        let lines = [
            "DEVICE=/dev/disk/by-id/NAME DEVICE2=/dev/disk/by-id/NAME2 FOLDER=/mnt/data",
            "POOL=tank",
            "zpool create -m \"$FOLDER\" -O keyformat=passphrase -O encryption=aes-256-gcm \"$POOL\" mirror \"$DEVICE\" \"$DEVICE2\"",
        ];
        assert_eq!(pool.lines, lines);
        let exfat = to_use(&candidate("exfat", "none"), 1).unwrap();
        assert!(exfat.lines.join("\n").contains("'exfat uid=1000,gid=1000,nofail 0 2'"), "{exfat:?}");
        assert!(exfat.notes.iter().any(|note| note.contains("belongs to that user")), "{exfat:?}");
        let mut twice = candidate("bcachefs", "none");
        twice.mkfs = vec!["--replicas=2".to_owned()];
        let twice = to_use(&twice, 2).unwrap();
        assert!(twice.lines.join("\n").contains("\"$DEVICE:$DEVICE2\" \"$MOUNTED\" 'bcachefs "), "{twice:?}");
        assert!(!twice.lines.join("\n").contains("blkid"), "{twice:?}");
        assert!(twice.notes.iter().any(|note| note.contains("-o degraded")), "{twice:?}");
        assert!(
            !to_use(&candidate("btrfs", "none"), 1)
                .unwrap()
                .notes
                .iter()
                .any(|note| note.contains("degraded"))
        );
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
