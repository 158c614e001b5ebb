//! Plans that ship inside the binary: each is a TOML file to be read as documentation, and a start for one's own.

/// A plan that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name it is run by.
    pub name: &'static str,
    /// What it finds out, in a line.
    pub summary: &'static str,
    /// The plan itself, comments included.
    pub toml: &'static str,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "demo",
        summary: "usb-backup with 60 MB and one block: every filesystem once, plain and on LUKS, without root, in minutes",
        toml: include_str!("../../presets/demo.toml"),
    },
    Preset {
        name: "quick",
        summary: "the built-in operations on ext4, xfs and btrfs, in two minutes: does it work here?",
        toml: include_str!("../../presets/quick.toml"),
    },
    Preset {
        name: "usb-backup",
        summary: "1.5 GB of /usr written by rsync, read by sha1sum, removed and checked: eight filesystems, plain and on LUKS",
        toml: include_str!("../../presets/usb-backup.toml"),
    },
];

/// Every preset, by name.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
