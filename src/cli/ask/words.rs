//! The words that `fsverdict ask` understands: which preset asks about which work, which model stands for which device, and what may be
//! required.

use fsverdict_judgement::plan::{Preset, RequiredProperty, preset};

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
}

pub(super) const WORKS: &[WorkKind] = &[
    WorkKind {
        preset: "photo-backup",
        shown: "photos: pictures copied to a disk, looked at, removed",
        words: &["photos", "pictures", "photo-backup", "music", "media", "videos"],
    },
    WorkKind {
        preset: "fsync-tail",
        shown: "etcd, or another log that must be safe at once: fdatasync below 10 ms",
        words: &["etcd", "fsync", "fsync-tail", "wal", "kubernetes", "latency"],
    },
    WorkKind {
        preset: "postgres",
        shown: "postgres: a database server's transactions, with and without copies on write",
        words: &["postgres", "postgresql", "pgbench", "psql", "nodatacow"],
    },
    WorkKind {
        preset: "kv-store",
        shown: "rocksdb: a store of keys and values",
        words: &["rocksdb", "kv-store", "key-value", "leveldb", "lsm", "db_bench"],
    },
    WorkKind {
        preset: "sqlite-app",
        shown: "sqlite: an application with a small database",
        words: &["sqlite", "database", "sqlite-app", "home-assistant", "phone"],
    },
    WorkKind {
        preset: "pi-card",
        shown: "pi: a small computer that runs from a card",
        words: &["pi", "raspberry", "pi-card", "card", "dpkg", "raspberry-pi"],
    },
    WorkKind {
        preset: "mail-spool",
        shown: "mail: a server's folders, one file for each",
        words: &["mail", "maildir", "mail-spool", "imap", "queue"],
    },
    WorkKind {
        preset: "vm-image",
        shown: "vm: the disks of virtual machines",
        words: &["vm", "vms", "vm-image", "kvm", "qemu", "virtual-machines"],
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
        preset: "luks-nvme",
        shown: "luks: what encryption costs on a fast SSD",
        words: &["luks", "luks-nvme", "encryption", "dm-crypt", "dmcrypt", "cryptsetup"],
    },
    WorkKind {
        preset: "stick",
        shown: "stick: photos and documents from one machine to another",
        words: &["stick", "transport", "documents"],
    },
    WorkKind {
        preset: "usb-backup",
        shown: "backup: files copied to a portable disk, read, removed and checked",
        words: &["backup", "backups", "usb-backup", "rsync"],
    },
    WorkKind {
        preset: "backup-server",
        shown: "backup-server: hard-linked generations, and one huge directory",
        words: &["backup-server", "rsnapshot", "dirvish", "hard-links", "hardlinks"],
    },
    WorkKind {
        preset: "nas",
        shown: "nas: two disks with the same on both, one of which fails",
        words: &["nas", "raid", "raid1", "mirror"],
    },
    WorkKind {
        preset: "snapshots",
        shown: "snapshots: states of the filesystem kept and given up",
        words: &["snapshots", "snapshot", "rollback", "timeshift", "snapper"],
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
        words: &["power", "power-cut", "power-cuts", "outage", "blackout", "crash"],
    },
    WorkKind {
        preset: "bit-rot",
        shown: "rot: who notices when a block rots",
        words: &["rot", "bit-rot", "bitrot", "corruption", "damaged"],
    },
    WorkKind {
        preset: "failed-writes",
        shown: "failing: what fsync says on a disk that refuses writes",
        words: &["failing", "failed-writes", "fsync-error", "bad-sectors", "eio"],
    },
    WorkKind {
        preset: "usb-unplug",
        shown: "unplug: a stick that is pulled out in the middle",
        words: &["unplug", "unplugged", "usb-unplug", "pulled"],
    },
];

pub(super) const DEVICES: &[DeviceKind] = &[
    DeviceKind {
        model: "hdd-7200",
        shown: "hdd: a desktop disk",
        words: &["hdd", "disk", "harddisk", "hard-disk"],
    },
    DeviceKind { model: "sata-ssd", shown: "ssd: at SATA", words: &["ssd", "sata"] },
    DeviceKind { model: "nvme-ssd", shown: "nvme: an SSD at NVMe", words: &["nvme", "m2"] },
    DeviceKind {
        model: "nvme-plp",
        shown: "server-ssd: the same with power-loss protection",
        words: &["server-ssd", "plp", "datacenter"],
    },
    DeviceKind {
        model: "usb-disk-5400",
        shown: "usb-disk: a portable disk",
        words: &["usb-disk", "usb", "portable"],
    },
    DeviceKind {
        model: "usb-stick",
        shown: "usb-stick: a cheap one",
        words: &["usb-stick", "stick", "pendrive"],
    },
    DeviceKind {
        model: "sd-card-a1:filled",
        shown: "sd-card: of class A1, in use",
        words: &["sd-card", "card", "sd", "microsd"],
    },
    DeviceKind {
        model: "smr-5400",
        shown: "archive: a shingled disk",
        words: &["archive", "smr", "shingled"],
    },
];

pub(super) const MUSTS: &[MustKind] = &[
    MustKind {
        property: RequiredProperty::Encryption,
        shown: "encryption: nothing on the device can be read without its key",
        words: &["encryption", "encrypted", "luks"],
    },
    MustKind {
        property: RequiredProperty::DataChecksums,
        shown: "data_checksums: damaged files are noticed when they are read",
        words: &["data_checksums", "checksums"],
    },
    MustKind {
        property: RequiredProperty::CrashSafe,
        shown: "crash_safe: whole again after a power cut, by a journal or copies on write",
        words: &["crash_safe", "journal"],
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
        words: &["macos", "mac"],
    },
];

/// The preset that is called so, or of which one of its words is among what was said.
pub(super) fn preset_for(said: &str) -> Option<&'static Preset> {
    let said = said.to_lowercase();
    let has = |work: &&WorkKind| {
        said.split_whitespace()
            .any(|word| work.words.contains(&word.trim_matches(|one: char| !one.is_alphanumeric())))
    };
    preset(&said).or_else(|| preset(WORKS.iter().find(has)?.preset))
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::plan::RequiredProperty;

    use super::{MUSTS, WORKS, preset_for};

    #[test]
    fn no_word_means_two_things_and_a_sentence_is_understood() {
        let mut words: Vec<&str> = WORKS.iter().flat_map(|work| work.words).copied().collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
        assert_eq!(preset_for("which filesystem for my Mail?").unwrap().name, "mail-spool");
        assert_eq!(preset_for("survives power cuts").unwrap().name, "power-cut");
        assert!(preset_for("nothing of the kind").is_none());
    }

    #[test]
    fn all_that_can_be_required_can_be_asked_for() {
        let asked: Vec<&str> = MUSTS.iter().map(|must| must.property.word()).collect();
        assert_eq!(asked, RequiredProperty::words());
        for must in MUSTS {
            assert_eq!(must.words[0], must.property.word());
            assert!(must.shown.starts_with(must.words[0]));
        }
    }
}
