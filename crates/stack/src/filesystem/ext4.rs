//! ext4: ext3 with extents, delayed allocation and checksums of metadata.

use super::ext;
use super::facts::{FilesystemFacts, Property};
use super::known_options::{Choice, ChoiceOptions, KnownOptions};
use super::model::{Driver, Filesystem};
use super::option_effects::{SafetyEffect, SafetyOption};

pub(super) static EXT4: Filesystem = Filesystem {
    name: "ext4",
    title: "ext4",
    summary: "The default of most distributions since 2009: extents, delayed and multi-block allocation, journal of metadata \
              (data=ordered), checksums of metadata. Fair defaults: 4 KiB blocks and one inode per 16 KiB at any size; inode \
              tables are left unwritten by mkfs, as mke2fs does by default, and by the kernel in the background, too.",
    drivers: &[Driver { config: "CONFIG_EXT4_FS", modules: &["ext4"] }],
    mkfs: ext::mkfs_tool("mkfs.ext4"),
    mount_defaults: ext::MOUNT_DEFAULTS,
    background: ext::BACKGROUND,
    leaves_tables_unwritten: true,
    option_effects: &[
        ext::OPTION_EFFECTS,
        &[
            SafetyOption::loses(
                "noauto_da_alloc",
                "auto_da_alloc",
                SafetyEffect::BreaksPromise("whole"),
                "files that were replaced by rename without fsync may be empty after a crash",
                "kernel Documentation/admin-guide/ext4.rst, auto_da_alloc",
            ),
            SafetyOption::default("auto_da_alloc", "auto_da_alloc"),
        ],
    ],
    // mke2fs(8); ext4(5); kernel Documentation/admin-guide/ext4.rst.
    options: KnownOptions {
        mkfs: &["-b", "-C", "-d", "-D", "-E", "-g", "-G", "-I", "-i", "-J", "-m", "-N", "-O", "-T"],
        mount: &[
            "data=",
            "commit=",
            "barrier=",
            "barrier",
            "nobarrier",
            "discard",
            "nodiscard",
            "delalloc",
            "nodelalloc",
            "journal_checksum",
            "journal_async_commit",
            "stripe=",
            "max_batch_time=",
            "min_batch_time=",
            "auto_da_alloc",
            "noauto_da_alloc",
            "dioread_nolock",
            "dioread_lock",
            "no_prefetch_block_bitmaps",
            "init_itable=",
            "noinit_itable",
            "noload",
        ],
        values: ext::VALUES,
        choices: &[ChoiceOptions {
            choice: Choice::Journal,
            gives: false,
            mkfs: &["-O", "^has_journal"],
            mount: &[],
        }],
    },
    facts: FilesystemFacts {
        journaled: true,
        metadata_checksums: true,
        // Documentation/admin-guide/ext4.rst, auto_da_alloc: a rename waits for the content.
        promises: &["whole", "entry"],
        changed_by: &[
            ("^has_journal", Property::Journal, false),
            ("^metadata_csum", Property::MetadataChecksums, false),
        ],
        maximum_file: 16 << 40,
        maximum_volume: 1 << 60,
        actively_developed: true,
        kernel_status: "In the kernel, actively developed.",
        source: "ext4(5); kernel Documentation/filesystems/ext4/blocks.rst",
        ..ext::FACTS
    },
    ..ext::PLAIN
};
