//! F2FS.

use fsverdict_disk::device::Action;
use fsverdict_judgement::plan::ProtectionFeature;

use super::exit::{CANCELED, CLEAN, CORRECTED, ExitCodes, FAILED, FsckStatus, LEFT, LIBRARY, REBOOT, USAGE};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline, Property};
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{BackgroundJob, Driver, Filesystem, Fsck, OptionalCode, Recovery};
use super::option_effects::{SafetyEffect, SafetyOption};
use super::tool::{Packages, Tool};

const F2FS_TOOLS: Packages = Packages::everywhere("f2fs-tools");

pub(super) static F2FS: Filesystem = Filesystem {
    name: "f2fs",
    title: "F2FS",
    summary: "Samsung's log-structured filesystem for flash (2012): six append points for hot and cold data, cleaning in the \
              background, roll-forward after fsync. Fair defaults: those of mkfs.f2fs (4 KiB blocks) less its own discard. The kernel \
              mounts it with `discard` and `lazytime` on its own, which stays so.",
    drivers: &[Driver { config: "CONFIG_F2FS_FS", modules: &["f2fs"] }],
    // fs/f2fs/Kconfig; fs/f2fs/super.c, which says "kernel doesn't support zstd compression" in its log and mounts without.
    optional_code: &[
        OptionalCode { option: "compress_algorithm=zstd", config: "CONFIG_F2FS_FS_ZSTD" },
        OptionalCode { option: "compress_algorithm=lz4", config: "CONFIG_F2FS_FS_LZ4" },
        OptionalCode { option: "compress_algorithm=lzo", config: "CONFIG_F2FS_FS_LZO" },
        OptionalCode { option: "compress", config: "CONFIG_F2FS_FS_COMPRESSION" },
    ],
    mkfs: Tool { program: "mkfs.f2fs", version: &["-V"], packages: F2FS_TOOLS },
    mkfs_defaults: &[
        MkfsDefault::Switch("-f"),
        MkfsDefault::Switch("-q"),
        MkfsDefault::Value { flag: "-t", value: "0", yields_to: &[], lasts: false },
    ],
    mkfs_lists: &["-O"],
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.f2fs", version: &["-V"], packages: F2FS_TOOLS },
        // Not with -f: together with it --dry-run answers a damaged filesystem with 1, "corrected", having corrected nothing
        // (seen with 1.15.0); alone it checks just as much and answers 4.
        options: &["--dry-run"],
        exit_codes: ExitCodes {
            source: "f2fs-tools 1.15, enum in fsck/fsck.h; fsck.f2fs(8): 0 on success and -1 on failure",
            summed: false,
            codes: &[
                CLEAN,
                CORRECTED,
                REBOOT,
                LEFT,
                FAILED,
                USAGE,
                CANCELED,
                LIBRARY,
                // -1: damage so grave that the check did not get to its end.
                (255, FsckStatus::ErrorsLeft),
            ],
        },
    }),
    // fsck.f2fs(8), -a: repairs damage that a mount reported. -f -y: repairs other damage, too.
    recovery: Recovery { repair: Some(&["-a"]), repairs: &[&["-f", "-y"]], ..Recovery::PLAIN },
    // `fs/f2fs/gc.c`, gc_thread_func, and `segment.c`, issue_discard_thread; Documentation/filesystems/f2fs.rst.
    background: &[
        BackgroundJob {
            thread: "f2fs_gc",
            is_kernel: true,
            actions: &[Action::Read, Action::Write],
            does: "moved what lives in segments that are to be freed",
            once_per_mount: false,
            avoided_by: "background_gc=off among the mount options",
        },
        BackgroundJob {
            thread: "f2fs_discard",
            is_kernel: true,
            actions: &[Action::Discard],
            does: "discarded what was removed",
            once_per_mount: false,
            avoided_by: "nodiscard among the mount options",
        },
    ],
    minimum_size: 52 << 20,
    // kernel Documentation/filesystems/f2fs.rst: `fsync_mode=posix` is the default.
    option_effects: &[&[
        SafetyOption::without_flushes("nobarrier", "kernel Documentation/filesystems/f2fs.rst, nobarrier"),
        SafetyOption::default("barrier", "barrier"),
        SafetyOption::loses(
            "fsync_mode=nobarrier",
            "fsync_mode",
            SafetyEffect::Protection(ProtectionFeature::NoFlushes),
            "fsync flushes no cache",
            "kernel Documentation/filesystems/f2fs.rst, fsync_mode",
        ),
        SafetyOption::default("fsync_mode=posix", "fsync_mode"),
        // "In line with" ext4, xfs and btrfs.
        SafetyOption {
            effect: SafetyEffect::Promises("entry"),
            ..SafetyOption::default("fsync_mode=strict", "fsync_mode")
        },
    ]],
    // mkfs.f2fs(8); kernel Documentation/filesystems/f2fs.rst.
    options: KnownOptions {
        mkfs: &["-o", "-s", "-z", "-O", "-e", "-i", "-t", "-w"],
        mount: &[
            "background_gc=",
            "discard",
            "nodiscard",
            "discard_unit=",
            "fsync_mode=",
            "mode=",
            "active_logs=",
            "alloc_mode=",
            "checkpoint=",
            "checkpoint_merge",
            "nocheckpoint_merge",
            "compress_algorithm=",
            "compress_extension=",
            "compress_mode=",
            "compress_chksum",
            "inline_data",
            "noinline_data",
            "inline_dentry",
            "noinline_dentry",
            "inline_xattr",
            "noinline_xattr",
            "flush_merge",
            "noflush_merge",
            "nobarrier",
            "barrier",
            "gc_merge",
            "nogc_merge",
            "atgc",
            "extent_cache",
            "noextent_cache",
        ],
        values: &[("-O", &["casefold", "compression", "extra_attr", "inode_checksum", "sb_checksum"])],
        choices: &[],
    },
    facts: FilesystemFacts {
        copy_on_write: true,
        compression: &["lzo", "lz4", "zstd"],
        directory_index: DirectoryIndex::Always("multi-level hash table"),
        changed_by: &[("inode_checksum", Property::MetadataChecksums, true)],
        maximum_file: 4096 * (923 + 2 * 1018 + 2 * 1018 * 1018 + 1018 * 1018 * 1018),
        maximum_volume: 16 << 40,
        mainline: Mainline::Since((3, 8)),
        actively_developed: true,
        kernel_status: "In the kernel, actively developed. Checksums of inodes only with -O extra_attr,inode_checksum.",
        drawback_on_disks: "it is designed for flash: on a disk, files that are changed are scattered, and are read more slowly as it ages",
        as_root: "the initramfs needs its module and fsck.f2fs, and the boot loader must read it (GRUB does from 2.04 on) or find the kernel on another filesystem",
        source: "kernel Documentation/filesystems/f2fs.rst; mkfs.f2fs(8)",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
