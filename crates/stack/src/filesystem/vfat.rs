//! FAT32.

use super::exit::{ExitCodes, FsckStatus};
use super::facts::FilesystemFacts;
use super::known_options::KnownOptions;
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck, Recovery};
use super::tool::{Packages, Tool};

const DOSFSTOOLS: Packages = Packages::everywhere("dosfstools");

pub(super) static VFAT: Filesystem = Filesystem {
    name: "vfat",
    title: "FAT32",
    summary: "Microsoft's of 1996, what small sticks and cards are sold with and everything can read: a table of clusters, no journal, no \
              owners, permissions or symbolic links, no file of 4 GiB. Fair defaults: FAT with 32 bits at any size, on the whole device, \
              clusters as mkfs.fat chooses them by the size.",
    drivers: &[Driver { config: "CONFIG_VFAT_FS", modules: &["vfat"] }],
    mkfs: Tool { program: "mkfs.vfat", version: &["/dev/null"], packages: DOSFSTOOLS },
    mkfs_defaults: &[
        MkfsDefault::Switch("-I"),
        MkfsDefault::Value { flag: "-F", value: "32", yields_to: &[], lasts: true },
    ],
    large_sectors: Some(["-S", "4096"]),
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.vfat", version: &["-n", "/dev/null"], packages: DOSFSTOOLS },
        options: &["-n"],
        exit_codes: ExitCodes {
            source: "fsck.fat(8), EXIT STATUS: with -n nothing is corrected, so 1 means that errors are left",
            summed: false,
            codes: &[(0, FsckStatus::Clean), (1, FsckStatus::ErrorsLeft), (2, FsckStatus::UsageError)],
        },
    }),
    // fsck.fat(8): -a repairs by itself; 1 says then that errors were found, and with -a they are corrected.
    recovery: Recovery { repair: Some(&["-a"]), repairs: &[&["-a"]], corrected: Some(1), ..Recovery::PLAIN },
    minimum_size: 34 << 20,
    // mkfs.fat(8); mount(8).
    options: KnownOptions {
        mkfs: &["-s", "-F", "-S", "-r", "-R"],
        mount: &["discard", "flush", "iocharset=", "tz="],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        syncfs_flushes: Some(false),
        permissions: false,
        hard_links: false,
        read_by: &["Windows", "macOS"],
        maximum_file: (4 << 30) - 1,
        maximum_volume: 2 << 40,
        kernel_status: "In the kernel, maintained for fixes.",
        source: "Microsoft, FAT32 File System Specification 1.03 (2000); kernel Documentation/filesystems/vfat.rst; Apple, Disk Utility User Guide",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
