//! The words that `fsverdict ask` understands: which preset asks about which work, and which model stands for which device.

use fsverdict_judgement::plan::{Preset, preset};

/// A kind of work, by the words people have for it.
pub(super) struct WorkKind {
    pub(super) preset: &'static str,
    /// For people.
    pub(super) shown: &'static str,
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

/// The preset that is called so, or of which one of its words is among what was said.
pub(super) fn preset_for(said: &str) -> Option<&'static Preset> {
    let said = said.to_lowercase();
    let has = |work: &&WorkKind| {
        said.split_whitespace()
            .any(|word| work.words.contains(&word.trim_matches(|one: char| !one.is_alphanumeric())))
    };
    preset(&said).or_else(|| preset(WORKS.iter().find(has)?.preset))
}

/// A plan of a folder of the user's: what is done with files everywhere. `path` is absolute.
pub(super) fn folder_plan(path: &str) -> String {
    let quoted = path.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped: String = quoted
        .chars()
        .map(|letter| match letter.is_control() {
            true => format!("\\U{:08X}", u32::from(letter)),
            false => letter.to_string(),
        })
        .collect();
    format!(
        r#"# Which filesystem for this folder of mine? Made by `fsverdict ask`; docs/plan-format.md says what may stand here.

title = "My own files: copied, read, searched, removed"
lab   = "auto"

[device]
model = "usb-disk-5400"
size  = "30GB"

[protocol]
blocks = {{ min = 3, max = 10 }}
seed   = 1

[goal]
metric  = "durable"
weights = {{ copy = 2, read = 2, search = 1, remove = 1 }}

# Whole folders of it, the same each time, up to about this much.
[dataset.files]
path = "{escaped}"
size = "200MB"

[matrix]
filesystem = ["ext4", "xfs", "btrfs", "f2fs"]

# cp without -a: not every filesystem keeps owners and permissions.
[[phase]]
name    = "copy"
command = 'cp -r "$FILES" "$MOUNT/files"'
dataset = "files"

[[phase]]
name    = "read"
command = 'find "$MOUNT/files" -type f -exec cat {{}} + > /dev/null'
dataset = "files"
cold    = true

[[phase]]
name    = "search"
command = 'find "$MOUNT/files" -newer / > "$SCRATCH/found"'
cold    = true

[[phase]]
name    = "remove"
command = 'rm -rf "$MOUNT/files"'
cold    = true
"#
    )
}

#[cfg(test)]
mod tests {
    use super::{WORKS, folder_plan, preset_for};

    #[test]
    fn no_word_means_two_things_and_a_sentence_is_understood() {
        let mut words: Vec<&str> = WORKS.iter().flat_map(|work| work.words).copied().collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
        assert_eq!(preset_for("which filesystem for my Mail?").unwrap().name, "mail-spool");
        assert!(preset_for("nothing of the kind").is_none());
    }

    #[test]
    fn a_folder_s_name_stays_within_its_string() {
        let text = folder_plan("/a\"b\\c\nd");
        assert!(text.contains("path = \"/a\\\"b\\\\c\\U0000000Ad\"\n"), "{text}");
    }
}
