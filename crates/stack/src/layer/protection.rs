//! The protection level of a candidate, by its filesystem, its layers and its options, each of which is described in its
//! own file.

use std::collections::BTreeSet;

use fsverdict_judgement::plan::{
    Candidate, Protection, ProtectionFeature, RequiredProperty, Safeguards, split_layer,
};

use super::{find_layer, has_property, properties_of};
use crate::filesystem::{Filesystem, Property, SafetyEffect, documented_losses, find_filesystem};

/// The protection that its layers and options add to, and take from, that of the filesystem on a bare device. Nothing
/// is known of a folder of the user's.
pub fn protection_of(candidate: &Candidate) -> Protection {
    let mut features: BTreeSet<ProtectionFeature> = candidate.layers.names().filter_map(of_layer).collect();
    let Some(filesystem) = find_filesystem(&candidate.filesystem) else {
        return features.into_iter().collect();
    };
    let effects = filesystem.effects(&candidate.mkfs, &candidate.mount);
    features.extend(effects.iter().filter_map(|effect| match effect.effect {
        SafetyEffect::Protection(feature) => Some(feature),
        _ => None,
    }));
    features.extend(of_copies(filesystem, &candidate.mkfs));
    let crash_safe = filesystem.properties(&candidate.mkfs, &candidate.mount).is_crash_safe();
    features.extend((!crash_safe).then_some(ProtectionFeature::NotCrashSafe));
    features.extend((!filesystem.facts.fsync_flushes).then_some(ProtectionFeature::NoFlushes));
    features.into_iter().collect()
}

/// The protection of a candidate's data, in detail, and the part of it that its options and layers change. Nothing is known of
/// a folder of the user's.
pub fn safeguards_of(candidate: &Candidate) -> Safeguards {
    let plain = list_safeguards(&Candidate::with_defaults(&candidate.filesystem));
    let has = list_safeguards(candidate);
    let changed = has.symmetric_difference(&plain).copied().filter(|feature| !feature.is_of_level());
    Safeguards { changed: changed.collect(), has: has.into_iter().collect() }
}

fn list_safeguards(candidate: &Candidate) -> BTreeSet<ProtectionFeature> {
    let mut features: BTreeSet<ProtectionFeature> = protection_of(candidate).features().collect();
    let (Some(filesystem), Some(properties)) =
        (find_filesystem(&candidate.filesystem), properties_of(candidate))
    else {
        return features;
    };
    let promises = |promise| filesystem.promises(promise, &candidate.mkfs, &candidate.mount);
    let has_copies = filesystem.copies.is_some_and(|copies| copies.duplicates_metadata(&candidate.mkfs));
    let details = [
        (properties.has(Property::DataChecksums), ProtectionFeature::DataChecksums),
        (properties.has(Property::MetadataChecksums), ProtectionFeature::MetadataChecksums),
        (has_copies, ProtectionFeature::MetadataCopies),
        (promises("whole"), ProtectionFeature::RenamedContent),
        (promises("entry"), ProtectionFeature::SyncedNames),
    ];
    features.extend(details.into_iter().filter_map(|(given, feature)| given.then_some(feature)));
    features
}

/// Whether a candidate is whole after a power cut, with all that was synced, and none of its options has a documented
/// loss.
pub fn keeps_default_safety(candidate: &Candidate) -> bool {
    has_property(candidate, RequiredProperty::CrashSafe) && documented_losses(candidate).is_empty()
}

fn of_layer(layer: &str) -> Option<ProtectionFeature> {
    find_layer(layer).and_then(|known| (known.protection)(split_layer(layer).1))
}

/// Whether the filesystem keeps its data more than once itself, on one device or several, with these words of mkfs.
pub fn keeps_copies(filesystem: &Filesystem, mkfs: &[String]) -> bool {
    use ProtectionFeature::{DuplicatedData, Redundant};
    of_copies(filesystem, mkfs).any(|feature| matches!(feature, DuplicatedData | Redundant))
}

/// The features that copies and encryption of a filesystem's own give.
fn of_copies(filesystem: &Filesystem, mkfs: &[String]) -> impl Iterator<Item = ProtectionFeature> {
    let (pool, copies) = (filesystem.pool, filesystem.copies);
    let is_redundant = pool.is_some_and(|pool| pool.is_redundant(mkfs))
        || copies.is_some_and(|copies| copies.profiles(mkfs).is_some());
    let features = [
        (is_redundant, ProtectionFeature::Redundant),
        (pool.is_some_and(|pool| pool.is_encrypted(mkfs)), ProtectionFeature::Encrypted),
        (copies.is_some_and(|copies| copies.duplicates_data(mkfs)), ProtectionFeature::DuplicatedData),
    ];
    features.into_iter().filter_map(|(given, feature)| given.then_some(feature))
}

#[cfg(test)]
mod tests {
    use super::{protection_of, safeguards_of};
    use fsverdict_judgement::plan::ProtectionFeature::{
        CheckedSectors, DuplicatedData, Encrypted, IgnoredSync, JournalledData, NoFlushes, NotCrashSafe,
        Redundant, SealedData, SynchronousWrites, UnorderedWrites,
    };
    use fsverdict_judgement::plan::{Candidate, DIRECTORY, Layers, Protection, ProtectionFeature};

    #[test]
    fn layers_and_options_add_and_take_away() {
        let of = |filesystem: &str, layers: &[&str], mkfs: &str, mount: &str| {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            protection_of(&Candidate {
                mkfs: words(mkfs),
                mount: words(mount),
                layers: Layers::from_names(layers.iter().copied()).unwrap(),
                ..Candidate::with_defaults(filesystem)
            })
        };
        let level = |features: &[ProtectionFeature]| features.iter().copied().collect::<Protection>();
        for usual in ["ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "reiserfs"] {
            assert_eq!(of(usual, &[], "", ""), level(&[]), "{usual}");
        }
        for bare in ["ext2", "vfat", "exfat"] {
            assert_eq!(of(bare, &[], "", ""), level(&[NotCrashSafe]), "{bare}");
        }
        assert_eq!(of("ext4", &["luks2:sector=4096"], "", ""), level(&[Encrypted]));
        assert_eq!(of("ext4", &["luks2", "md:raid1"], "", ""), level(&[Encrypted, Redundant]));
        assert_eq!(of("ext4", &["md:raid0"], "", ""), level(&[]));
        assert_eq!(of("btrfs", &[], "-d raid1 -m raid1", ""), level(&[Redundant]));
        assert_eq!(of("btrfs", &[], "-draid1", ""), level(&[Redundant]));
        assert_eq!(of("btrfs", &[], "-d raid0 -m raid1", ""), level(&[]));
        // A device that holds the only copy of the metadata cannot be lost.
        assert_eq!(of("btrfs", &[], "-d raid1 -m single", ""), level(&[]));
        assert_eq!(of("btrfs", &[], "-m dup --data=dup", ""), level(&[DuplicatedData]));
        assert_eq!(of("bcachefs", &[], "--replicas=2", ""), level(&[Redundant]));
        assert_eq!(of("bcachefs", &[], "--replicas=2 --metadata_replicas=1", ""), level(&[]));
        assert_eq!(of("bcachefs", &[], "--encrypted --replicas=2", ""), level(&[Encrypted, Redundant]));
        // Metadata once is what the others have, too; so is data without checksums.
        assert_eq!(of("btrfs", &[], "-m single", "nodatacow"), level(&[]));
        assert_eq!(of("ext4", &[], "-O ^has_journal", ""), level(&[NotCrashSafe]));
        assert_eq!(of("jfs", &[], "", ""), level(&[NoFlushes]));
        assert_eq!(of("jfs", &[], "", "noatime,nointegrity"), level(&[NoFlushes, NotCrashSafe]));
        assert_eq!(of("ext4", &["integrity:bitmap"], "", ""), level(&[CheckedSectors]));
        assert_eq!(of("ext4", &["integrity:none,sector=4096"], "", ""), level(&[NotCrashSafe]));
        assert_eq!(of("ext4", &["verity"], "", ""), level(&[SealedData]));
        assert_eq!(of("ext4", &[], "", "noatime,nobarrier"), level(&[NoFlushes]));
        assert_eq!(of("ext4", &[], "", "barrier=0,barrier=1"), level(&[]));
        assert_eq!(of("ext4", &[], "", "data=journal,data=writeback"), level(&[UnorderedWrites]));
        assert_eq!(of("ext4", &[], "", "data=journal,sync"), level(&[JournalledData, SynchronousWrites]));
        assert_eq!(of("zfs", &[], "-o ashift=12 -O recordsize=16K -O sync=standard", ""), level(&[]));
        assert_eq!(of("zfs", &[], "-O sync=disabled raidz1", ""), level(&[IgnoredSync, Redundant]));
        assert_eq!(of("zfs", &[], "-O encryption=on -O copies=2", ""), level(&[DuplicatedData, Encrypted]));
        assert_eq!(of(DIRECTORY, &[], "", ""), level(&[]));
    }

    #[test]
    fn options_that_give_up_a_safeguard_are_known() {
        use ProtectionFeature::{
            DataChecksums, MetadataChecksums, MetadataCopies, RenamedContent, SyncedNames,
        };
        let lost = |filesystem: &str, mkfs: &str, mount: &str| {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let plain = Candidate::with_defaults(filesystem);
            let changed = Candidate { mkfs: words(mkfs), mount: words(mount), ..plain.clone() };
            safeguards_of(&plain).advantages_over(&safeguards_of(&changed))
        };
        assert_eq!(lost("xfs", "-m crc=0", ""), [MetadataChecksums]);
        assert_eq!(lost("ext4", "-O ^metadata_csum", "noauto_da_alloc"), [MetadataChecksums, RenamedContent]);
        assert_eq!(lost("btrfs", "", "nodatasum"), [DataChecksums]);
        assert_eq!(lost("btrfs", "-m single", "nodatacow"), [DataChecksums, MetadataCopies]);
        assert_eq!(lost("zfs", "-O checksum=off", ""), [DataChecksums]);
        assert_eq!(lost("ext4", "-O fast_commit", "noatime"), [] as [ProtectionFeature; 0]);
        // What an option adds is not given up by leaving it out.
        let strict =
            Candidate { mount: vec!["fsync_mode=strict".to_owned()], ..Candidate::with_defaults("f2fs") };
        let plain = safeguards_of(&Candidate::with_defaults("f2fs"));
        assert_eq!(safeguards_of(&strict).advantages_over(&plain), [SyncedNames]);
        assert_eq!(safeguards_of(&Candidate::with_defaults(DIRECTORY)), super::Safeguards::default());
    }
}
