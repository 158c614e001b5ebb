//! F2FS.

use super::exit::{ExitCodes, Meaning};
use super::facts::{DirectoryIndex, Facts, Inodes};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck};
use super::tool::{Packages, Tool};

const F2FS_TOOLS: Packages = Packages::everywhere("f2fs-tools");

/// F2FS.
pub(super) static F2FS: Filesystem = Filesystem {
    name: "f2fs",
    title: "F2FS",
    summary: "Samsung's log-structured filesystem for flash (2012): six append points for hot and cold data, cleaning in the \
              background, roll-forward after fsync. Fair defaults: those of mkfs.f2fs (4 KiB blocks) less its own discard.",
    drivers: &[Driver { config: "CONFIG_F2FS_FS", modules: &["f2fs"] }],
    mkfs: Tool { program: "mkfs.f2fs", version: &["-V"], packages: F2FS_TOOLS },
    mkfs_defaults: &[
        MkfsDefault::Switch("-f"),
        MkfsDefault::Switch("-q"),
        MkfsDefault::Value { flag: "-t", value: "0", yields_to: &[] },
    ],
    mkfs_lists: &["-O"],
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.f2fs", version: &["-V"], packages: F2FS_TOOLS },
        options: &["--dry-run", "-f"],
        exit_codes: ExitCodes {
            source: "f2fs-tools 1.15",
            summed: true,
            codes: &[
                (0, Meaning::Clean),
                (1, Meaning::Corrected),
                (2, Meaning::CorrectedReboot),
                (4, Meaning::ErrorsLeft),
                (8, Meaning::OperationalError),
                (16, Meaning::UsageError),
                (32, Meaning::Canceled),
                (128, Meaning::LibraryError),
            ],
        },
    }),
    other_tools: &[],
    mount_defaults: &[],
    cleaner: None,
    minimum_size: 52 << 20,
    facts: Facts {
        journaled: false,
        copy_on_write: true,
        metadata_checksums: true,
        data_checksums: false,
        compression: &["lzo", "lz4", "zstd"],
        directory_index: DirectoryIndex::Always("multi-level hash table"),
        inodes: Inodes::Dynamic,
        maximum_file: 4 << 40,
        maximum_volume: 16 << 40,
        kernel_status: "In the kernel, actively developed.",
        source: "kernel Documentation/filesystems/f2fs.rst; mkfs.f2fs(8)",
    },
};
