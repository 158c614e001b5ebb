//! What a candidate has and lacks besides its speed: by its filesystem, its options and the layers it lies on.

use fsverdict_judgement::plan::{Candidate, ProtectionFeature, RequiredProperty, split_layer};

use super::{find_layer, layers_of, protection_of};
use crate::filesystem::{Properties, Property, find_filesystem};

/// The properties of a candidate; `None` for a folder of the user's, of which nothing is known.
pub fn properties_of(candidate: &Candidate) -> Option<Properties> {
    let mut properties =
        find_filesystem(&candidate.filesystem)?.properties(&candidate.mkfs, &candidate.mount);
    if candidate.layers.names().any(has_room_for_snapshots) {
        properties.add(Property::Snapshots);
    }
    let protection = protection_of(candidate);
    if protection.has(ProtectionFeature::CheckedSectors) || protection.has(ProtectionFeature::SealedData) {
        properties.add(Property::DataChecksums);
    }
    // Other systems cannot read a layer below the filesystem (LUKS, md, LVM), even if they can read the filesystem
    // itself.
    if layers_of(candidate).any(|layer| !layer.kind.is_above()) {
        properties.read_by = &[];
    }
    Some(properties)
}

/// Whether a layer, named with its options, takes snapshots and has room for one.
pub fn has_room_for_snapshots(name: &str) -> bool {
    let snapshots = find_layer(name).and_then(|layer| layer.snapshots);
    snapshots.is_some_and(|snapshots| (snapshots.has_room)(split_layer(name).1))
}

/// Whether a candidate has what a plan may require. Nothing is known of a folder of the user's.
pub fn has_property(candidate: &Candidate, property: RequiredProperty) -> bool {
    let Some(properties) = properties_of(candidate) else { return false };
    let protection = protection_of(candidate);
    match property {
        RequiredProperty::Encryption => protection.has(ProtectionFeature::Encrypted),
        RequiredProperty::DataChecksums => properties.has(Property::DataChecksums),
        RequiredProperty::CrashSafe => {
            use ProtectionFeature::{IgnoredSync, NoFlushes, NotCrashSafe};
            ![NotCrashSafe, NoFlushes, IgnoredSync].into_iter().any(|feature| protection.has(feature))
        }
        RequiredProperty::Permissions => properties.has(Property::Permissions),
        RequiredProperty::Snapshots => properties.has(Property::Snapshots),
        RequiredProperty::Clones => properties.has(Property::Clones),
        RequiredProperty::Windows => properties.read_by.contains(&"Windows"),
        RequiredProperty::Macos => properties.read_by.contains(&"macOS"),
    }
}

#[cfg(test)]
mod tests {
    use super::{has_property, properties_of};
    use crate::filesystem::registry;
    use fsverdict_judgement::plan::{Candidate, DIRECTORY, Layers, RequiredProperty};

    fn candidate(filesystem: &str, layers: &[&str], mkfs: &str, mount: &str) -> Candidate {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Candidate {
            mkfs: words(mkfs),
            mount: words(mount),
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            ..Candidate::with_defaults(filesystem)
        }
    }

    /// Snapshots of a thin volume were taken in a trial whose report said "no snapshots".
    #[test]
    fn layers_add_what_the_filesystem_lacks() {
        use RequiredProperty::{CrashSafe, DataChecksums, Encryption, Macos, Snapshots, Windows};
        for (filesystem, layers, mkfs, mount, property, wanted) in [
            ("xfs", &["lvm:thin"][..], "", "", Snapshots, true),
            ("xfs", &["md:raid10", "lvm:thin"], "", "", Snapshots, true),
            ("xfs", &["lvm:linear"], "", "", Snapshots, false),
            ("xfs", &[], "", "", Snapshots, false),
            ("btrfs", &["luks2"], "", "", Snapshots, true),
            ("ext4", &["integrity"], "", "", DataChecksums, true),
            ("ext4", &[], "", "", DataChecksums, false),
            ("btrfs", &[], "", "nodatasum", DataChecksums, false),
            ("ext4", &["luks2"], "", "", Encryption, true),
            ("zfs", &[], "-O encryption=on", "", Encryption, true),
            ("bcachefs", &[], "--encrypted", "", Encryption, true),
            ("zfs", &[], "", "", Encryption, false),
            ("ext4", &[], "", "", CrashSafe, true),
            ("ext4", &[], "-O ^has_journal", "", CrashSafe, false),
            ("ext4", &[], "", "nobarrier", CrashSafe, false),
            ("ext4", &["integrity:none"], "", "", CrashSafe, false),
            ("ext4", &[], "", "barrier=0,barrier=1", CrashSafe, true),
            ("zfs", &[], "-O sync=disabled", "", CrashSafe, false),
            ("btrfs", &[], "", "", CrashSafe, true),
            ("exfat", &[], "", "", Windows, true),
            ("exfat", &["luks2"], "", "", Windows, false),
            ("exfat", &["fuse"], "", "", Macos, true),
        ] {
            let one = candidate(filesystem, layers, mkfs, mount);
            assert_eq!(
                has_property(&one, property),
                wanted,
                "{filesystem} {layers:?} {mkfs} {mount} {property:?}"
            );
        }
    }

    #[test]
    fn nothing_is_both_there_and_lacking() {
        for filesystem in registry() {
            for layer in [
                "luks2",
                "luks1",
                "integrity",
                "lvm:thin",
                "lvm:linear",
                "md:raid1",
                "verity",
                "fuse",
                "overlay",
            ] {
                let found = properties_of(&candidate(filesystem.name, &[layer], "", "")).unwrap();
                let twice: Vec<_> = found.has.iter().filter(|words| found.lacks.contains(words)).collect();
                assert!(twice.is_empty(), "{} on {layer}: {twice:?}", filesystem.name);
            }
        }
        assert!(properties_of(&candidate(DIRECTORY, &[], "", "")).is_none());
    }
}
