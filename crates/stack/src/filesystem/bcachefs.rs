//! bcachefs.

use fsverdict_judgement::plan::ProtectionFeature;

use super::copies::{CopyPrograms, ProfileWords};
use super::exit::{CANCELED, CLEAN, CORRECTED, ExitCodes, FAILED, LEFT};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck};
use super::option_effects::SafetyOption;
use super::snapshot::SnapshotPrograms;
use super::tool::{Package, Packages, Tool};

const BCACHEFS_TOOLS: Packages = Packages {
    debian: Package::Elsewhere(
        "`fsverdict tools bcachefs` fetches bcachefs-tools without installing it; Ubuntu from 24.04 has it as a package, no release of Debian",
    ),
    fedora: Package::Official("bcachefs-tools"),
    arch: Package::Official("bcachefs-tools"),
    opensuse: Package::Official("bcachefs-tools"),
};

pub(super) static BCACHEFS: Filesystem = Filesystem {
    name: "bcachefs",
    title: "bcachefs",
    summary: "Copy-on-write B-trees grown from a block cache (in the kernel from 6.7 to 6.17): checksums of data and metadata, compression, \
              snapshots, several devices of different speed. Fair defaults: those of `bcachefs format`, which keep data once, on \
              several devices too (`--replicas=2` keeps them twice); the first mount makes its B-trees.",
    drivers: &[Driver { config: "CONFIG_BCACHEFS_FS", modules: &["bcachefs"] }],
    mkfs: Tool { program: "mkfs.bcachefs", version: &["version"], packages: BCACHEFS_TOOLS },
    mkfs_defaults: &[
        MkfsDefault::Switch("-f"),
        MkfsDefault::Switch("-q"),
        // Otherwise the program starts the new filesystem and stops it again. At the stop it polls, without a system call,
        // for callbacks of RCU that another of its threads runs after 10 ms of sleep (bch2_rcu_pending_exit() in
        // fs/bcachefs/rcu_pending.c, poll() in call_rcu_thread() of liburcu). Simulated time stands still meanwhile, so that
        // it polls for ever on a device that is done within these 10 ms. The first mount then does that work in the kernel.
        MkfsDefault::Switch("--no_initialize"),
    ],
    takes_several: true,
    joins_devices: true,
    // The key then lies in the superblock as it is, and all else is as with a passphrase (bcachefs(8)).
    asks_for_key: Some(("--encrypted", "--no_passphrase")),
    copies: Some(CopyPrograms {
        said_as: ProfileWords::CopyCounts,
        forget: &[],
        // The copies are made on the new device before the missing one is given up.
        rebuild: &[
            &["bcachefs", "device", "add", "-f", "{mount}", "{device}"],
            &["bcachefs", "data", "rereplicate", "{mount}"],
            &["bcachefs", "device", "remove", "-f", "{index}", "{mount}"],
        ],
        // `bcachefs data scrub` came with Linux 6.15.
        scrub: None,
    }),
    // There is no way back to one but copying.
    snapshots: Some(SnapshotPrograms {
        create: &["bcachefs", "subvolume", "snapshot", "-r", "{mount}", "{mount}/.snapshot-{id}"],
        told: false,
        delete: &[&["bcachefs", "subvolume", "delete", "{mount}/.snapshot-{id}"]],
        rollback: None,
        shown: Some(".snapshot-{id}"),
        streams: None,
    }),
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
    option_effects: &[&[SafetyOption::adds("--encrypted", "encryption", ProtectionFeature::Encrypted)]],
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
        newer_driver: "the module that is built beside the kernel since 6.18, whose first release was about twice as fast as the driver \
                       of 6.17 in several tests (Phoronix, after The Register of 25 September 2025)",
        as_root: "the initramfs needs its module and bcachefs-tools, and the kernel has to lie on another filesystem, since GRUB does not read it",
        // libblkid has had its superblock since util-linux 2.38; formats since then are not all known to it.
        blkid_knows: false,
        source: "bcachefs(8); kernel Documentation/filesystems/bcachefs",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};

#[cfg(test)]
mod tests {
    use crate::filesystem::find_filesystem;

    /// On `sata-ssd` and `nvme-ssd` it polled until the trial was ended, because simulated time did not advance.
    #[test]
    fn the_first_mount_initialises_and_not_a_program_that_polls() {
        let argv =
            find_filesystem("bcachefs").unwrap().mkfs_argv("/dev/vda", &["--compression=lz4".to_owned()]);
        assert_eq!(argv.join(" "), "mkfs.bcachefs -f -q --no_initialize --compression=lz4 /dev/vda");
    }

    #[test]
    fn all_devices_are_mounted_in_one_word() {
        let devices = ["/dev/vda", "/dev/vdb"].map(str::to_owned);
        let joined = |name: &str| find_filesystem(name).unwrap().mounted_as_all(&devices);
        assert_eq!((joined("bcachefs"), joined("btrfs")), ("/dev/vda:/dev/vdb".into(), "/dev/vda".into()));
    }
}
