//! JFS.

use fsverdict_judgement::plan::ProtectionFeature;

use super::exit::{CLEAN, CORRECTED, ExitCodes, FAILED, LEFT, LIBRARY, REBOOT, USAGE};
use super::facts::{DirectoryIndex, FilesystemFacts};
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck, Recovery};
use super::option_effects::{SafetyEffect, SafetyOption};
use super::tool::{Packages, Tool};

const JFSUTILS: Packages = Packages::everywhere("jfsutils");

pub(super) static JFS: Filesystem = Filesystem {
    name: "jfs",
    title: "JFS",
    summary: "IBM's filesystem from OS/2 (in Linux since 2002): extents, B+ trees, a journal of metadata, inodes made when needed, \
              known for little CPU work. Fair defaults: those of mkfs.jfs (4 KiB blocks, journal 0.4 % of the device).",
    drivers: &[Driver { config: "CONFIG_JFS_FS", modules: &["jfs"] }],
    mkfs: Tool { program: "mkfs.jfs", version: &["-V"], packages: JFSUTILS },
    mkfs_defaults: &[MkfsDefault::Switch("-q")],
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.jfs", version: &["-V"], packages: JFSUTILS },
        // -n leaves the filesystem alone but for one byte in the superblock, which says where this run's own log lies.
        options: &["-f", "-n"],
        exit_codes: ExitCodes {
            source: "jfs_fsck(8), EXIT CODE",
            summed: true,
            codes: &[CLEAN, CORRECTED, REBOOT, LEFT, FAILED, USAGE, LIBRARY],
        },
    }),
    // jfs_fsck(8), -a: replays the log, and repairs the result; the kernel refuses to mount an unclean filesystem. If
    // jfsutils 1.1.15 cannot replay the log, it goes on without it, and exits with status 0.
    recovery: Recovery {
        repair: Some(&["-a"]),
        repair_first: true,
        gave_up: &["logredo failed"],
        // -f: checks a clean filesystem, too, and repairs all damage.
        repairs: &[&["-f"]],
        ..Recovery::PLAIN
    },
    minimum_size: 16 << 20,
    option_effects: &[&[
        SafetyOption::loses(
            "nointegrity",
            "integrity",
            SafetyEffect::Protection(ProtectionFeature::NotCrashSafe),
            "nothing is written to the journal: after a crash the filesystem may be corrupted",
            "kernel Documentation/admin-guide/jfs.rst, nointegrity",
        ),
        SafetyOption::default("integrity", "integrity"),
    ]],
    // mkfs.jfs(8); kernel Documentation/admin-guide/jfs.rst.
    options: KnownOptions {
        mkfs: &["-s", "-O"],
        mount: &["integrity", "nointegrity", "discard", "nodiscard", "iocharset="],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        journaled: true,
        syncfs_flushes: Some(false),
        fsync_flushes: false,
        directory_index: DirectoryIndex::Always("B+ tree of names"),
        maximum_file: 4 << 50,
        maximum_volume: 32 << 50,
        kernel_status: "In the kernel, maintained for fixes only.",
        status_drawback: "the kernel maintains it for odd fixes only",
        source: "IBM, JFS overview (2000); kernel Documentation/admin-guide/jfs.rst",
        as_root: "the initramfs needs its module, and the boot loader must read it (GRUB does) or find the kernel on another filesystem",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
