//! Plans that ship inside the binary: each is a TOML file to be read as documentation, and a start for one's own.

/// A plan that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    /// What it finds out, in a line.
    pub summary: &'static str,
    /// The plan itself, comments included.
    pub toml: &'static str,
}

/// A row: the name, and the summary.
macro_rules! presets {
    ($($name:literal $summary:literal;)*) => {
        &[$(Preset {
            name: $name,
            summary: $summary,
            toml: include_str!(concat!("../../../../presets/", $name, ".toml")),
        },)*]
    };
}

const PRESETS: &[Preset] = presets! {
    "aged"
        "a year of pulls of a source tree on six filesystems, read from the disk against a fresh copy: a modelled disk";
    "backup-server"
        "500 000 files in one directory, hard-linked generations by rsync: nine candidates, with and without directory indexes";
    "build-farm" "350 000 files, 55 GB: written, checked, removed on seven candidates";
    "demo"
        "usb-backup with 40 MB, in 3 to 10 blocks: every filesystem once, plain and on LUKS, without root, in minutes";
    "dm-integrity"
        "ext4 and xfs on checksums of every sector, kept by a journal, a bitmap or nothing: what each costs on a modelled disk";
    "magazine"
        "bonnie++, a kernel tree and a 2 GB ISO copied to and fro, raw device rates: a magazine's test of 2009";
    "nas"
        "two disks with the same on both: btrfs' own copies against md under three filesystems, plain and on LUKS, a disk lost and rebuilt";
    "near-full"
        "six filesystems at 50, 80 and 95 % full, until they take no more, and with room made again: a modelled disk";
    "overlay"
        "an overlay above four filesystems, as containers have it: reading through it, copying up, removing";
    "quick" "the built-in operations on ext4, xfs and btrfs, in two minutes: does it work here?";
    "root-on-flash"
        "a 4 GB file and 4499 tiny ones on a USB stick: ten candidates, nilfs2 and discard among them";
    "stick"
        "photos and documents on a modelled USB stick, as sold (FAT, exFAT, NTFS) or made for Linux: no stick and no root needed";
    "usb-backup"
        "1.5 GB of /usr written by rsync, read by sha1sum, removed and checked: eight filesystems, plain and on LUKS";
};

pub fn presets() -> &'static [Preset] {
    PRESETS
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
