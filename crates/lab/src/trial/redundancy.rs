//! How a candidate survives the loss of a device: an array among its layers, or copies that its filesystem keeps
//! itself.

use fsverdict_judgement::plan::{Candidate, ProtectionFeature, split_layer};

use super::arrangement::{Arrangement, Below};
use fsverdict_stack::filesystem::{PoolPrograms, Profiles, find_filesystem};

/// The part of a candidate that keeps its data more than once, or with parity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redundancy {
    /// The array at the site of this number, and its last member.
    Array { site: usize, member: Below },
    /// The filesystem itself, with these profiles.
    Own(Profiles),
    /// The pool that the filesystem lies in.
    Pool(&'static PoolPrograms),
}

impl Redundancy {
    /// None where the data are there once.
    pub(super) fn of_candidate(candidate: &Candidate, arrangement: &Arrangement) -> Option<Self> {
        let layers: Vec<&str> = candidate.layers.names().collect();
        let array = arrangement.sites.iter().enumerate().find_map(|(number, site)| {
            let layer = layers.get(site.layer)?;
            let (_, options) = split_layer(layer);
            let redundant = fsverdict_stack::layer::find_layer(layer)
                .and_then(|layer| (layer.protection)(options))
                == Some(ProtectionFeature::Redundant);
            Some(Redundancy::Array { site: number, member: *site.below.last()? }).filter(|_| redundant)
        });
        array.or_else(|| {
            let filesystem = find_filesystem(&candidate.filesystem)?;
            let several = filesystem.takes_several && arrangement.filesystem_devices().count() > 1;
            if let Some(pool) = &filesystem.pool {
                return (several && pool.is_redundant(&candidate.mkfs)).then_some(Redundancy::Pool(pool));
            }
            // Where options name devices, their numbers are not those of the plan.
            let named = filesystem.joins_devices && arrangement.tops.iter().any(|top| top.apart);
            let copies = filesystem.copies.filter(|_| several && !named)?;
            copies.profiles(&candidate.mkfs).map(Redundancy::Own)
        })
    }

    /// Whether the filesystem itself has to be mounted without the device that is missing.
    pub(super) const fn is_of_filesystem(&self) -> bool {
        matches!(self, Redundancy::Own(_) | Redundancy::Pool(_))
    }
}

/// Whether this candidate survives the loss of one of this number of devices.
pub fn outlives_a_device(candidate: &Candidate, devices: usize) -> bool {
    Redundancy::of_candidate(candidate, &Arrangement::for_candidate(candidate, devices)).is_some()
}

/// Whether all copies of this candidate can be read and compared while it is used.
pub fn can_be_scrubbed(candidate: &Candidate, devices: usize) -> bool {
    match Redundancy::of_candidate(candidate, &Arrangement::for_candidate(candidate, devices)) {
        Some(Redundancy::Own(_)) => find_filesystem(&candidate.filesystem)
            .and_then(|filesystem| filesystem.copies)
            .is_some_and(|copies| copies.scrub.is_some()),
        Some(Redundancy::Array { .. } | Redundancy::Pool(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrangement::{Arrangement, Below};
    use super::{Profiles, Redundancy, can_be_scrubbed};
    use fsverdict_judgement::plan::{Candidate, Layers};

    fn of(filesystem: &str, layers: &[&str], mkfs: &[&str], devices: usize) -> Option<Redundancy> {
        let candidate = Candidate {
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect(),
            ..Candidate::with_defaults(filesystem)
        };
        Redundancy::of_candidate(&candidate, &Arrangement::for_candidate(&candidate, devices))
    }

    #[test]
    fn arrays_and_filesystems_that_keep_copies_are_known() {
        let array = |site, member| Some(Redundancy::Array { site, member });
        assert_eq!(of("ext4", &["md:raid1"], &[], 2), array(0, Below::Device(2)));
        assert_eq!(of("ext4", &["luks2", "md:raid5"], &[], 3), array(3, Below::Site(2)));
        let own = |data: &str, metadata: &str| {
            Some(Redundancy::Own(Profiles { data: data.to_owned(), metadata: metadata.to_owned() }))
        };
        assert_eq!(of("btrfs", &["luks2"], &["-d", "raid1"], 2), own("raid1", "raid1"));
        assert_eq!(of("btrfs", &[], &["-draid10", "--metadata=raid1c3"], 4), own("raid10", "raid1c3"));
        assert_eq!(of("bcachefs", &[], &["--replicas=2"], 2), own("2", "2"));
        assert_eq!(of("bcachefs", &[], &["--data_replicas=2", "--metadata_replicas=3"], 3), own("2", "3"));
        assert!(matches!(of("zfs", &["luks2"], &["mirror"], 2), Some(Redundancy::Pool(_))));
        assert!(matches!(of("zfs", &[], &["-O", "sync=disabled", "raidz1"], 3), Some(Redundancy::Pool(_))));
        for (filesystem, layers, mkfs, devices) in [
            ("zfs", &[][..], &[][..], 2),
            ("zfs", &[], &["mirror"], 1),
            ("ext4", &[][..], &[][..], 2),
            ("ext4", &["md:raid0"], &[], 2),
            ("btrfs", &[], &["-d", "raid1"], 1),
            ("btrfs", &[], &["-m", "raid1"], 2),
            ("bcachefs", &[], &[], 2),
            ("bcachefs", &[], &["--data_replicas=2"], 2),
            ("bcachefs", &[], &["--replicas=2"], 1),
            ("btrfs", &[], &["-d", "raid0"], 2),
            ("btrfs", &[], &["-d", "raid1", "-m", "single"], 2),
            ("btrfs", &["md:raid0"], &["-d", "raid1"], 2),
        ] {
            assert_eq!(of(filesystem, layers, mkfs, devices), None, "{filesystem} {layers:?} {mkfs:?}");
        }
    }

    #[test]
    fn what_keeps_copies_can_be_scrubbed_where_its_kernel_can() {
        for (filesystem, mkfs, can) in [
            ("btrfs", "-draid1", true),
            ("zfs", "mirror", true),
            ("bcachefs", "--replicas=2", false),
            ("ext4", "", false),
        ] {
            let words = mkfs.split_whitespace().map(str::to_owned).collect();
            let candidate = Candidate { mkfs: words, ..Candidate::with_defaults(filesystem) };
            assert_eq!(can_be_scrubbed(&candidate, 2), can, "{filesystem}");
        }
    }
}
