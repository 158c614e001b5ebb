//! ReiserFS (version 3).

use fsverdict_judgement::plan::ProtectionFeature;

use super::exit::{CLEAN, CORRECTED, ExitCodes, FAILED, FsckStatus, LEFT, REBOOT, USAGE};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline};
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck, Recovery};
use super::option_effects::{SafetyEffect, SafetyOption};
use super::tool::{Package, Packages, Tool};

const REISERFSPROGS: Packages = Packages {
    debian: Package::Official("reiserfsprogs"),
    fedora: Package::Elsewhere(
        "reiserfs-utils, in releases of Fedora that still carried the driver; else build reiserfsprogs from source",
    ),
    arch: Package::Elsewhere("reiserfsprogs, in the AUR"),
    opensuse: Package::Elsewhere(
        "reiserfs, in Leap 15; else in the filesystems project of the Open Build Service",
    ),
};

pub(super) static REISERFS: Filesystem = Filesystem {
    name: "reiserfs",
    title: "ReiserFS",
    summary: "Hans Reiser's filesystem (2001): one balanced tree holds everything, small files and tails of files are packed \
              together in its leaves, inodes are made when needed, journal of metadata. Gone from the kernel since 6.13. Fair \
              defaults: those of mkreiserfs (4 KiB blocks, format 3.6, 32 MiB journal, tails packed).",
    drivers: &[Driver { config: "CONFIG_REISERFS_FS", modules: &["reiserfs"] }],
    mkfs: Tool { program: "mkfs.reiserfs", version: &["-V"], packages: REISERFSPROGS },
    // -f once allows a target that is not a block device, -f twice prevents the question.
    mkfs_defaults: &[MkfsDefault::Switch("-q"), MkfsDefault::Switch("-f"), MkfsDefault::Switch("-f")],
    fsck: Some(Fsck {
        tool: Tool { program: "reiserfsck", version: &["-V"], packages: REISERFSPROGS },
        // Without --yes it asks whether to go on.
        options: &["--check", "--yes"],
        exit_codes: ExitCodes {
            source: "reiserfsck(8), EXIT CODES",
            summed: false,
            codes: &[CLEAN, CORRECTED, REBOOT, LEFT, (6, FsckStatus::ErrorsLeft), FAILED, USAGE],
        },
    }),
    // reiserfsck(8): --fix-fixable repairs damage that needs no new tree, --rebuild-tree builds a tree from the leaves
    // that it finds.
    recovery: Recovery {
        repairs: &[&["--fix-fixable", "--yes"], &["--rebuild-tree", "--yes"]],
        ..Recovery::PLAIN
    },
    minimum_size: 33 << 20,
    option_effects: &[&[
        SafetyOption::loses(
            "nolog",
            "log",
            SafetyEffect::Protection(ProtectionFeature::NotCrashSafe),
            "there is no journalling: after a crash the filesystem may be corrupted",
            "mount(8), reiserfs, nolog",
        ),
        SafetyOption::without_flushes("barrier=none", "fs/reiserfs/super.c of Linux 6.1, barrier"),
        SafetyOption::default("barrier=flush", "barrier"),
        SafetyOption::loses(
            "data=writeback",
            "data",
            SafetyEffect::Protection(ProtectionFeature::UnorderedWrites),
            "after a crash, files that were written shortly before may hold what was in their blocks before",
            "mount(8), reiserfs and ext3, data",
        ),
        SafetyOption::adds("data=journal", "data", ProtectionFeature::JournalledData),
        SafetyOption::default("data=ordered", "data"),
    ]],
    // mkreiserfs(8); mount(8).
    options: KnownOptions {
        mkfs: &["-b", "-s", "-t", "--format"],
        mount: &["notail", "data=", "nolog", "barrier=", "hash=", "conv"],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        journaled: true,
        directory_index: DirectoryIndex::Always("balanced tree of name hashes"),
        maximum_file: 1 << 60,
        maximum_volume: 16 << 40,
        mainline: Mainline::Between((2, 6), (6, 13)),
        kernel_status: "Removed from the kernel in 6.13 (January 2025), deprecated since 5.18; needs an older kernel.",
        status_source: "changelog of Linux 6.13, January 2025 (kernelnewbies.org)",
        status_drawback: "removed from the kernel in 6.13 (January 2025)",
        source: "mkreiserfs(8); kernel fs/reiserfs/Kconfig of 6.1",
        as_root: "the initramfs needs its module, and the boot loader must read it (GRUB does) or find the kernel on another filesystem",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
