//! XFS.

use super::exit::{ExitCodes, FsckStatus};
use super::facts::{DirectoryIndex, FilesystemFacts, Property};
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{ApartDevice, Driver, Filesystem, Fsck, Recovery};
use super::tool::{Packages, Tool};

const XFSPROGS: Packages = Packages::everywhere("xfsprogs");

pub(super) static XFS: Filesystem = Filesystem {
    name: "xfs",
    title: "XFS",
    summary: "SGI's filesystem for large files and many processors (1994, in Linux since 2001): B+ trees everywhere, delayed \
              allocation, allocation groups that work in parallel, a journal of metadata with delayed logging, inodes made when \
              needed. Fair defaults: those of mkfs.xfs (4 KiB blocks, checksums of metadata, reflink); only its own discard is \
              left out, because the trial has done it before.",
    drivers: &[Driver { config: "CONFIG_XFS_FS", modules: &["xfs"] }],
    mkfs: Tool { program: "mkfs.xfs", version: &["-V"], packages: XFSPROGS },
    mkfs_defaults: &[MkfsDefault::Switch("-f"), MkfsDefault::Switch("-q"), MkfsDefault::Switch("-K")],
    // Else it has those of the device it is made on, and is not mounted on larger ones.
    large_sectors: Some(["-s", "size=4096"]),
    checks_itself: true,
    apart: &[
        ApartDevice { mkfs: "logdev=", mount: Some("logdev="), fsck: Some("-l"), prepare: None },
        ApartDevice { mkfs: "rtdev=", mount: Some("rtdev="), fsck: Some("-r"), prepare: None },
    ],
    fsck: Some(Fsck {
        tool: Tool { program: "xfs_repair", version: &["-V"], packages: XFSPROGS },
        // fsck.xfs does nothing by design; xfs_repair -n reads all metadata and changes nothing.
        options: &["-n"],
        exit_codes: ExitCodes {
            // With -n a failure to run at all ends with 1 as well: the output tells them apart.
            source: "xfs_repair(8), EXIT STATUS",
            summed: false,
            codes: &[
                (0, FsckStatus::Clean),
                (1, FsckStatus::ErrorsLeft),
                (2, FsckStatus::OperationalError),
                (4, FsckStatus::Corrected),
            ],
        },
    }),
    // xfs_repair(8): -L gives up a log that cannot be replayed. `fs/xfs/xfs_log_recover.c`, `xlog_recover`.
    recovery: Recovery {
        repair: Some(&["-L"]),
        repair_first: false,
        replayed: &["Starting recovery", "Ending recovery"],
        gave_up: &[],
        repairs: &[&[], &["-L"]],
        ..Recovery::PLAIN
    },
    minimum_size: 300 << 20,
    // mkfs.xfs(8); xfs(5).
    options: KnownOptions {
        mkfs: &["-b", "-d", "-i", "-l", "-m", "-n", "-s", "-r"],
        mount: &[
            "allocsize=",
            "discard",
            "nodiscard",
            "inode32",
            "inode64",
            "largeio",
            "nolargeio",
            "logbsize=",
            "logbufs=",
            "noalign",
            "sunit=",
            "swidth=",
            "swalloc",
            "wsync",
            "attr2",
            "noattr2",
            "noquota",
        ],
        values: &[
            ("-m", &["bigtime=", "crc=", "finobt=", "inobtcount=", "reflink=", "rmapbt="]),
            ("-i", &["nrext64=", "sparse="]),
            ("-d", &["agcount=", "agsize=", "su=", "sw="]),
            ("-n", &["ftype="]),
        ],
        choices: &[],
    },
    facts: FilesystemFacts {
        journaled: true,
        metadata_checksums: true,
        clones: true,
        directory_index: DirectoryIndex::Always("B+ tree of name hashes"),
        promises: &["entry"],
        // mkfs.xfs(8): without checksums of metadata there is no reflink either.
        changed_by: &[
            ("crc=0", Property::MetadataChecksums, false),
            ("crc=0", Property::Clones, false),
            ("reflink=0", Property::Clones, false),
        ],
        maximum_file: 1 << 63,
        maximum_volume: 1 << 63,
        actively_developed: true,
        kernel_status: "In the kernel, actively developed.",
        source: "xfs(5); mkfs.xfs(8)",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
