//! Presets: plans in the binary. Each is a TOML file that serves as documentation and as a template for the user's own
//! plans.

use super::asked_by::{AskedBy, read_asked_by};

/// A plan that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    /// The plan itself, comments included.
    pub toml: &'static str,
}

macro_rules! presets {
    ($($name:literal,)*) => {
        &[$(Preset { name: $name, toml: include_str!(concat!("../../presets/", $name, ".toml")) },)*]
    };
}

/// In the order in which they are listed, those of one group together.
const PRESETS: &[Preset] = presets! {
    "quick",
    "demo",
    "photo-backup",
    "stick",
    "usb-backup",
    "pi-card",
    "games",
    "laptop-root",
    "fsync-tail",
    "postgres",
    "sqlite-app",
    "kv-store",
    "mail-spool",
    "nextcloud",
    "vm-image",
    "luks-nvme",
    "nas",
    "nas-mirrors",
    "send-receive",
    "dm-integrity",
    "snapshots",
    "near-full",
    "backup-server",
    "power-cut",
    "power-cut-database",
    "bit-rot",
    "failed-writes",
    "usb-unplug",
    "crash-sequences",
    "container-store",
    "ci-cache",
    "overlay",
    "git-monorepo",
    "aged",
    "build-farm",
    "magazine",
    "root-on-flash",
    "modern-fs",
    "modern-snapshots",
};

pub fn presets() -> &'static [Preset] {
    PRESETS
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The content of its `[ask]`; the default for a preset without one, which a test rules out.
    pub fn asked_by(&self) -> AskedBy {
        read_asked_by(self.name, self.toml).unwrap_or_default()
    }
}
