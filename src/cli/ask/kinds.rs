//! The kinds of work and device that `fsverdict ask` knows, as presets and models say in their `[ask]`, and the
//! properties that may be required, with users' words for them.

use std::sync::LazyLock;

use fsverdict_disk::device::{DeviceWords, Model, built_in};
use fsverdict_judgement::plan::{AskedBy, Preset, RequiredProperty, presets};

/// A preset, and how it is asked for.
pub(super) struct WorkKind {
    pub(super) preset: &'static Preset,
    pub(super) asked_by: AskedBy,
}

/// A kind of device: a model, and users' words for it.
pub(super) struct DeviceKind {
    /// The model's name, with its state if the words mean another than the first.
    pub(super) model: String,
    pub(super) called: DeviceWords,
}

static WORKS: LazyLock<Vec<WorkKind>> = LazyLock::new(|| {
    presets().iter().map(|preset| WorkKind { preset, asked_by: preset.asked_by() }).collect()
});

static DEVICES: LazyLock<Vec<DeviceKind>> = LazyLock::new(|| {
    let kind = |name: &str| {
        let called = Model::named(name).ok()?.words?;
        let state = called.state.as_ref().map(|state| format!(":{state}")).unwrap_or_default();
        Some(DeviceKind { model: format!("{name}{state}"), called })
    };
    built_in().iter().filter_map(|model| kind(model.name)).collect()
});

/// Every preset, as it is listed.
pub(super) fn works() -> &'static [WorkKind] {
    &WORKS
}

/// Those that are offered where somebody has to choose.
pub(super) fn offered_works() -> Vec<&'static WorkKind> {
    works().iter().filter(|work| work.asked_by.shown.is_some()).collect()
}

/// Every model that people have words for.
pub(super) fn devices() -> &'static [DeviceKind] {
    &DEVICES
}

impl WorkKind {
    /// The name of the preset, and the other words for it; none for a preset that no question selects.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let name = (!self.asked_by.unasked).then_some(self.preset.name);
        name.into_iter().chain(self.asked_by.words.iter().map(String::as_str))
    }

    /// The word that stands for all of them: the first of the shown text.
    pub(super) fn first_word(&self) -> Option<&str> {
        self.asked_by.shown.as_ref()?.split([':', ',']).next()
    }
}

/// A property that may be required, with a description for the user.
pub(super) struct MustKind {
    pub(super) property: RequiredProperty,
    pub(super) shown: &'static str,
    /// The plan's own word first.
    pub(super) words: &'static [&'static str],
}

/// Devices without a model, and the nearest ones.
pub(super) const NO_MODEL: &[(&str, &str)] = &[
    ("flash", "is it a usb-stick, an sd-card, or an ssd?"),
    ("vps", "a virtual machine's disk is whatever its host has: name ssd or nvme, or yours by its path"),
    ("cloud", "a virtual machine's disk is whatever its host has: name ssd or nvme, or yours by its path"),
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
        words: &["encryption", "encrypted", "encrypt", "luks", "full-disk-encryption"],
    },
    MustKind {
        property: RequiredProperty::DataChecksums,
        shown: "data_checksums: damaged files are noticed when they are read",
        words: &[
            "data_checksums",
            "checksums",
            "detects-bit-rot",
            "notices-bit-rot",
            "against-bit-rot",
            "from-bit-rot",
            "bit-rot-protection",
            "protects-from-bit-rot",
            "protect-from-bit-rot",
            "protects-against-bit-rot",
            "protect-against-bit-rot",
            "protection-against-bit-rot",
            "detects-corruption",
            "notices-corruption",
            "detect-bit-rot",
        ],
    },
    MustKind {
        property: RequiredProperty::CrashSafe,
        shown: "crash_safe: whole again after a power cut, by a journal or copies on write",
        words: &[
            "crash_safe",
            "journal",
            "journaled",
            "survives-power-cuts",
            "survive-power-cuts",
            "survives-power-failure",
            "survives-power-loss",
            "survives-a-power-cut",
            "do-not-want-to-lose",
            "don't-want-to-lose",
            "dont-want-to-lose",
            "dont-want-lose",
            "must-not-lose",
            "cannot-lose",
            "can't-lose",
            "never-lose",
            "no-data-loss",
            "without-data-loss",
            "without-losing",
        ],
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
        words: &["windows", "win10", "win11", "shared-with-windows"],
    },
    MustKind {
        property: RequiredProperty::Macos,
        shown: "macos: a Mac reads and writes it",
        words: &["macos", "mac", "apple"],
    },
];
