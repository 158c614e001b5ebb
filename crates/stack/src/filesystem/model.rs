//! The description of one filesystem, and the command lines that follow from it.

use fsverdict_disk::device::Action;

use super::copies::CopyPrograms;
use super::exit::{ExitCodes, FsckStatus};
use super::facts::FilesystemFacts;
use super::known_options::KnownOptions;
use super::mkfs::{MkfsDefault, merge_options};
use super::mount::{Cleaner, MountOptions, build_mount};
use super::option_effects::SafetyOption;
use super::pool::{PoolPrograms, pool_name};
use super::pool_status::judge_status;
use super::snapshot::SnapshotPrograms;
use super::tool::{Packages, Tool};
use fsverdict_judgement::plan::FilesystemAbility;

/// A symbol of the kernel's configuration that an option needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalCode {
    /// The text in a word of mkfs, or in a mount option, that asks for this code of the kernel.
    pub option: &'static str,
    pub config: &'static str,
}

/// The description of one filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filesystem {
    /// Its name in plans, in `/proc/filesystems` and for mount(2).
    pub name: &'static str,
    pub title: &'static str,
    /// A description of it and of the fair defaults, in one paragraph.
    pub summary: &'static str,
    /// Kernel drivers that serve it; any one will do. The one a distribution is likelier to have comes first.
    pub drivers: &'static [Driver],
    /// Options with code that the kernel's configuration may leave out: without it the mount succeeds, and the option
    /// does nothing.
    pub optional_code: &'static [OptionalCode],
    pub mkfs: Tool,
    /// The default options of mkfs, in addition to the plan's.
    pub mkfs_defaults: &'static [MkfsDefault],
    /// Options of mkfs with a comma-separated list as value; mkfs would silently use only the last of several, so they
    /// are merged.
    pub mkfs_lists: &'static [&'static str],
    /// The mkfs option and value for a device with sectors smaller than 4096 bytes now, and of 4096 bytes later.
    pub large_sectors: Option<[&'static str; 2]>,
    /// Options given to mount(8) before the plan's own.
    pub mount_defaults: &'static [&'static str],
    /// Checks it; none where there is no checker (nilfs2).
    pub fsck: Option<Fsck>,
    /// How it is brought back after a crash.
    pub recovery: Recovery,
    /// A garbage collector that runs in user space (nilfs2).
    pub cleaner: Option<Cleaner>,
    /// Its background work.
    pub background: &'static [BackgroundJob],
    /// Smallest device mkfs accepts with the fair defaults and the kernel mounts, bytes, rounded up to whole MiB.
    pub minimum_size: u64,
    /// Whether mkfs leaves tables of inodes unwritten under the fair defaults.
    pub leaves_tables_unwritten: bool,
    /// Its checker for the boot does nothing by design (fsck.xfs(8), fsck.btrfs(8)): fstab(5) is not to ask for it.
    pub checks_itself: bool,
    /// Whether its mkfs takes several devices, one after the other, of which it makes one filesystem.
    pub takes_several: bool,
    /// Whether mount(2) and the checker are told all of its devices: mount(2) in one word, with colons between.
    pub joins_devices: bool,
    /// Nodes below `/dev` that its programs need besides its devices.
    pub nodes: &'static [&'static str],
    /// The programs of the pool it lies in, if it lies in one.
    pub pool: Option<PoolPrograms>,
    /// Words of mkfs that ask for a key, and a word with which they do not: a trial has no secrets.
    pub asks_for_key: Option<(&'static str, &'static str)>,
    /// How it is used without one of its devices, if it keeps copies on several and lies in no pool.
    pub copies: Option<CopyPrograms>,
    /// The part of it that can lie on a separate device.
    pub apart: &'static [ApartDevice],
    /// How it keeps a state of itself, where it can.
    pub snapshots: Option<SnapshotPrograms>,
    /// Options that change which data survive a power cut or the loss of a device.
    pub option_effects: &'static [&'static [SafetyOption]],
    /// Options that its manuals name.
    pub options: KnownOptions,
    pub facts: FilesystemFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driver {
    /// The symbol in the kernel's configuration that must be `y` or `m`.
    pub config: &'static str,
    /// The modules to load, in order, if it is `m`; `modprobe` finds their dependencies.
    pub modules: &'static [&'static str],
}

/// Work of a background thread that no caller waits for, and that the device does all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundJob {
    /// The name of the kernel thread or program.
    pub thread: &'static str,
    pub is_kernel: bool,
    /// The requests that it submits.
    pub actions: &'static [Action],
    /// A phrase that continues "the device".
    pub does: &'static str,
    /// Whether every mount has it done, once.
    pub once_per_mount: bool,
    /// The option that disables it.
    pub avoided_by: &'static str,
}

/// A checker that looks and does not touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fsck {
    pub tool: Tool,
    /// Options that make it check everything, repair nothing and ask nothing; the device follows.
    pub options: &'static [&'static str],
    pub exit_codes: ExitCodes,
}

/// How a filesystem is recovered after its device lost power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Options that make the checker repair as much as possible without questions; the device follows. `None` if its
    /// manual advises against it.
    pub repair: Option<&'static [&'static str]>,
    /// Whether that comes before each mount after a crash, since the kernel replays nothing.
    pub repair_first: bool,
    /// The kernel's messages after replaying a journal or log: any of these.
    pub replayed: &'static [&'static str],
    /// The checker's messages that mean that it could not replay a log, at any exit status.
    pub gave_up: &'static [&'static str],
    /// Options of the checker that make it repair a filesystem that says of itself that it is clean, one way after the other until it
    /// is content; the device follows. None where its manual advises against repairing.
    pub repairs: &'static [&'static [&'static str]],
    /// The exit status of a repair that corrected errors, if a mere check uses it for something else.
    pub corrected: Option<i32>,
}

impl Recovery {
    pub(super) const PLAIN: Recovery = Recovery {
        repair: None,
        repair_first: false,
        replayed: &[],
        gave_up: &[],
        repairs: &[],
        corrected: None,
    };
}

/// A log, journal or the like on a device of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApartDevice {
    /// The words before the device in mkfs' command line.
    pub mkfs: &'static str,
    /// The mount option it takes then, up to the device.
    pub mount: Option<&'static str>,
    /// The option of the checker, which the device follows.
    pub fsck: Option<&'static str>,
    /// The words with which the filesystem's mkfs makes the device ready beforehand, where it has to be.
    pub prepare: Option<&'static [&'static str]>,
}

impl ApartDevice {
    /// The number of the device that these words of mkfs name for it.
    pub fn device_in(&self, words: &[String]) -> Option<usize> {
        let named = |word: &String| {
            let (_, rest) = word.split_once(self.mkfs)?;
            let number = rest.strip_prefix("{device.")?.split_once('}')?.0;
            number.parse().ok()
        };
        words.iter().find_map(named)
    }
}

impl Filesystem {
    /// The default for descriptions: no list options, no checker, no cleaner.
    pub(super) const PLAIN: Filesystem = Filesystem {
        name: "",
        title: "",
        summary: "",
        drivers: &[],
        optional_code: &[],
        mkfs: Tool { program: "", version: &[], packages: Packages::everywhere("") },
        mkfs_defaults: &[],
        mkfs_lists: &[],
        large_sectors: None,
        mount_defaults: &[],
        fsck: None,
        recovery: Recovery::PLAIN,
        cleaner: None,
        background: &[],
        minimum_size: 0,
        leaves_tables_unwritten: false,
        checks_itself: false,
        takes_several: false,
        joins_devices: false,
        nodes: &[],
        pool: None,
        asks_for_key: None,
        copies: None,
        apart: &[],
        snapshots: None,
        option_effects: &[],
        options: KnownOptions::NONE,
        facts: FilesystemFacts::PLAIN,
    };

    /// The mkfs command line for `device`: it asks nothing and prints little. `chosen` are the plan's own words, which
    /// override the fair defaults.
    pub fn mkfs_argv(&self, device: &str, chosen: &[String]) -> Vec<String> {
        self.mkfs_argv_on(&[device], chosen)
    }

    /// The same for several devices.
    pub fn mkfs_argv_on(&self, devices: &[&str], chosen: &[String]) -> Vec<String> {
        let words = merge_options(self.mkfs_defaults.iter(), self.mkfs_lists, chosen);
        self.mkfs_line(words, devices, &self.mounted_as(devices.first().copied().unwrap_or_default()))
    }

    /// The plan's own words for mkfs, plus the options needed if the device will have sectors of 4096 bytes once it is
    /// sealed.
    pub fn for_large_sectors(&self, chosen: &[String]) -> Vec<String> {
        let ours = self.large_sectors.filter(|[flag, _]| !chosen.iter().any(|word| word.starts_with(flag)));
        ours.into_iter().flatten().map(str::to_owned).chain(chosen.iter().cloned()).collect()
    }

    /// The same filesystem for real use: without options that only help a trial, and mkfs may ask questions. One in a
    /// pool is named `pool`, and mounted at `folder` from then on.
    pub fn mkfs_argv_in_use(
        &self,
        devices: &[&str],
        chosen: &[String],
        pool: &str,
        folder: &str,
    ) -> Vec<String> {
        let lasting = self.mkfs_defaults.iter().filter(|default| default.is_permanent());
        let place = self.pool.iter().flat_map(|programs| programs.words_in_use(chosen, folder));
        let chosen: Vec<String> = place.chain(chosen.iter().cloned()).collect();
        self.mkfs_line(merge_options(lasting, self.mkfs_lists, &chosen), devices, pool)
    }

    fn mkfs_line(&self, words: Vec<String>, devices: &[&str], pool: &str) -> Vec<String> {
        let words = match &self.pool {
            Some(programs) => programs.arrange_words(&words, pool, devices),
            None => words.into_iter().chain(devices.iter().map(|device| (*device).to_owned())).collect(),
        };
        [self.mkfs.program.to_owned()].into_iter().chain(words).collect()
    }

    /// The argument that mount(8) and the checker get for the device: the name of the pool for a filesystem in one,
    /// otherwise the path.
    pub fn mounted_as(&self, device: &str) -> String {
        if self.pool.is_some() { pool_name(device) } else { device.to_owned() }
    }

    /// The same for all of its devices, for mount(8): the first of them, if the filesystem finds the others by itself or by
    /// options.
    pub fn mounted_as_all(&self, devices: &[String]) -> String {
        match devices {
            devices if self.joins_devices => devices.join(":"),
            [first, ..] => self.mounted_as(first),
            [] => String::new(),
        }
    }

    /// The mount options. `chosen` are the plan's own, which override the fair defaults.
    pub fn mount_options(&self, chosen: &[String]) -> MountOptions {
        let ours = self.mount_defaults.iter().map(|option| (*option).to_owned());
        build_mount(self.name, self.cleaner, ours.chain(chosen.iter().cloned()))
    }

    /// The same without options that only keep background work out of a trial.
    pub fn mount_in_use(&self, chosen: &[String]) -> MountOptions {
        build_mount(self.name, self.cleaner, chosen.iter().cloned())
    }

    /// The command line that checks an unmounted device and changes nothing; none where there is no checker.
    pub fn fsck_argv(&self, device: &str) -> Option<Vec<String>> {
        let fsck = self.fsck?;
        let words = [fsck.tool.program].into_iter().chain(fsck.options.iter().copied());
        Some(words.map(str::to_owned).chain([self.mounted_as(device)]).collect())
    }

    /// The command line that repairs an unmounted device without a question; none where there is none to be advised.
    pub fn repair_argv(&self, device: &str) -> Option<Vec<String>> {
        let (fsck, options) = (self.fsck?, self.recovery.repair?);
        let words = [fsck.tool.program].into_iter().chain(options.iter().copied()).chain([device]);
        Some(words.map(str::to_owned).collect())
    }

    /// The command line of the checker with these options; none where there is no checker.
    pub fn repair_argv_with(&self, options: &[&str], device: &str) -> Option<Vec<String>> {
        let words = [self.fsck?.tool.program].into_iter().chain(options.iter().copied()).chain([device]);
        Some(words.map(str::to_owned).collect())
    }

    /// The meaning of the checker's exit status; `None` if there is no checker.
    pub fn fsck_status_of(&self, status: i32) -> Option<FsckStatus> {
        self.fsck.map(|fsck| fsck.exit_codes.status_of_exit(status))
    }

    /// The meaning of a checker's exit status and output.
    pub fn check_status_of(&self, status: i32, printed: &str) -> Option<FsckStatus> {
        let meaning = self.fsck_status_of(status);
        if self.pool.is_some() && status == 0 { Some(judge_status(printed)) } else { meaning }
    }

    /// The same of a checker that repairs.
    pub fn repair_status_of(&self, status: i32) -> Option<FsckStatus> {
        if self.recovery.corrected == Some(status) {
            return Some(FsckStatus::Corrected);
        }
        self.fsck_status_of(status)
    }

    /// Whether it has an optional ability if made with default options.
    pub fn has_ability(&self, ability: FilesystemAbility) -> bool {
        match ability {
            FilesystemAbility::Clones => self.facts.clones,
            FilesystemAbility::HardLinks => self.facts.hard_links,
            FilesystemAbility::Snapshots => self.snapshots.is_some(),
            FilesystemAbility::Rollback => self.snapshots.is_some_and(|programs| programs.rollback.is_some()),
            FilesystemAbility::Streams => self.snapshots.is_some_and(|programs| programs.streams.is_some()),
        }
    }

    /// Every tool a trial of this filesystem needs, mkfs first. The cleaner's is not among them: only a candidate that asks for it needs it.
    pub fn tools(&self) -> impl Iterator<Item = Tool> {
        [self.mkfs].into_iter().chain(self.fsck.map(|fsck| fsck.tool))
    }
}
