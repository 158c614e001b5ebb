//! ext2: no journal.

use super::ext;
use super::facts::FilesystemFacts;
use super::known_options::KnownOptions;
use super::model::{Driver, Filesystem};

pub(super) static EXT2: Filesystem = Filesystem {
    name: "ext2",
    title: "ext2",
    summary: "The classic Linux filesystem of 1993: block bitmaps, inode tables fixed at mkfs, no journal, so a crash means a full \
              check. Many kernels serve it with the ext4 driver. Fair defaults: 4 KiB blocks and one inode per 16 KiB at any \
              size, everything written by mkfs, and nothing later in the background.",
    drivers: &[
        Driver { config: "CONFIG_EXT2_FS", modules: &["ext2"] },
        Driver { config: "CONFIG_EXT4_USE_FOR_EXT2", modules: &["ext4"] },
    ],
    mkfs: ext::mkfs_tool("mkfs.ext2"),
    recovery: ext::UNJOURNALED,
    // mke2fs(8); ext2 in ext4(5).
    options: KnownOptions {
        mkfs: &["-b", "-C", "-d", "-D", "-E", "-g", "-G", "-I", "-i", "-J", "-m", "-N", "-O", "-T"],
        mount: &[],
        values: ext::VALUES,
        choices: &[],
    },
    facts: FilesystemFacts {
        syncfs_flushes: Some(false),
        maximum_file: 2 << 40,
        maximum_volume: 16 << 40,
        kernel_status: "In the kernel. Its own driver is marked deprecated since 6.9 because its timestamps end in 2038 with \
                        128-byte inodes; the ext4 driver serves it too, and only that one uses the directory index.",
        status_source: "fs/ext2/Kconfig of Linux 6.9, May 2024",
        status_drawback: "its own driver is deprecated since Linux 6.9 (May 2024)",
        source: "ext4(5); kernel Documentation/filesystems/ext2.rst; fs/ext2/Kconfig",
        ..ext::FACTS
    },
    ..ext::PLAIN
};
