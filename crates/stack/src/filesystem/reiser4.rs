//! Reiser4.

use super::exit::{CLEAN, ExitCodes, FAILED, FsckStatus, LEFT, USAGE};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck};
use super::tool::{Package, Packages, Tool};

const REISER4PROGS: Packages = Packages {
    debian: Package::Official("reiser4progs"),
    fedora: Package::Elsewhere(
        "not packaged; build reiser4progs and libaal from source (sourceforge.net/projects/reiser4)",
    ),
    arch: Package::Elsewhere("reiser4progs, in the AUR"),
    opensuse: Package::Elsewhere("reiser4progs, in the filesystems project of the Open Build Service"),
};

pub(super) static REISER4: Filesystem = Filesystem {
    name: "reiser4",
    title: "Reiser4",
    summary: "The successor of ReiserFS (2004): dancing trees, wandering journal, plugins for everything. Never merged into the \
              kernel: it needs a kernel with the Reiser4 patch. Fair defaults: those of mkfs.reiser4 (4 KiB blocks), which compress \
              files that turn out compressible (`-o create=reg40` turns that off).",
    drivers: &[Driver { config: "CONFIG_REISER4_FS", modules: &["reiser4"] }],
    mkfs: Tool { program: "mkfs.reiser4", version: &["-V"], packages: REISER4PROGS },
    mkfs_defaults: &[MkfsDefault::Switch("-f"), MkfsDefault::Switch("-f"), MkfsDefault::Switch("-y")],
    mkfs_lists: &["-o"],
    fsck: Some(Fsck {
        tool: Tool { program: "fsck.reiser4", version: &["-V"], packages: REISER4PROGS },
        // Not -a, which in some versions prints the version and ends with 0, nothing checked.
        options: &["--check", "-y", "-f"],
        exit_codes: ExitCodes {
            // Fixable, fatal in the superblock, fatal elsewhere: observed with 1.2.2 on damaged images. A check never
            // reports "corrected".
            source: "reiser4progs, progs/fsck/fsck.c",
            summed: false,
            codes: &[CLEAN, (1, FsckStatus::ErrorsLeft), (2, FsckStatus::ErrorsLeft), LEFT, FAILED, USAGE],
        },
    }),
    minimum_size: 16 << 20,
    facts: FilesystemFacts {
        journaled: true,
        compression: &["lzo1", "gzip1"],
        compresses_by_default: true,
        syncfs_flushes: None,
        directory_index: DirectoryIndex::Always("balanced tree of name hashes"),
        maximum_file: 8 << 40,
        maximum_volume: 16 << 40,
        mainline: Mainline::Never,
        kernel_status: "Never merged; needs a kernel built with the Reiser4 patch (`kernel = \"/path/to/linux\"` with lab = \"uml\").",
        status_drawback: "never in the kernel: it needs one with a patch",
        source: "mkfs.reiser4(8)",
        as_root: "the initramfs needs its module, and the kernel has to lie on another filesystem, since GRUB does not read it",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
