//! The common part of ext2, ext3 and ext4: e2fsprogs makes and checks all three.

use fsverdict_disk::device::Action;
use fsverdict_judgement::plan::ProtectionFeature;

use super::exit::{CANCELED, CLEAN, CORRECTED, ExitCodes, FAILED, LEFT, LIBRARY, REBOOT, USAGE};
use super::facts::{DirectoryIndex, FilesystemFacts, Inodes};
use super::mkfs::MkfsDefault;
use super::model::{ApartDevice, BackgroundJob, Filesystem, Fsck, Recovery};
use super::option_effects::{SafetyEffect, SafetyOption};
use super::tool::{Packages, Tool};

const E2FSPROGS: Packages = Packages::everywhere("e2fsprogs");

/// mke2fs under the name that selects one of the three.
pub(super) const fn mkfs_tool(program: &'static str) -> Tool {
    Tool { program, version: &["-V"], packages: E2FSPROGS }
}

/// The fair defaults of mke2fs.
///
/// - `-F` keeps it from asking about an image file or an old signature, `-q` from printing tables.
/// - `lazy_itable_init=1`, mke2fs's own default, where the format allows it (ext4; in ext2 and ext3 mke2fs writes the
///   tables all the same): tables of inodes take a 64th of the device, 31 GB of 2 TB, which mkfs need not wait for.
///   ext4 would write them in the background while phases are timed: [`MOUNT_DEFAULTS`] keeps it from that.
/// - `lazy_journal_init=0`: a journal is written by mkfs, as by default.
/// - `nodiscard`: a trial discards the device beforehand; jfs and reiserfs never do it in mkfs, so no mkfs is timed with it.
/// - `-b 4096 -i 16384` (with bigalloc no `-i`: mke2fs makes an inode for a cluster at most, and fails otherwise): as
///   mke2fs.conf gives a device of half a GiB and more. Below that it would choose 1 KiB blocks and four times the
///   inodes, and a scaled-down trial would measure another filesystem than the one at full size. All other filesystems
///   use 4 KiB at any size.
const MKFS_DEFAULTS: &[MkfsDefault] = &[
    MkfsDefault::Switch("-F"),
    MkfsDefault::Switch("-q"),
    MkfsDefault::Value { flag: "-b", value: "4096", yields_to: &["-T"], lasts: true },
    MkfsDefault::Value { flag: "-i", value: "16384", yields_to: &["-N", "-T", "-O bigalloc"], lasts: true },
    MkfsDefault::List("-E", &["lazy_itable_init=1", "lazy_journal_init=0", "nodiscard"]),
];

/// By which names people call features (`-O`), extended options (`-E`) and kinds of use (`-T`): mke2fs(8), ext4(5).
pub(super) const VALUES: &[(&str, &[&str])] = &[
    (
        "-O",
        &[
            "64bit",
            "^64bit",
            "bigalloc",
            "casefold",
            "dir_index",
            "^dir_index",
            "ext_attr",
            "extent",
            "^extent",
            "fast_commit",
            "flex_bg",
            "^flex_bg",
            "^has_journal",
            "inline_data",
            "large_dir",
            "metadata_csum",
            "^metadata_csum",
            "metadata_csum_seed",
            "orphan_file",
            "quota",
            "sparse_super2",
            "uninit_bg",
        ],
    ),
    ("-E", &["lazy_itable_init=", "lazy_journal_init=", "stride=", "stripe-width=", "stripe_width="]),
    ("-T", &["largefile", "largefile4"]),
];

/// For ext4: inode tables are not written in the background. A trial measures a filesystem after that work; until an
/// inode of a table is needed, neither the kernel nor e2fsck reads the table, written or not (`fs/ext4/super.c`,
/// `ext4_lazyinit_thread`).
pub(super) const MOUNT_DEFAULTS: &[&str] = &["noinit_itable"];

/// Of ext3 and ext4: ext4(5); kernel Documentation/admin-guide/ext4.rst.
pub(super) const OPTION_EFFECTS: &[SafetyOption] = &[
    SafetyOption::without_flushes("barrier=0", "kernel Documentation/admin-guide/ext4.rst, barrier"),
    SafetyOption::without_flushes("nobarrier", "kernel Documentation/admin-guide/ext4.rst, nobarrier"),
    SafetyOption::default("barrier", "barrier"),
    SafetyOption::default("barrier=1", "barrier"),
    SafetyOption::loses(
        "data=writeback",
        "data",
        SafetyEffect::Protection(ProtectionFeature::UnorderedWrites),
        "after a crash, files that were written shortly before may hold what was in their blocks before",
        "kernel Documentation/admin-guide/ext4.rst, data=writeback",
    ),
    SafetyOption::adds("data=journal", "data", ProtectionFeature::JournalledData),
    SafetyOption::default("data=ordered", "data"),
];

/// Of ext4 and of ext3, which its driver mounts: `fs/ext4/super.c`, `ext4_run_li_request`; ext4(5).
pub(super) const BACKGROUND: &[BackgroundJob] = &[
    BackgroundJob {
        thread: "ext4lazyinit",
        is_kernel: true,
        actions: &[Action::Read],
        does: "read the maps of free blocks ahead of their use",
        once_per_mount: true,
        avoided_by: "no_prefetch_block_bitmaps among the mount options",
    },
    BackgroundJob {
        thread: "ext4lazyinit",
        is_kernel: true,
        actions: &[Action::Write, Action::WriteZeroes],
        does: "wrote tables of inodes that mkfs had left unwritten",
        once_per_mount: false,
        avoided_by: "noinit_itable among the mount options, or -E lazy_itable_init=0 for mkfs, which then writes them",
    },
];

/// `-y` answers every question with yes (e2fsck(8)). The line is that of `fs/ext4/super.c`, `ext4_load_and_init_journal` and those
/// that call it.
const JOURNALED: Recovery = Recovery {
    repair: Some(&["-f", "-y"]),
    replayed: &["recovery complete"],
    repairs: &[&["-f", "-y"]],
    ..Recovery::PLAIN
};

/// Without a journal (e2fsck(8): a filesystem that was not unmounted is to be checked).
pub(super) const UNJOURNALED: Recovery = Recovery { repair_first: true, ..JOURNALED };

/// Facts that hold for all three.
pub(super) const PLAIN: Filesystem = Filesystem {
    mkfs_defaults: MKFS_DEFAULTS,
    mkfs_lists: &["-E", "-O", "-J"],
    fsck: Some(FSCK),
    recovery: JOURNALED,
    // The superblock says where it is, so that mount need not. Its blocks must be as large as the filesystem's.
    apart: &[ApartDevice {
        mkfs: "device=",
        mount: None,
        fsck: Some("-j"),
        prepare: Some(&["-F", "-q", "-b", "4096", "-O", "journal_dev"]),
    }],
    // Found with mke2fs 1.47: below 8 MiB it leaves the journal out without failing; doubled to leave room for files.
    minimum_size: 16 << 20,
    ..Filesystem::PLAIN
};

pub(super) const FACTS: FilesystemFacts = FilesystemFacts {
    directory_index: DirectoryIndex::Optional("HTree of name hashes; off with -O ^dir_index"),
    // As many as `-i` above makes, unless `-N` gives their number, `-i` another density, or `-T` a kind of use that has one.
    inodes: Inodes::FixedAtMkfs { bytes_per_inode: 16384, options: &["-N", "-i", "-T"] },
    ..FilesystemFacts::PLAIN
};

/// `-f` checks a clean filesystem, too, reading all metadata; `-n` opens it read-only and answers every question with
/// no. `-y` would do the same work on a clean filesystem, but a repair would hide damage and change the time.
const FSCK: Fsck = Fsck {
    tool: Tool { program: "e2fsck", version: &["-V"], packages: E2FSPROGS },
    options: &["-f", "-n"],
    exit_codes: ExitCodes {
        source: "e2fsck(8), EXIT CODE",
        summed: true,
        codes: &[CLEAN, CORRECTED, REBOOT, LEFT, FAILED, USAGE, CANCELED, LIBRARY],
    },
};
