//! ZFS.

use fsverdict_judgement::plan::ProtectionFeature;

use super::exit::{ExitCodes, FsckStatus};
use super::facts::{DirectoryIndex, FilesystemFacts, Mainline, Property};
use super::known_options::{Choice, ChoiceOptions, KnownOptions};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck};
use super::option_effects::{SafetyEffect, SafetyOption};
use super::pool::PoolPrograms;
use super::snapshot::{SnapshotPrograms, StreamPrograms};
use super::tool::{Package, Packages, Tool};

const ZFS_UTILS: Packages = Packages {
    debian: Package::Elsewhere(
        "zfsutils-linux, in Debian's component contrib (in Ubuntu, zfsutils-linux without that); `fsverdict kernel build --with zfs` takes it along with its kernel",
    ),
    fedora: Package::Elsewhere(
        "zfs, in the repository of the OpenZFS project (openzfs.github.io/openzfs-docs)",
    ),
    arch: Package::Elsewhere("zfs-utils, in the AUR and in the repository archzfs"),
    opensuse: Package::Elsewhere("zfs, in the filesystems project of the Open Build Service"),
};

const ZPOOL: Tool = Tool { program: "zpool", version: &["version"], packages: ZFS_UTILS };

pub(super) static ZFS: Filesystem = Filesystem {
    name: "zfs",
    title: "ZFS",
    summary: "OpenZFS: a pool of devices with copy-on-write datasets in it (Sun, 2005; on Linux since 2010): checksums of data and \
              metadata, snapshots, compression, encryption, mirrors and RAID-Z, a cache of its own (ARC). It is not part of Linux. \
              Fair defaults: those of `zpool create` and of the pool's first dataset, which compresses with lz4 and keeps \
              metadata twice.",
    drivers: &[Driver { config: "CONFIG_ZFS", modules: &["zfs"] }],
    mkfs: ZPOOL,
    mkfs_defaults: &[
        MkfsDefault::Lasting("create"),
        MkfsDefault::Switch("-f"),
        // A pool in a cache file would be imported at the next boot.
        MkfsDefault::Switch("-o"),
        MkfsDefault::Switch("cachefile=none"),
        // mount(8) mounts it, and nothing else does.
        MkfsDefault::Switch("-m"),
        MkfsDefault::Switch("legacy"),
    ],
    takes_several: true,
    checks_itself: true,
    nodes: &["/dev/zfs"],
    pool: Some(PoolPrograms {
        valued: &["-o", "-O", "-m", "-R", "-t"],
        layouts: &["mirror", "raidz", "draid"],
        purposes: &["log", "cache", "special", "dedup", "spare"],
        // Else it waits three seconds for udev to name each device (zpool(8)), which no trial has.
        import: &["env", "ZFS_VDEV_DEVID_OPT_OUT=1", "zpool", "import", "-o", "cachefile=none"],
        encryption: "encryption",
        key: &["-O", "keyformat=raw", "-O", "keylocation=file://"],
        passphrase: &["-O", "keyformat=passphrase"],
        mounted_at: "-m",
        unmounted: "-N",
        // What it then mounts has a mount point, which a dataset of a trial has not.
        unlock: "-l",
        looked_at: "-d",
        export: &["zpool", "export"],
        sync: &["zpool", "sync"],
        scrub: &["zpool", "scrub", "-w"],
        forced: "-f",
        forget: &["zpool", "labelclear", "-f"],
        replace: &["zpool", "replace", "-f", "-w"],
    }),
    snapshots: Some(SnapshotPrograms {
        create: &["zfs", "snapshot", "{pool}@{id}"],
        told: false,
        delete: &[&["zfs", "destroy", "{pool}@{id}"]],
        // Newer snapshots would be in the way; there is none that is newer than the newest.
        rollback: Some(&[&["zfs", "rollback", "{pool}@{id}"]]),
        // `.zfs/snapshot/NAME` is mounted by the kernel when it is entered, by a program outside the trial.
        shown: None,
        streams: Some(StreamPrograms {
            send_all: &["zfs", "send", "{pool}@{id}"],
            send_changes: &["zfs", "send", "-i", "@{base}", "{pool}@{id}"],
            // Not mounted; what is there of an earlier stream is gone back to first.
            receive: &["zfs", "receive", "-u", "-F", "{pool}/received"],
            folder: None,
            shown: None,
        }),
    }),
    fsck: Some(Fsck {
        tool: ZPOOL,
        // Of the imported pool, after it was scrubbed.
        options: &["status"],
        exit_codes: ExitCodes {
            source: "zpool-status(8): what was found is in the text, which `pool_status` reads; the exit status tells of usage errors alone",
            summed: false,
            codes: &[(0, FsckStatus::Clean), (1, FsckStatus::ErrorsLeft), (2, FsckStatus::UsageError)],
        },
    }),
    // `SPA_MINDEVSIZE` (include/sys/fs/zfs.h).
    minimum_size: 64 << 20,
    // zfsprops(7), sync and copies.
    option_effects: &[&[
        SafetyOption::loses(
            "sync=disabled",
            "sync property",
            SafetyEffect::Protection(ProtectionFeature::IgnoredSync),
            "fsync returns before the data are durable: what was written in the last seconds may be lost",
            "zfsprops(7), sync",
        ),
        SafetyOption::adds("sync=always", "sync property", ProtectionFeature::SynchronousWrites),
        SafetyOption::default("sync=standard", "sync property"),
        SafetyOption::default("copies=1", "copies"),
        SafetyOption::adds("copies=2", "copies", ProtectionFeature::DuplicatedData),
        SafetyOption::adds("copies=3", "copies", ProtectionFeature::DuplicatedData),
    ]],
    // zpool-create(8), zpoolprops(7), zfsprops(7).
    options: KnownOptions {
        mkfs: &["-d", "-o", "-O", "-m", "-n"],
        mount: &["atime", "noatime", "relatime", "norelatime", "xattr", "noxattr", "dirxattr", "saxattr"],
        values: &[
            (
                "-O",
                &[
                    "atime=",
                    "checksum=",
                    "compression=",
                    "copies=",
                    "dedup=",
                    "dnodesize=",
                    "logbias=",
                    "primarycache=",
                    "recordsize=",
                    "redundant_metadata=",
                    "relatime=",
                    "sync=",
                    "xattr=",
                ],
            ),
            ("-o", &["ashift=", "autotrim="]),
        ],
        choices: &[
            ChoiceOptions {
                choice: Choice::Compression,
                gives: false,
                mkfs: &["-O", "compression=off"],
                mount: &[],
            },
            ChoiceOptions {
                choice: Choice::DataChecksums,
                gives: false,
                mkfs: &["-O", "checksum=off"],
                mount: &[],
            },
        ],
    },
    facts: FilesystemFacts {
        copy_on_write: true,
        metadata_checksums: true,
        data_checksums: true,
        clones: true,
        compression: &["lz4", "zstd", "gzip", "zle", "lzjb"],
        compresses_by_default: true,
        directory_index: DirectoryIndex::Always("extensible hash table (ZAP)"),
        changed_by: &[("checksum=off", Property::DataChecksums, false)],
        maximum_file: 1 << 63,
        maximum_volume: 1 << 127,
        mainline: Mainline::Never,
        kernel_status: "Not in the kernel, whose licence (GPL 2.0) and ZFS's (CDDL 1.0) do not go together in one distributed program: distributions have it as a module that each machine builds (DKMS), Ubuntu as a finished one.",
        status_source: "META and LICENSE of OpenZFS 2.3.2, May 2025; Debian's zfs-dkms",
        status_drawback: "not in the kernel: its module has to be built, or bought with Ubuntu, for each kernel",
        as_root: "the initramfs needs zfs-initramfs, and GRUB reads few of its features: OpenZFS's \"Root on ZFS\" has the steps for each distribution",
        source: "zpool-create(8); zfsprops(7); zpoolprops(7)",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};

#[cfg(test)]
mod tests {
    use crate::filesystem::find_filesystem;

    #[test]
    fn a_pool_is_made_in_one_command_and_mounted_by_its_name() {
        let zfs = find_filesystem("zfs").unwrap();
        let words = ["-o", "ashift=12", "-O", "recordsize=16K"].map(str::to_owned);
        assert_eq!(
            zfs.mkfs_argv("/dev/fsverdict/vda", &words).join(" "),
            "zpool create -f -o cachefile=none -m legacy -o ashift=12 -O recordsize=16K fsverdict-vda /dev/fsverdict/vda"
        );
        let mount =
            zfs.mount_options(&["noatime".to_owned()]).argv(&zfs.mounted_as("/dev/fsverdict/vda"), "/m");
        assert_eq!(mount.join(" "), "mount -i -t zfs -o noatime fsverdict-vda /m");
        assert_eq!(zfs.fsck_argv("/dev/fsverdict/vda").unwrap().join(" "), "zpool status fsverdict-vda");
    }
}
