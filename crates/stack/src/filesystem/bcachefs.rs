//! bcachefs.

use super::exit::{CANCELED, CLEAN, CORRECTED, ExitCodes, FAILED, LEFT};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck};
use super::tool::{Package, Packages, Tool};

const BCACHEFS_TOOLS: Packages = Packages {
    debian: Package::Elsewhere(
        "bcachefs-tools, in Ubuntu from 24.04; Debian's releases have none: see bcachefs.org for its authors' packages",
    ),
    fedora: Package::Official("bcachefs-tools"),
    arch: Package::Official("bcachefs-tools"),
    opensuse: Package::Official("bcachefs-tools"),
};

pub(super) static BCACHEFS: Filesystem = Filesystem {
    name: "bcachefs",
    title: "bcachefs",
    summary: "Copy-on-write B-trees grown from a block cache (in the kernel from 6.7 to 6.17): checksums of data and metadata, compression, \
              snapshots, several devices of different speed. Fair defaults: those of `bcachefs format`, on the one device.",
    drivers: &[Driver { config: "CONFIG_BCACHEFS_FS", modules: &["bcachefs"] }],
    mkfs: Tool { program: "mkfs.bcachefs", version: &["version"], packages: BCACHEFS_TOOLS },
    mkfs_defaults: &[MkfsDefault::Switch("-f"), MkfsDefault::Switch("-q")],
    fsck: Some(Fsck {
        tool: Tool { program: "bcachefs", version: &["version"], packages: BCACHEFS_TOOLS },
        // -K: the tools write everything themselves, like those of the other filesystems.
        options: &["fsck", "-K", "-f", "-n"],
        exit_codes: ExitCodes {
            source: "bcachefs-tools 1.25, c_src/cmd_fsck.c: the numbers of fsck(8)",
            summed: true,
            codes: &[CLEAN, CORRECTED, LEFT, FAILED, CANCELED],
        },
    }),
    // 512 buckets at least (BCH_MIN_NR_NBUCKETS), of 128 KiB and more; doubled to leave room for files.
    minimum_size: 128 << 20,
    facts: FilesystemFacts {
        copy_on_write: true,
        metadata_checksums: true,
        data_checksums: true,
        clones: true,
        compression: &["lz4", "gzip", "zstd"],
        syncfs_flushes: None,
        directory_index: DirectoryIndex::Always("B-tree of name hashes"),
        maximum_file: 1 << 63,
        maximum_volume: 1 << 63,
        mainline: Mainline::Between((6, 7), (6, 18)),
        kernel_status: "In the kernel from 6.7 (2024) to 6.17; since then built beside it (DKMS).",
        status_source: "changelog of Linux 6.18, November 2025 (kernelnewbies.org)",
        status_drawback: "removed from the kernel in 6.18 (November 2025)",
        source: "bcachefs(8); kernel Documentation/filesystems/bcachefs",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
