//! Plans that ship inside the binary: each is a TOML file to be read as documentation, and a start for one's own.

/// A plan that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    /// Who asks what it answers: presets of the same are listed together.
    pub asker: &'static str,
    /// What it finds out, in a line.
    pub summary: &'static str,
    /// The plan itself, comments included.
    pub toml: &'static str,
}

/// Who asks, and rows: the name, and the summary.
macro_rules! presets {
    ($($asker:literal: { $($name:literal $summary:literal;)* })*) => {
        &[$($(Preset {
            name: $name,
            asker: $asker,
            summary: $summary,
            toml: include_str!(concat!("../../../../presets/", $name, ".toml")),
        },)*)*]
    };
}

const PRESETS: &[Preset] = presets! {
    "first steps": {
        "quick" "the built-in operations on ext4, xfs and btrfs, in two minutes: does it work here?";
        "demo"
            "usb-backup with 40 MB, in 3 to 10 blocks: every filesystem once, plain and on LUKS, without root, in minutes";
    }
    "at home": {
        "photo-backup" "pictures on a portable disk: copied, read back, removed, one of five on LUKS: a modelled disk";
        "stick"
            "photos and documents on a modelled USB stick, as sold (FAT, exFAT, NTFS) or made for Linux: no stick and no root needed";
        "usb-backup"
            "1.5 GB of /usr written by rsync, read by sha1sum, removed and checked: eight filesystems, plain and on LUKS";
        "pi-card"
            "an upgrade and a small database on a modelled card of class A1, with what its flash writes for them: ext4, f2fs, btrfs, nilfs2";
    }
    "with a database": {
        "fsync-tail" "is an fdatasync of 2300 bytes below 10 ms at the 99th percentile? A candidate that misses it is ruled out";
        "postgres" "pgbench's transactions, then look-ups and a scan from the disk: btrfs with and without copies on write, a modelled SSD";
        "sqlite-app" "transactions a second of SQLite, with a rollback journal and a log ahead: a modelled SSD";
        "kv-store" "RocksDB's db_bench: synced writes, a fill, overwriting, look-ups from the disk: a modelled SSD";
    }
    "with servers": {
        "mail-spool" "mails delivered, marked, listed and expunged, each in a file of its own: a modelled disk";
        "vm-image" "a virtual machine's disk written here and there, then read from end to end: btrfs with and without copies on write";
        "luks-nvme" "ext4 and xfs plain, on LUKS, and on LUKS with its options for fast devices: a modelled SSD at NVMe";
        "nas"
            "two disks with the same on both: btrfs' own copies against md under three filesystems, plain and on LUKS, a disk lost and rebuilt";
        "dm-integrity"
            "ext4 and xfs on checksums of every sector, kept by a journal, a bitmap or nothing: what each costs on a modelled disk";
        "snapshots"
            "a state of the filesystem kept, written on over, four kept, given up: btrfs, nilfs2, and LVM's old and thin ones below ext4 and xfs";
        "near-full"
            "six filesystems at 50, 80 and 95 % full, until they take no more, and with room made again: a modelled disk";
        "backup-server"
            "500 000 files in one directory, hard-linked generations by rsync: nine candidates, with and without directory indexes";
    }
    "data safety": {
        "power-cut"
            "200 small files saved with fsync and rename, and 500 computed power cuts: what is lost, and what safety costs";
        "power-cut-database"
            "SQLite's transactions and 300 computed power cuts: is every transaction there that was reported as committed?";
        "bit-rot"
            "the files of `power-cut`, and single rotten blocks: which filesystem detects them, repairs them, or returns wrong content";
        "failed-writes"
            "a disk that refuses writes: what fsync says the first and the second time, and what is there after the next mount";
        "usb-unplug"
            "a stick pulled out in the middle of a backup: can it be mounted and written again, and is there what was saved before?";
        "crash-sequences"
            "every sequence of two calls out of sixty (link, rename, fallocate, fsync …), the power cut behind each: bugs in what filesystems promise";
    }
    "software builds": {
        "container-store" "image layers unpacked, updated, started and pruned: a modelled SSD";
        "ci-cache" "a cache of dependencies unpacked, read, packed and thrown away, also without a journal: a modelled SSD";
        "overlay"
            "an overlay above four filesystems, as containers have it: reading through it, copying up, removing";
        "git-monorepo" "git: a commit, the status from the disk, a switch of branches, a repack: a modelled SSD";
        "aged"
            "a year of pulls of a source tree on six filesystems, read from the disk against a fresh copy: a modelled disk";
        "build-farm" "350 000 files, 55 GB: written, checked, removed on seven candidates";
    }
    "published studies": {
        "magazine"
            "bonnie++, a kernel tree and a 2 GB ISO copied to and fro, raw device rates: a magazine's test of 2009";
        "root-on-flash"
            "a 4 GB file and 4499 tiny ones on a USB stick: ten candidates, nilfs2 and discard among them";
    }
};

pub fn presets() -> &'static [Preset] {
    PRESETS
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
