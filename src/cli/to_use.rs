//! For the end of a verdict: the commands that set up the recommended candidate on the user's own system.

use fsverdict_judgement::plan::{Candidate, FilesystemRole, Plan, split_layer, with_devices};
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
const BY_IMPORT: &str =
    "`zpool import` with the pool's name mounts it on another machine; `zpool export` before it is unplugged";
const BY_DESKTOP: &str = "Nothing is entered into fstab: a desktop mounts it when it is plugged in; elsewhere the line of `mount` does";
/// The use of the printed lines for tables, and the steps that make a filesystem the root of a system.
const AS_ROOT: &str = "For the root of a system: DEVICE is a partition (NAME-partN) beside that of the firmware (EFI); install or copy the system to FOLDER, give its /etc the printed lines, and make its initramfs and boot loader anew from a chroot (Debian: `update-initramfs -u`, `update-grub`)";
const OWNED_BY_ROOT: &str = "FOLDER belongs to root: `chown USER: FOLDER` after the mount";
const OWNER: [&str; 2] = ["uid=1000", "gid=1000"];
const OWNED: &str = "`uid=` and `gid=`: everything on it belongs to that user and group (`id` prints yours), and otherwise to root, who alone could write";
const DEGRADED: &str = "With a dead disk it is not mounted at boot, but by hand: `mount -o degraded`";
/// The further needs of an initramfs, where layers lie below the root.
const LAYERS_OF_ROOT: &str =
    "Its initramfs must open what lies below it, too (Debian: cryptsetup-initramfs, mdadm or lvm2)";

/// The role of a candidate's filesystem: as the plan says; otherwise removable on a modelled stick.
pub(super) fn role_of(plan: &Plan, candidate: &Candidate) -> FilesystemRole {
    let said = plan.work.as_ref().map(|work| work.role).unwrap_or_default();
    match said {
        FilesystemRole::Data
            if plan.models_of(candidate).iter().any(|model| model.name.contains("stick")) =>
        {
            FilesystemRole::Removable
        }
        other => other,
    }
}

/// Returns the commands that set up this candidate for its role, with notes; `None` for a folder of the user's, which needs
/// none. `devices` is the number of devices in the plan.
pub(super) fn to_use(candidate: &Candidate, devices: usize, role: FilesystemRole) -> Option<ToUse> {
    let mut set_up = SetUp::new(candidate, devices, role)?;
    set_up.add_variables();
    set_up.add_layers();
    match set_up.filesystem.pool {
        Some(_) => set_up.add_pool(),
        None => set_up.add_filesystem()?,
    }
    set_up.add_variables_to_choose();
    set_up.add_notes();
    Some(set_up.to_use)
}

/// Collects the commands that set up a candidate, in the order in which the user runs them.
struct SetUp<'a> {
    candidate: &'a Candidate,
    role: FilesystemRole,
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
    fn new(candidate: &'a Candidate, devices: usize, role: FilesystemRole) -> Option<Self> {
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
            notes: vec![
                match role {
                    FilesystemRole::Data => NOFAIL,
                    FilesystemRole::Root => AS_ROOT,
                    FilesystemRole::Removable => BY_DESKTOP,
                }
                .to_owned(),
            ],
            status: (!filesystem.facts.actively_developed).then_some(filesystem.facts.kernel_status),
        };
        Some(SetUp {
            candidate,
            role,
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
        let folder = if self.role == FilesystemRole::Root { "/mnt/target" } else { "/mnt/data" };
        self.to_use.add(&format!("{} FOLDER={folder}", devices.join(" ")));
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
            // Nothing of a removable device is entered into a table.
            let is_of_table =
                |note: &String| self.role == FilesystemRole::Removable && note.contains("/etc/");
            let is_new = |note: &String| !self.to_use.notes.contains(note) && !is_of_table(note);
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

    /// Makes the filesystem, enters it into the tables of its role and mounts it; `None` if it has no device.
    fn add_filesystem(&mut self) -> Option<()> {
        let first = self.arrangement.filesystem_devices().next()?.is;
        let of_device = |number| self.top_node(number);
        let mut options: Vec<String> =
            self.candidate.mount.iter().map(|word| with_devices(word, of_device)).collect();
        options.extend(self.add_apart_devices());
        let is_owned = options.iter().any(|option| option.starts_with("uid="));
        if self.filesystem.facts.permissions && self.role != FilesystemRole::Root {
            self.to_use.notes.push(OWNED_BY_ROOT.to_owned());
        }
        if !self.filesystem.facts.permissions && !is_owned {
            options.extend(OWNER.map(str::to_owned));
            self.to_use.notes.push(OWNED.to_owned());
        }
        let made = self.mkfs_argv();
        self.to_use.add_step_of(&made);
        let mount = self.filesystem.mount_in_use(&options);
        let folder = if self.role == FilesystemRole::Root { "/" } else { "\"$MOUNTED\"" };
        let tables = self.list_table_lines(Some(self.fstab_entry(first, &mount, folder)));
        self.add_ids(&tables);
        if self.role == FilesystemRole::Data {
            self.to_use.add_step(FOLDER_IN_FSTAB);
        }
        self.to_use.add_step("mkdir -p \"$FOLDER\"");
        tables.iter().for_each(|line| self.to_use.add_step(line));
        match self.role {
            FilesystemRole::Data => self.to_use.add("mount \"$FOLDER\""),
            FilesystemRole::Root | FilesystemRole::Removable => {
                let node = match first {
                    Below::Device(_) if !self.by_uuid() => self.table_entry(first),
                    other => self.device_node(other),
                };
                let mut argv = vec!["mount".to_owned(), "-t".to_owned(), mount.kind.to_owned()];
                if !mount.options.is_empty() {
                    argv.extend(["-o".to_owned(), mount.option_string()]);
                }
                argv.extend([node, "$FOLDER".to_owned()]);
                self.to_use.add_last_of(&argv);
            }
        }
        Some(())
    }

    /// Makes the pool, which the system imports and mounts at each boot by itself.
    fn add_pool(&mut self) {
        let first = match self.role {
            FilesystemRole::Data => Some(BY_ITSELF),
            FilesystemRole::Removable => Some(BY_IMPORT),
            FilesystemRole::Root => None,
        };
        self.to_use.notes = first.into_iter().map(str::to_owned).collect();
        let tables = self.list_table_lines(None);
        self.add_ids(&tables);
        tables.iter().for_each(|line| self.to_use.add_step(line));
        let made = self.mkfs_argv();
        self.to_use.add_last_of(&made);
    }

    /// Sets the variables of the UUIDs that these lines use.
    fn add_ids(&mut self, tables: &[String]) {
        let ids = self.used.iter().map(|number| of_further(*number));
        let is_used = |of: &String| {
            let id = format!("UUID=$ID{of}");
            tables.iter().any(|line| line.split([' ', '"', '/']).any(|word| word == id))
        };
        for of in ids.filter(is_used) {
            self.to_use.add_step(&format!("ID{of}=$(blkid -o value -s UUID \"$DEVICE{of}\")"));
        }
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

    /// The lines that enter layers, and a filesystem that is no pool by its `entry`, into tables by the role: none for a
    /// removable device, and for the root of a system those that print what its own tables need.
    fn list_table_lines(&self, entry: Option<String>) -> Vec<String> {
        let printed = |line: &str| {
            let (command, table) = line.rsplit_once(" >>")?;
            Some(format!("printf '{table}: ' && {}", command.replace(",nofail", "")))
        };
        let all = self.at_boot.iter().cloned().chain(entry);
        match self.role {
            FilesystemRole::Removable => Vec::new(),
            FilesystemRole::Data => all.collect(),
            FilesystemRole::Root => all.map(|line| printed(&line).unwrap_or(line)).collect(),
        }
    }

    /// The command that appends the entry to fstab(5).
    fn fstab_entry(&self, first: Below, mount: &MountOptions, folder: &str) -> String {
        let is_root = self.role == FilesystemRole::Root;
        let mut options =
            if mount.options.is_empty() { "defaults".to_owned() } else { mount.option_string() };
        if !is_root && !options.split(',').any(|option| option == "nofail") {
            options.push_str(",nofail");
        }
        let is_checked = self.filesystem.fsck.is_some() && !self.filesystem.checks_itself;
        let checked = match (is_checked, is_root) {
            (true, true) => "0 1",
            (true, false) => "0 2",
            (false, _) => "0 0",
        };
        // Quoted, since the options are a plan's; by printf, since some shells' echo makes a space of `\040` again.
        let rest = shell_word(&format!("{} {options} {checked}", mount.kind));
        format!("printf '%s %s %s\\n' \"{}\" {folder} {rest} >>/etc/fstab", self.table_entry(first))
    }

    /// Names the differences from the measured set-up that the commands cannot show, and the filesystem's status.
    fn add_notes(&mut self) {
        let notes = &mut self.to_use.notes;
        if let Some(scheduler) = &self.candidate.scheduler {
            notes.push(format!(
                "Measured with the I/O scheduler {scheduler}: /sys/block/…/queue/scheduler takes it until the next boot, a rule of udev keeps it"
            ));
        }
        if self.filesystem.copies.is_some_and(|copies| copies.profiles(&self.candidate.mkfs).is_some()) {
            notes.push(DEGRADED.to_owned());
        }
        if self.role == FilesystemRole::Root {
            if !self.filesystem.facts.as_root.is_empty() {
                notes.push(format!(
                    "For {} as a root {}",
                    self.filesystem.title, self.filesystem.facts.as_root
                ));
            }
            if !self.layers.is_empty() {
                notes.push(LAYERS_OF_ROOT.to_owned());
            }
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
mod tests;
