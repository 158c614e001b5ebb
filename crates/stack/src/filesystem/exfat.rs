//! exFAT.

use super::exit::{CANCELED, CLEAN, CORRECTED, ExitCodes, FAILED, LEFT, LIBRARY, USAGE};
use super::facts::{FilesystemFacts, Mainline};
use super::known_options::KnownOptions;
use super::model::{Driver, Filesystem, Fsck};
use super::tool::{Packages, Tool};

const EXFATPROGS: Packages = Packages::everywhere("exfatprogs");

pub(super) static EXFAT: Filesystem = Filesystem {
    name: "exfat",
    title: "exFAT",
    summary: "Microsoft's for flash (2006), what sticks and cards above 32 GB are sold with: a bitmap beside the table of clusters, which files \
              that lie in one piece do not use; no journal, no owners, permissions or symbolic links. Fair defaults: those of mkfs.exfat, \
              which makes clusters of 4 KiB to 128 KiB by the size.",
    drivers: &[Driver { config: "CONFIG_EXFAT_FS", modules: &["exfat"] }],
    mkfs: Tool { program: "mkfs.exfat", version: &["-V"], packages: EXFATPROGS },
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.exfat", version: &["-V", "/dev/null"], packages: EXFATPROGS },
        options: &["-n"],
        exit_codes: ExitCodes {
            source: "exfatprogs 1.2.0, fsck/fsck.c: the numbers of fsck(8)",
            summed: false,
            codes: &[CLEAN, CORRECTED, LEFT, FAILED, USAGE, CANCELED, LIBRARY],
        },
    }),
    minimum_size: 3 << 20,
    // mkfs.exfat(8); kernel fs/exfat/super.c.
    options: KnownOptions {
        mkfs: &["-c", "-b", "-s"],
        mount: &["discard", "iocharset="],
        values: &[],
        choices: &[],
    },
    facts: FilesystemFacts {
        syncfs_flushes: Some(false),
        permissions: false,
        hard_links: false,
        read_by: &["Windows", "macOS"],
        maximum_file: 128 << 50,
        maximum_volume: 128 << 50,
        mainline: Mainline::Since((5, 7)),
        kernel_status: "In the kernel since 5.7, maintained.",
        source: "Microsoft, exFAT file system specification (2019); fs/exfat; Apple, Disk Utility User Guide",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
