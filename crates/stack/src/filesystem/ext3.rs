//! ext3: ext2 with a journal.

use super::ext;
use super::facts::{FilesystemFacts, Property};
use super::known_options::KnownOptions;
use super::model::{Driver, Filesystem};

pub(super) static EXT3: Filesystem = Filesystem {
    name: "ext3",
    title: "ext3",
    summary: "ext2 with a journal of metadata (data=ordered), 2001. Files are still mapped block by block, without extents. Since \
              Linux 4.3 the ext4 driver serves it. Fair defaults as for ext2.",
    drivers: &[
        Driver { config: "CONFIG_EXT4_FS", modules: &["ext4"] },
        Driver { config: "CONFIG_EXT3_FS", modules: &["ext3"] },
    ],
    mkfs: ext::mkfs_tool("mkfs.ext3"),
    background: ext::BACKGROUND,
    option_effects: &[ext::OPTION_EFFECTS],
    // mke2fs(8); ext4(5).
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
            "noload",
            "journal_checksum",
            "noinit_itable",
            "init_itable=",
        ],
        values: ext::VALUES,
        choices: &[],
    },
    facts: FilesystemFacts {
        journaled: true,
        promises: &["entry"],
        changed_by: &[("^has_journal", Property::Journal, false)],
        maximum_file: 2 << 40,
        maximum_volume: 16 << 40,
        kernel_status: "In the kernel as part of the ext4 driver; its own driver was removed in 4.3 (2015).",
        source: "ext4(5); kernel fs/ext4/Kconfig",
        ..ext::FACTS
    },
    ..ext::PLAIN
};
