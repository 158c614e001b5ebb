//! The protection level of a candidate, by its filesystem, its layers and its options.
//!
//! Sources of the effects of options: mount(8) (`sync`), ext4(5) (`barrier`, `data`), btrfs(5) (`nobarrier`), the
//! kernel's Documentation/filesystems/f2fs.rst (`fsync_mode`) and jfs.rst (`nointegrity`), fs/reiserfs/super.c
//! (`nolog`, `barrier`), fs/jfs (no flush), mkfs.btrfs(8) (profiles), bcachefs(8) (`--encrypted`, `--replicas`), zfsprops(7) (`sync`,
//! `encryption`, `copies`).

use std::collections::BTreeSet;

use fsverdict_judgement::plan::{Candidate, Protection, ProtectionFeature, split_layer};

use super::find_layer;
use crate::filesystem::{Filesystem, PoolPrograms, find_filesystem};

/// The protection that its layers and options add to, and take from, that of the filesystem on a bare device. Nothing
/// is known of a folder of the user's.
pub fn protection_of(candidate: &Candidate) -> Protection {
    let mut features: BTreeSet<ProtectionFeature> = candidate.layers.names().filter_map(of_layer).collect();
    let Some(filesystem) = find_filesystem(&candidate.filesystem) else {
        return features.into_iter().collect();
    };
    if !filesystem.properties(&candidate.mkfs, &candidate.mount).is_crash_safe() {
        features.insert(ProtectionFeature::NotCrashSafe);
    }
    features.extend(match &filesystem.pool {
        Some(pool) => of_pool(pool, &candidate.mkfs),
        None => features_of_mkfs(filesystem, &candidate.mkfs),
    });
    for option in candidate.mount.iter().flat_map(|word| word.split(',')) {
        of_mount_option(option, &mut features);
    }
    if !filesystem.facts.fsync_flushes {
        features.insert(ProtectionFeature::NoFlushes);
    }
    features.into_iter().collect()
}

fn of_layer(layer: &str) -> Option<ProtectionFeature> {
    let (name, options) = split_layer(layer);
    match name {
        "luks1" | "luks2" => Some(ProtectionFeature::Encrypted),
        // A crash may leave data and checksums at odds (integritysetup(8), --integrity-no-journal).
        "integrity" if options.split(',').any(|mode| mode == "none") => Some(ProtectionFeature::NotCrashSafe),
        "integrity" => Some(ProtectionFeature::CheckedSectors),
        "verity" => Some(ProtectionFeature::SealedData),
        _ => {
            find_layer(layer).filter(|layer| (layer.redundant)(options)).map(|_| ProtectionFeature::Redundant)
        }
    }
}

/// The features that the options of mkfs give a filesystem without pools.
fn features_of_mkfs(filesystem: &Filesystem, words: &[String]) -> BTreeSet<ProtectionFeature> {
    let copies = filesystem.copies;
    let features = [
        (words.iter().any(|word| word == "--encrypted"), ProtectionFeature::Encrypted),
        (copies.is_some_and(|copies| copies.duplicates_data(words)), ProtectionFeature::DuplicatedData),
        (copies.is_some_and(|copies| copies.profiles(words).is_some()), ProtectionFeature::Redundant),
    ];
    features.into_iter().filter_map(|(given, feature)| given.then_some(feature)).collect()
}

/// The features that the words for the maker of a pool give (zfsprops(7), zpoolconcepts(7)).
fn of_pool(pool: &PoolPrograms, words: &[String]) -> BTreeSet<ProtectionFeature> {
    let mut features = BTreeSet::new();
    if pool.is_redundant(words) {
        features.insert(ProtectionFeature::Redundant);
    }
    if pool.is_encrypted(words) {
        features.insert(ProtectionFeature::Encrypted);
    }
    for (property, value) in words.iter().filter_map(|word| word.split_once('=')) {
        let (feature, given) = match property {
            "copies" => (ProtectionFeature::DuplicatedData, value != "1"),
            "sync" if value == "always" => (ProtectionFeature::SynchronousWrites, true),
            "sync" => (ProtectionFeature::IgnoredSync, value == "disabled"),
            _ => continue,
        };
        if given {
            features.insert(feature);
        }
    }
    features
}

/// Of several options that contradict each other, the last one counts.
fn of_mount_option(option: &str, features: &mut BTreeSet<ProtectionFeature>) {
    match option {
        "nobarrier" | "barrier=0" | "barrier=none" | "fsync_mode=nobarrier" => {
            features.insert(ProtectionFeature::NoFlushes);
        }
        "barrier" | "barrier=1" | "barrier=flush" => {
            features.remove(&ProtectionFeature::NoFlushes);
        }
        "data=writeback" | "data=journal" | "data=ordered" => {
            features.remove(&ProtectionFeature::UnorderedWrites);
            features.remove(&ProtectionFeature::JournalledData);
            features.extend(match option {
                "data=writeback" => Some(ProtectionFeature::UnorderedWrites),
                "data=journal" => Some(ProtectionFeature::JournalledData),
                _ => None,
            });
        }
        "sync" => {
            features.insert(ProtectionFeature::SynchronousWrites);
        }
        "nointegrity" | "nolog" => {
            features.insert(ProtectionFeature::NotCrashSafe);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::protection_of;
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
}
