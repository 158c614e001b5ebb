//! Btrfs.

use super::copies::{CopyPrograms, ProfileWords};
use super::exit::{ExitCodes, FsckStatus};
use super::facts::{DirectoryIndex, FilesystemFacts, Property};
use super::known_options::{Choice, ChoiceOptions, KnownOptions};
use super::mkfs::MkfsDefault;
use super::model::{Driver, Filesystem, Fsck, Recovery};
use super::option_effects::SafetyOption;
use super::snapshot::{SnapshotPrograms, StreamPrograms};
use super::tool::{Package, Packages, Tool};

const BTRFS_PROGS: Packages = Packages {
    debian: Package::Official("btrfs-progs"),
    fedora: Package::Official("btrfs-progs"),
    arch: Package::Official("btrfs-progs"),
    opensuse: Package::Official("btrfsprogs"),
};

pub(super) static BTRFS: Filesystem = Filesystem {
    name: "btrfs",
    title: "Btrfs",
    summary: "A copy-on-write tree of everything (2009): checksums of data and metadata, snapshots, transparent compression on \
              request. Fair defaults: those of mkfs.btrfs, which since 5.15 keep two copies of metadata even on one device \
              (`-m single` turns that off); only its own discard is left out, because the trial has done it before.",
    drivers: &[Driver { config: "CONFIG_BTRFS_FS", modules: &["btrfs"] }],
    mkfs: Tool { program: "mkfs.btrfs", version: &["-V"], packages: BTRFS_PROGS },
    mkfs_defaults: &[MkfsDefault::Switch("-f"), MkfsDefault::Switch("-q"), MkfsDefault::Switch("-K")],
    mkfs_lists: &["-O", "-R"],
    checks_itself: true,
    takes_several: true,
    // Through it devices are registered.
    nodes: &["/dev/btrfs-control"],
    copies: Some(CopyPrograms {
        said_as: ProfileWords::RaidLevels,
        // Each by its name, so that devices of other filesystems stay registered.
        forget: &["btrfs", "device", "scan", "--forget", "{device}"],
        // Data written while a device was missing have one copy; the second command restores their profile.
        rebuild: &[
            &["btrfs", "replace", "start", "-B", "-f", "{number}", "{device}", "{mount}"],
            &["btrfs", "balance", "start", "-dconvert={data},soft", "-mconvert={metadata},soft", "{mount}"],
        ],
        scrub: Some(&["btrfs", "scrub", "start", "-B", "{mount}"]),
    }),
    snapshots: Some(SnapshotPrograms {
        create: &["btrfs", "subvolume", "snapshot", "-r", "{mount}", "{mount}/.snapshot-{id}"],
        told: false,
        delete: &[&["btrfs", "subvolume", "delete", "{mount}/.snapshot-{id}"]],
        // A rollback takes effect at the next mount; the state before it stays, and keeps its space.
        rollback: Some(&[
            &["btrfs", "subvolume", "snapshot", "{mount}/.snapshot-{id}", "{mount}/.back-{id}"],
            &["btrfs", "subvolume", "set-default", "{mount}/.back-{id}"],
        ]),
        shown: Some(".snapshot-{id}"),
        streams: Some(StreamPrograms {
            send_all: &["btrfs", "send", "-q", "{mount}/.snapshot-{id}"],
            send_changes: &[
                "btrfs",
                "send",
                "-q",
                "-p",
                "{mount}/.snapshot-{base}",
                "{mount}/.snapshot-{id}",
            ],
            receive: &["btrfs", "receive", "-q", "{mount}/.received"],
            folder: Some(".received"),
            shown: Some(".received/.snapshot-{id}"),
        }),
    }),
    fsck: Some(Fsck {
        tool: Tool { program: "btrfs", version: &["--version"], packages: BTRFS_PROGS },
        // All metadata, as the other checkers do; --check-data-csum would read all data too, which none of them does.
        options: &["check", "--readonly"],
        exit_codes: ExitCodes {
            // A device that cannot be opened ends with 1 as well: the output tells them apart.
            source: "btrfs-check(8), EXIT STATUS: zero if it succeeds, non-zero in case of failure",
            summed: false,
            codes: &[(0, FsckStatus::Clean), (1, FsckStatus::ErrorsLeft)],
        },
    }),
    // btrfs-check(8) warns of its --repair. `fs/btrfs/disk-io.c`, `btrfs_replay_log`.
    recovery: Recovery {
        repair: None,
        repair_first: false,
        replayed: &["start tree-log replay"],
        ..Recovery::PLAIN
    },
    minimum_size: 109 << 20,
    option_effects: &[&[
        SafetyOption::without_flushes("nobarrier", "btrfs(5), nobarrier"),
        SafetyOption::default("barrier", "barrier"),
    ]],
    // mkfs.btrfs(8); btrfs(5).
    options: KnownOptions {
        mkfs: &["-d", "-m", "-M", "-n", "-s", "-O", "-R", "--csum"],
        mount: &[
            "compress",
            "compress=",
            "compress-force",
            "compress-force=",
            "nodatacow",
            "datacow",
            "nodatasum",
            "datasum",
            "autodefrag",
            "noautodefrag",
            "ssd",
            "ssd_spread",
            "nossd",
            "discard",
            "discard=",
            "nodiscard",
            "space_cache=",
            "commit=",
            "flushoncommit",
            "noflushoncommit",
            "notreelog",
            "treelog",
            "max_inline=",
            "thread_pool=",
            "noacl",
            "barrier",
            "nobarrier",
        ],
        values: &[
            (
                "-O",
                &[
                    "no-holes",
                    "^no-holes",
                    "free-space-tree",
                    "^free-space-tree",
                    "block-group-tree",
                    "raid-stripe-tree",
                ],
            ),
            ("--csum", &["crc32c", "xxhash", "sha256", "blake2"]),
        ],
        choices: &[
            ChoiceOptions { choice: Choice::Compression, gives: true, mkfs: &[], mount: &["compress=zstd"] },
            ChoiceOptions { choice: Choice::CopyOnWrite, gives: false, mkfs: &[], mount: &["nodatacow"] },
            ChoiceOptions { choice: Choice::DataChecksums, gives: false, mkfs: &[], mount: &["nodatasum"] },
        ],
    },
    facts: FilesystemFacts {
        copy_on_write: true,
        metadata_checksums: true,
        data_checksums: true,
        clones: true,
        compression: &["zlib", "lzo", "zstd"],
        directory_index: DirectoryIndex::Always("B-tree of name hashes"),
        promises: &["entry"],
        changed_by: &[
            ("nodatasum", Property::DataChecksums, false),
            ("nodatacow", Property::DataChecksums, false),
        ],
        maximum_file: 1 << 63,
        maximum_volume: 1 << 64,
        actively_developed: true,
        kernel_status: "In the kernel, actively developed.",
        source: "btrfs(5); mkfs.btrfs(8)",
        ..FilesystemFacts::PLAIN
    },
    ..Filesystem::PLAIN
};
