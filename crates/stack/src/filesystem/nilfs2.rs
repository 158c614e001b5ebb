//! NILFS2.

use fsverdict_disk::device::Action;

use super::facts::FilesystemFacts;
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{BackgroundJob, Driver, Filesystem};
use super::mount::Cleaner;
use super::option_effects::SafetyOption;
use super::snapshot::SnapshotPrograms;
use super::tool::{Package, Packages, Tool};

const NILFS_UTILS: Packages = Packages {
    debian: Package::Official("nilfs-tools"),
    fedora: Package::Official("nilfs-utils"),
    arch: Package::Official("nilfs-utils"),
    opensuse: Package::Official("nilfs-utils"),
};

pub(super) static NILFS2: Filesystem = Filesystem {
    name: "nilfs2",
    title: "NILFS2",
    summary: "A log from end to end with continuous snapshots (NTT, 2009): every write goes to the head of the log, and a garbage \
              collector in user space (nilfs_cleanerd) gives space back later. Fair defaults: those of mkfs.nilfs2 (4 KiB blocks, 8 \
              MiB segments) less its own discard; the collector is not running unless a candidate asks for it with the mount \
              option `gc`, and which of the two is recorded.",
    drivers: &[Driver { config: "CONFIG_NILFS2_FS", modules: &["nilfs2"] }],
    mkfs: Tool { program: "mkfs.nilfs2", version: &["-V"], packages: NILFS_UTILS },
    mkfs_defaults: &[MkfsDefault::Switch("-f"), MkfsDefault::Switch("-q"), MkfsDefault::Switch("-K")],
    mkfs_lists: &["-O"],
    cleaner: Some(Cleaner {
        tool: Tool { program: "nilfs_cleanerd", version: &["-V"], packages: NILFS_UTILS },
        option: "gc",
        no_option: "nogc",
    }),
    // rmcp(8) leaves a checkpoint alone that is a snapshot.
    snapshots: Some(SnapshotPrograms {
        create: &["mkcp", "-s", "-p", "{device}"],
        told: true,
        delete: &[&["chcp", "cp", "{device}", "{id}"], &["rmcp", "{device}", "{id}"]],
        // A checkpoint can only be mounted read-only (mount.nilfs2(8), `cp=`); no rollback is possible.
        rollback: None,
        shown: None,
        streams: None,
    }),
    // nilfs_cleanerd(8).
    background: &[BackgroundJob {
        thread: "nilfs_cleanerd",
        is_kernel: false,
        actions: &[Action::Read, Action::Write],
        does: "moved what lives in segments that are to be freed",
        once_per_mount: false,
        avoided_by: "nogc among the mount options",
    }],
    minimum_size: 129 << 20,
    option_effects: &[&[
        SafetyOption::without_flushes("nobarrier", "kernel Documentation/filesystems/nilfs2.rst, barrier"),
        SafetyOption::default("barrier", "barrier"),
    ]],
    // mkfs.nilfs2(8); mount.nilfs2(8).
    options: KnownOptions {
        mkfs: &["-b", "-B", "-m"],
        mount: &["order=", "discard", "nodiscard", "barrier", "nobarrier", "norecovery", "gc", "nogc", "pp="],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        copy_on_write: true,
        maximum_file: 1 << 63,
        maximum_volume: 1 << 63,
        kernel_status: "In the kernel, maintained. The checksums of its log are looked at when a crash is recovered, not on reading.",
        source: "kernel Documentation/filesystems/nilfs2.rst; nilfs(8)",
        as_root: "the initramfs needs its module, and the boot loader must read it (GRUB does) or find the kernel on another filesystem",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
