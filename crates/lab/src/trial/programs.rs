//! The command lines of a trial, by the names that things have there: those the agent runs, and those a dry run tells.

use std::path::PathBuf;

use fsverdict_judgement::plan::{Candidate, Operation, with_devices};
use fsverdict_stack::filesystem::{
    ApartDevice, Cleaner, Filesystem, MountOptions, PoolPrograms, SnapshotPlace,
};

/// Where the filesystem under test is mounted, below the agent's own tmpfs.
pub(super) const MOUNT: &str = "/tmp/fsverdict/mount";
/// The file with the key of an encrypted pool.
pub(super) const POOL_KEY: &str = "/tmp/fsverdict/pool-key";

/// The names that a trial's programs are given for the place they run in.
#[derive(Debug, Clone)]
pub(super) struct TrialNames {
    /// The devices of the filesystem in order, followed by those that options name.
    pub(super) tops: Vec<NamedTop>,
    /// The device that the filesystem's pool is named by, even where it is missing; the first of `tops` if absent.
    pub(super) names_pool: Option<String>,
    /// Whether one of its devices is missing.
    pub(super) degraded: bool,
    /// Whether it lies on a sealed layer, and is read-only.
    pub(super) sealed: bool,
    pub(super) mount: &'static str,
}

/// The path of the topmost node on a device when all layers are open.
#[derive(Debug, Clone)]
pub(super) struct NamedTop {
    /// The number of its device, from 1.
    pub(super) device: usize,
    /// Whether an option names it.
    pub(super) apart: bool,
    pub(super) path: PathBuf,
}

impl TrialNames {
    /// The path of a device that an option names.
    fn apart_device_path(&self, number: usize) -> Option<String> {
        let top = self.tops.iter().find(|top| top.device == number)?;
        Some(top.path.to_string_lossy().into_owned())
    }

    /// The paths that the filesystem itself lies on.
    fn filesystem_paths(&self) -> Vec<String> {
        let filesystem_tops = self.tops.iter().filter(|top| !top.apart);
        filesystem_tops.map(|top| top.path.to_string_lossy().into_owned()).collect()
    }

    /// The same with those that options name, which are parts of a pool, and of a filesystem that joins its devices.
    fn all_paths(&self) -> Vec<String> {
        self.tops.iter().map(|top| top.path.to_string_lossy().into_owned()).collect()
    }

    /// The device that programs are given: the first of these, or the one that names the pool.
    fn first_device<'a>(&'a self, own: &'a [String]) -> &'a str {
        self.names_pool.as_ref().or(own.first()).map_or("", String::as_str)
    }

    fn put_in(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| with_devices(word, |number| self.apart_device_path(number))).collect()
    }
}

/// The parts of a candidate that determine its command lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) filesystem: &'static Filesystem,
}

/// Programs that are run once a trial's layers are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Makes the device of a log or journal ready, where the filesystem's own mkfs does not do it.
    Apart,
    Mkfs,
    /// Makes the pool known to the kernel, in which the filesystem lies.
    Import,
    Mount,
    Cleaner,
    Unmount,
    /// Lets the kernel forget the pool, with all that is cached of it.
    Export,
    /// Ends the pool's transactions.
    SyncPool,
    /// Has the imported pool read and compared with its checksums, before it is checked.
    Scrub,
    Check,
}

impl Line {
    /// The journal's name of the step; a check has the name of its phase.
    pub(super) const fn step_name(self) -> &'static str {
        match self {
            Line::Apart => "make a device of the journal",
            Line::Mkfs => "mkfs",
            Line::Import => "import the pool",
            Line::Mount => "mount",
            Line::Cleaner => "start the cleaner",
            Line::Unmount => "unmount",
            Line::Export => "export the pool",
            Line::SyncPool => "sync the pool",
            Line::Scrub => "scrub the pool",
            Line::Check => "fsck",
        }
    }
}

impl Programs<'_> {
    /// The command line; `None` if the candidate has no such program.
    pub(super) fn argv_for(&self, line: Line, names: &TrialNames) -> Option<Vec<String>> {
        let (own, mount) = (names.filesystem_paths(), names.mount);
        let top = names.first_device(&own);
        match line {
            Line::Apart => {
                let (kind, device) = self.apart_devices().next()?;
                let words = kind.prepare?;
                let program = [self.filesystem.mkfs.program].into_iter().chain(words.iter().copied());
                Some(program.map(str::to_owned).chain(names.apart_device_path(device)).collect())
            }
            Line::Mkfs => {
                let taken = if self.filesystem.takes_several { own.len() } else { own.len().min(1) };
                let devices: Vec<&str> = own.iter().take(taken).map(String::as_str).collect();
                Some(self.filesystem.mkfs_argv_on(&devices, &names.put_in(&self.mkfs_options())))
            }
            Line::Import => {
                let pool = self.filesystem.pool?;
                let encrypted = pool.is_encrypted(&self.candidate.mkfs);
                Some(pool.import_argv(&self.filesystem.mounted_as(top), &names.all_paths(), encrypted))
            }
            Line::Export | Line::SyncPool | Line::Scrub => {
                let pool = self.filesystem.pool?;
                let words = match line {
                    Line::SyncPool => pool.sync,
                    Line::Scrub => pool.scrub,
                    _ => pool.export,
                };
                Some(PoolPrograms::argv_of(words, &self.filesystem.mounted_as(top)))
            }
            Line::Mount => {
                let source = match self.filesystem.joins_devices {
                    true => self.filesystem.mounted_as_all(&names.all_paths()),
                    false => self.filesystem.mounted_as(top),
                };
                Some(self.mount_options(names).argv(&source, mount))
            }
            Line::Cleaner => Some(self.cleaner()?.argv(top, mount)),
            // Without helpers, as it was mounted: a helper would look for a cleaner that fsverdict started itself.
            Line::Unmount => Some(["umount", "-i", mount].map(str::to_owned).into()),
            Line::Check => {
                let mut argv = self.filesystem.fsck_argv(top)?;
                let device = argv.pop();
                for (kind, number) in self.apart_devices() {
                    argv.extend(
                        kind.fsck.map(str::to_owned).into_iter().chain(names.apart_device_path(number)),
                    );
                }
                argv.extend(device);
                if self.filesystem.joins_devices {
                    argv.extend(names.all_paths().into_iter().skip(1));
                }
                Some(argv)
            }
        }
    }

    /// The command line that mounts the filesystem in a state of its devices: that of the trial, at the mount point itself,
    /// whatever lay above the filesystem.
    pub(super) fn state_mount_argv(&self, names: &TrialNames) -> Option<Vec<String>> {
        self.argv_for(Line::Mount, &TrialNames { mount: MOUNT, ..names.clone() })
    }

    /// The command lines that make the snapshot of this name, give it up, send it (all of it, or what changed since
    /// `base`) or receive it; none where nothing can.
    pub(super) fn snapshot_commands(
        &self,
        operation: Operation,
        names: &TrialNames,
        id: &str,
        base: Option<&str>,
    ) -> Option<Vec<Vec<String>>> {
        let programs = self.filesystem.snapshots.as_ref()?;
        let paths = names.filesystem_paths();
        let device = names.first_device(&paths);
        let place = SnapshotPlace { mount: names.mount, device, id, base };
        match operation {
            Operation::SnapshotCreate => Some(vec![place.argv(programs.create)]),
            Operation::SnapshotRollback => {
                Some(programs.rollback?.iter().map(|line| place.argv(line)).collect())
            }
            Operation::SnapshotDelete => Some(programs.delete.iter().map(|line| place.argv(line)).collect()),
            Operation::SnapshotSend if base.is_some() => {
                Some(vec![place.argv(programs.streams?.send_changes)])
            }
            Operation::SnapshotSend => Some(vec![place.argv(programs.streams?.send_all)]),
            Operation::SnapshotReceive => Some(vec![place.argv(programs.streams?.receive)]),
            _ => None,
        }
    }

    /// The plan's mkfs options, followed by those that the layers need.
    fn mkfs_options(&self) -> Vec<String> {
        let sealed = fsverdict_stack::layer::layers_of(self.candidate).any(|layer| layer.seal.is_some());
        let mut chosen = self.candidate.mkfs.to_vec();
        if let Some(pool) = &self.filesystem.pool {
            chosen.splice(0..0, pool.key_words(&self.candidate.mkfs, POOL_KEY));
        }
        if let Some((asks, without)) = self.filesystem.asks_for_key
            && chosen.iter().any(|word| word == asks)
            && !chosen.iter().any(|word| word == without)
        {
            chosen.push(without.to_owned());
        }
        if sealed { self.filesystem.for_large_sectors(&chosen) } else { chosen }
    }

    /// The devices apart that the candidate names, each with its number.
    fn apart_devices(&self) -> impl Iterator<Item = (&'static ApartDevice, usize)> {
        let words = self.candidate.mkfs.as_slice();
        self.filesystem.apart.iter().filter_map(move |kind| Some((kind, kind.device_in(words)?)))
    }

    fn mount_options(&self, names: &TrialNames) -> MountOptions {
        let mut chosen = names.put_in(&self.candidate.mount);
        for (kind, number) in self.apart_devices() {
            let Some(option) = kind.mount else { continue };
            // The option is added only once: if the plan names it, it means the same.
            if !chosen.iter().any(|given| given.starts_with(option)) {
                chosen.extend(names.apart_device_path(number).map(|path| format!("{option}{path}")));
            }
        }
        let registers = self.filesystem.pool.is_none() && !self.filesystem.joins_devices;
        if self.filesystem.takes_several && registers {
            // The kernel knows the other devices only after each was registered, so all are named.
            chosen.extend(names.filesystem_paths().iter().skip(1).map(|path| format!("device={path}")));
        }
        if self.filesystem.copies.is_some() {
            chosen.extend(names.degraded.then(|| "degraded".to_owned()));
        }
        chosen.extend(names.sealed.then(|| "ro".to_owned()));
        self.filesystem.mount_options(&chosen)
    }

    /// The garbage collector that the candidate asks for.
    pub(super) fn cleaner(&self) -> Option<Cleaner> {
        self.filesystem.mount_options(&self.candidate.mount).cleaner
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, MOUNT, NamedTop, Programs, TrialNames};
    use fsverdict_judgement::plan::Candidate;
    use fsverdict_stack::filesystem::find_filesystem;

    /// The command line of a candidate on two devices, of which its options name the second if it `is_named`.
    fn command_line(filesystem: &str, mkfs: &str, line: Line, is_named: bool) -> String {
        let words = mkfs.split_whitespace().map(str::to_owned).collect();
        let candidate = Candidate { mkfs: words, ..Candidate::with_defaults(filesystem) };
        let top = |device: usize, apart| NamedTop { device, apart, path: format!("/dev/vd{device}").into() };
        let names = TrialNames {
            tops: vec![top(1, false), top(2, is_named)],
            names_pool: None,
            degraded: false,
            sealed: false,
            mount: "/m",
        };
        let programs = Programs { candidate: &candidate, filesystem: find_filesystem(filesystem).unwrap() };
        programs.argv_for(line, &names).unwrap().join(" ")
    }

    #[test]
    fn devices_that_labels_name_are_parts_of_a_filesystem_that_joins_them() {
        let mkfs = "--label=slow.a {device.2} --label=fast.a";
        let of = |line| command_line("bcachefs", mkfs, line, true);
        assert!(
            of(Line::Mkfs).ends_with("--label=slow.a /dev/vd2 --label=fast.a /dev/vd1"),
            "{}",
            of(Line::Mkfs)
        );
        assert_eq!(of(Line::Mount), "mount -i -t bcachefs /dev/vd1:/dev/vd2 /m");
        assert!(of(Line::Check).ends_with("/dev/vd1 /dev/vd2"), "{}", of(Line::Check));
        // An external log is not one of xfs's data devices.
        let log = command_line("xfs", "-l logdev={device.2}", Line::Mkfs, true);
        assert!(log.ends_with("logdev=/dev/vd2 /dev/vd1"), "{log}");
    }

    #[test]
    fn a_trial_types_no_passphrase() {
        let once =
            |mkfs: &str| command_line("bcachefs", mkfs, Line::Mkfs, false).matches("--no_passphrase").count();
        assert_eq!([once("--encrypted"), once("--encrypted --no_passphrase"), once("")], [1, 1, 0]);
    }

    /// The options of mount(8), FILESYSTEM-INDEPENDENT MOUNT OPTIONS (util-linux 2.38), with a value where they take one.
    const OPTIONS_OF_MOUNT: [&str; 53] = [
        "async",
        "atime",
        "noatime",
        "auto",
        "noauto",
        "comment=text",
        "context=c",
        "fscontext=c",
        "defcontext=c",
        "rootcontext=c",
        "defaults",
        "dev",
        "nodev",
        "diratime",
        "nodiratime",
        "dirsync",
        "exec",
        "noexec",
        "group",
        "iversion",
        "noiversion",
        "mand",
        "nomand",
        "_netdev",
        "nofail",
        "relatime",
        "norelatime",
        "strictatime",
        "nostrictatime",
        "lazytime",
        "nolazytime",
        "suid",
        "nosuid",
        "silent",
        "loud",
        "owner",
        "remount",
        "ro",
        "rw",
        "sync",
        "user",
        "nouser",
        "users",
        "X-any.thing=1",
        "x-systemd.automount",
        "x-gvfs-hide",
        "X-mount.auto-fstypes=ext4",
        "X-mount.mkdir",
        "X-mount.subdir=d",
        "X-mount.owner=u",
        "X-mount.group=g",
        "X-mount.mode=755",
        "nosymfollow",
    ];

    /// States were mounted by the system call alone, which refuses options that only mount(8) knows: all were unmountable.
    #[test]
    fn states_are_mounted_by_the_line_of_the_trial_with_every_option_of_mount() {
        for filesystem in ["ext4", "xfs", "btrfs", "bcachefs"] {
            for option in OPTIONS_OF_MOUNT {
                let candidate =
                    Candidate { mount: vec![option.to_owned()], ..Candidate::with_defaults(filesystem) };
                let names = TrialNames {
                    tops: vec![NamedTop { device: 1, apart: false, path: "/dev/vda".into() }],
                    names_pool: None,
                    degraded: false,
                    sealed: false,
                    mount: MOUNT,
                };
                let programs =
                    Programs { candidate: &candidate, filesystem: find_filesystem(filesystem).unwrap() };
                let of_state = programs.state_mount_argv(&names).unwrap();
                assert_eq!(Some(&of_state), programs.argv_for(Line::Mount, &names).as_ref());
                let given = of_state.iter().skip_while(|word| *word != "-o").nth(1).unwrap();
                assert!(
                    of_state[0] == "mount" && given.split(',').any(|word| word == option),
                    "{of_state:?}"
                );
                // Where another filesystem lay above it, it is mounted at the same place as without.
                let below = TrialNames { mount: "/below", ..names };
                assert_eq!(programs.state_mount_argv(&below).unwrap(), of_state);
            }
        }
    }
}
