//! NTFS.

use super::facts::{DirectoryIndex, FilesystemFacts, Mainline};
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem};
use super::tool::{Package, Packages, Tool};

const NTFS_3G: Packages =
    Packages { opensuse: Package::Official("ntfsprogs"), ..Packages::everywhere("ntfs-3g") };

pub(super) static NTFS3: Filesystem = Filesystem {
    name: "ntfs3",
    title: "NTFS",
    summary: "Microsoft's of 1993, what large USB disks are sold with, served by Paragon's driver (in Linux since 2021): extents, B-trees of \
              names, a log that Linux replays but does not write. Fair defaults: those of mkfs.ntfs without reading the whole device first. There \
              is no checker for Linux; ntfsfix only clears the mark that asks Windows for one.",
    drivers: &[Driver { config: "CONFIG_NTFS3_FS", modules: &["ntfs3"] }],
    mkfs: Tool { program: "mkfs.ntfs", version: &["--version"], packages: NTFS_3G },
    mkfs_defaults: &[MkfsDefault::Switch("-F"), MkfsDefault::Switch("-q"), MkfsDefault::Lasting("-f")],
    minimum_size: 2 << 20,
    // mkntfs(8); kernel Documentation/filesystems/ntfs3.rst.
    options: KnownOptions {
        mkfs: &["-c", "-s", "-p"],
        mount: &["discard", "prealloc", "sparse", "nohidden", "windows_names", "acl", "iocharset="],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        compression: &["lznt1"],
        syncfs_flushes: Some(false),
        directory_index: DirectoryIndex::Always("B-tree of names"),
        read_by: &["Windows", "macOS (cannot write it)"],
        maximum_file: 16 << 40,
        maximum_volume: 16 << 40,
        mainline: Mainline::Since((5, 15)),
        kernel_status: "In the kernel since 5.15, maintained.",
        source: "kernel Documentation/filesystems/ntfs3.rst; mkntfs(8); fs/ntfs3/xattr.c (owners and modes); Apple, Disk Utility User Guide",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
