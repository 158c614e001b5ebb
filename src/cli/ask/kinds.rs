//! The kinds of work and device that `fsverdict ask` knows, and what may be required, each with the words that people have for it.

use fsverdict_judgement::plan::RequiredProperty;

/// A kind of work, by the words people have for it.
pub(super) struct WorkKind {
    pub(super) preset: &'static str,
    /// For people.
    pub(super) shown: &'static str,
    pub(super) words: &'static [&'static str],
}

/// What may be required, in words that say what it comes to.
pub(super) struct MustKind {
    pub(super) property: RequiredProperty,
    pub(super) shown: &'static str,
    /// The plan's own word first.
    pub(super) words: &'static [&'static str],
}

/// A kind of device.
pub(super) struct DeviceKind {
    pub(super) model: &'static str,
    pub(super) shown: &'static str,
    pub(super) words: &'static [&'static str],
    /// Words that mean it where a device is expected, behind `on`, and elsewhere may mean something else.
    pub(super) behind_on: &'static [&'static str],
}

pub(super) const WORKS: &[WorkKind] = &[
    WorkKind {
        preset: "photo-backup",
        shown: "photos: pictures copied to a disk, looked at, removed",
        words: &["photos", "pictures", "photo-backup", "music", "media", "videos", "movies"],
    },
    WorkKind {
        preset: "fsync-tail",
        shown: "etcd, or another log that must be safe at once: fdatasync below 10 ms",
        words: &["etcd", "fsync", "fsync-tail", "wal", "kubernetes", "k8s", "k3s", "zookeeper", "latency"],
    },
    WorkKind {
        preset: "postgres",
        shown: "postgres: a database server's transactions, with and without copies on write",
        words: &[
            "postgres",
            "postgresql",
            "pgbench",
            "psql",
            "nodatacow",
            "mysql",
            "mariadb",
            "database-server",
        ],
    },
    WorkKind {
        preset: "kv-store",
        shown: "rocksdb: a store of keys and values",
        words: &["rocksdb", "kv-store", "key-value", "leveldb", "lsm", "db_bench", "cassandra"],
    },
    WorkKind {
        preset: "sqlite-app",
        shown: "sqlite: an application with a small database",
        words: &["sqlite", "database", "sqlite-app", "home-assistant", "phone"],
    },
    WorkKind {
        preset: "pi-card",
        shown: "pi: a small computer that runs from a card",
        words: &["pi", "raspberry", "pi-card", "dpkg", "raspberry-pi"],
    },
    WorkKind {
        preset: "mail-spool",
        shown: "mail: a server's folders, one file for each",
        words: &[
            "mail",
            "email",
            "maildir",
            "mail-spool",
            "mail-server",
            "imap",
            "dovecot",
            "postfix",
            "queue",
        ],
    },
    WorkKind {
        preset: "vm-image",
        shown: "vm: the disks of virtual machines",
        words: &[
            "vm",
            "vm-image",
            "vm-disk",
            "kvm",
            "qemu",
            "libvirt",
            "proxmox",
            "virtualbox",
            "virtual-machines",
        ],
    },
    WorkKind {
        preset: "container-store",
        shown: "containers: images pulled, updated, started, pruned",
        words: &["containers", "container-store", "docker", "podman", "images"],
    },
    WorkKind {
        preset: "git-monorepo",
        shown: "git: a large repository",
        words: &["git", "git-monorepo", "monorepo", "repository", "sources"],
    },
    WorkKind {
        preset: "ci-cache",
        shown: "ci: a builder's cache of dependencies, unpacked and thrown away",
        words: &["ci", "ci-cache", "cache", "builds", "runner", "node_modules", "npm"],
    },
    WorkKind {
        preset: "build-farm",
        shown: "builds: trees unpacked, compiled and thrown away, 350 000 files",
        words: &["build-farm", "build-server", "compile", "compiling", "compiler"],
    },
    WorkKind {
        preset: "luks-nvme",
        shown: "luks: what encryption costs on a fast SSD",
        words: &["luks", "luks-nvme", "encryption", "dm-crypt", "cryptsetup"],
    },
    WorkKind {
        preset: "stick",
        shown: "stick: photos and documents from one machine to another",
        words: &["stick", "transport", "documents"],
    },
    WorkKind {
        preset: "usb-backup",
        shown: "backup: files copied to a portable disk, read, removed and checked",
        words: &["backup", "usb-backup", "rsync"],
    },
    WorkKind {
        preset: "backup-server",
        shown: "backup-server: hard-linked generations, and one huge directory",
        words: &["backup-server", "rsnapshot", "dirvish", "hard-links"],
    },
    WorkKind {
        preset: "nas",
        shown: "nas: two disks with the same on both, one of which fails",
        words: &["nas", "raid", "raid1", "mirror"],
    },
    WorkKind {
        preset: "snapshots",
        shown: "snapshots: states of the filesystem kept and given up",
        words: &["snapshots", "rollback", "timeshift", "snapper"],
    },
    WorkKind {
        preset: "near-full",
        shown: "full: a disk that fills up",
        words: &["full", "near-full", "fills", "filled"],
    },
    WorkKind {
        preset: "aged",
        shown: "aged: a year of changes, against a fresh copy",
        words: &["aged", "old", "ageing", "aging", "fragmentation", "fragmented"],
    },
    WorkKind {
        preset: "power-cut",
        shown: "power: who has what was saved after the power was cut",
        words: &["power", "power-cut", "power-loss", "power-failure", "outage", "blackout", "crash"],
    },
    WorkKind {
        preset: "bit-rot",
        shown: "rot: who notices when a block rots",
        words: &["rot", "bit-rot", "corruption", "damaged"],
    },
    WorkKind {
        preset: "failed-writes",
        shown: "failing: what fsync says on a disk that refuses writes",
        words: &["failing", "failed-writes", "fsync-error", "bad-sectors", "eio"],
    },
    WorkKind {
        preset: "usb-unplug",
        shown: "unplug: a stick that is pulled out in the middle",
        words: &["unplug", "unplugged", "usb-unplug", "pulled", "pulled-out"],
    },
];

pub(super) const DEVICES: &[DeviceKind] = &[
    DeviceKind {
        model: "hdd-7200",
        shown: "hdd: a desktop disk",
        words: &["hdd", "hard-disk", "hard-drive", "spinning-disk"],
        behind_on: &["disk"],
    },
    DeviceKind {
        model: "sata-ssd",
        shown: "ssd: at SATA",
        words: &["ssd", "sata-ssd", "ssd-drive"],
        behind_on: &["sata"],
    },
    DeviceKind {
        model: "nvme-ssd",
        shown: "nvme: an SSD at NVMe",
        words: &["nvme", "nvme-ssd", "nvme-drive", "m2-ssd"],
        behind_on: &["m2"],
    },
    DeviceKind {
        model: "nvme-plp",
        shown: "server-ssd: the same with power-loss protection",
        words: &["server-ssd", "enterprise-ssd", "datacenter-ssd", "plp"],
        behind_on: &["datacenter"],
    },
    DeviceKind {
        model: "usb-disk-5400",
        shown: "usb-disk: a portable disk",
        words: &[
            "usb-disk",
            "usb-hdd",
            "usb-hard-disk",
            "usb-hard-drive",
            "portable-disk",
            "external-disk",
            "external-hdd",
            "external-hard-disk",
            "external-hard-drive",
        ],
        behind_on: &["usb", "portable", "external-drive"],
    },
    DeviceKind {
        model: "usb-stick",
        shown: "usb-stick: a cheap one",
        words: &["usb-stick", "usb-key", "pendrive", "thumb-drive", "flash-drive", "memory-stick"],
        behind_on: &["stick"],
    },
    DeviceKind {
        model: "sd-card-a1:filled",
        shown: "sd-card: of class A1, in use",
        words: &["sd-card", "micro-sd", "micro-sd-card", "memory-card"],
        behind_on: &["card", "sd"],
    },
    DeviceKind {
        model: "smr-5400",
        shown: "archive: a shingled disk",
        words: &["smr", "smr-disk", "shingled", "shingled-disk", "archive-disk"],
        behind_on: &["archive"],
    },
];

/// Devices of which there is no model, and what comes near.
pub(super) const NO_MODEL: &[(&str, &str)] = &[
    ("emmc", "there is no model of it; sd-card is the nearest, or name yours by its path"),
    ("flash", "is it a usb-stick, an sd-card, or an ssd?"),
    ("external-ssd", "there is no model of one behind USB; ssd is the nearest, or name yours by its path"),
    ("iscsi", "name its block device by its path, /dev/…; its network is then a part of what is measured"),
    (
        "nfs",
        "its folder is compared with others by a plan: `fsverdict show examples`, filesystem = \"directory\"",
    ),
    ("raid", "`fsverdict ask nas` asks of two disks; docs/reference/layers.md has others"),
];

pub(super) const MUSTS: &[MustKind] = &[
    MustKind {
        property: RequiredProperty::Encryption,
        shown: "encryption: nothing on the device can be read without its key",
        words: &["encryption", "encrypted", "encrypt", "luks"],
    },
    MustKind {
        property: RequiredProperty::DataChecksums,
        shown: "data_checksums: damaged files are noticed when they are read",
        words: &["data_checksums", "checksums"],
    },
    MustKind {
        property: RequiredProperty::CrashSafe,
        shown: "crash_safe: whole again after a power cut, by a journal or copies on write",
        words: &["crash_safe", "journal", "journaled", "survives-power-cuts", "survive-power-cuts"],
    },
    MustKind {
        property: RequiredProperty::Permissions,
        shown: "permissions: files have owners and permissions",
        words: &["permissions", "owners"],
    },
    MustKind {
        property: RequiredProperty::Snapshots,
        shown: "snapshots: keeps states of all of it",
        words: &["snapshots"],
    },
    MustKind {
        property: RequiredProperty::Clones,
        shown: "clones: copies of files that share their blocks",
        words: &["clones", "reflinks"],
    },
    MustKind {
        property: RequiredProperty::Windows,
        shown: "windows: Windows reads and writes it",
        words: &["windows"],
    },
    MustKind {
        property: RequiredProperty::Macos,
        shown: "macos: a Mac reads and writes it",
        words: &["macos", "mac", "apple"],
    },
];
