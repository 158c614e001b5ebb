//! How a candidate survives the loss of a device: an array among its layers, or copies that its filesystem keeps
//! itself.

use fsverdict_judgement::plan::{Candidate, split_layer};

use super::arrangement::{Arrangement, Below};
use fsverdict_stack::filesystem::{PoolPrograms, find_filesystem};

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

/// The profiles of a filesystem of several devices, in the words of its mkfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Profiles {
    pub(super) data: String,
    pub(super) metadata: String,
}

impl Redundancy {
    /// None where the data are there once.
    pub(super) fn of_candidate(candidate: &Candidate, arrangement: &Arrangement) -> Option<Self> {
        let layers: Vec<&str> = candidate.layers.names().collect();
        let array = arrangement.sites.iter().enumerate().find_map(|(number, site)| {
            let layer = layers.get(site.layer)?;
            let (_, options) = split_layer(layer);
            let redundant =
                fsverdict_stack::layer::find_layer(layer).is_some_and(|layer| (layer.redundant)(options));
            Some(Redundancy::Array { site: number, member: *site.below.last()? }).filter(|_| redundant)
        });
        array.or_else(|| {
            let filesystem = find_filesystem(&candidate.filesystem)?;
            let several = filesystem.takes_several && arrangement.filesystem_devices().count() > 1;
            if let Some(pool) = &filesystem.pool {
                return (several && pool.is_redundant(&candidate.mkfs)).then_some(Redundancy::Pool(pool));
            }
            let data = value_of(&candidate.mkfs, ["-d", "--data"]).filter(|data| data.starts_with("raid"))?;
            // mkfs.btrfs(8): on several devices, metadata are raid1 by default.
            let metadata = value_of(&candidate.mkfs, ["-m", "--metadata"]).unwrap_or("raid1");
            let kept = |profile: &str| profile != "raid0" && profile.starts_with("raid");
            let profiles = Profiles { data: data.to_owned(), metadata: metadata.to_owned() };
            (several && kept(data) && kept(metadata)).then_some(Redundancy::Own(profiles))
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

/// The value of an option, which follows its short or its long name, or is joined with it.
fn value_of<'a>(words: &'a [String], [short, long]: [&str; 2]) -> Option<&'a str> {
    let at = |(index, word): (usize, &'a String)| {
        if word == short || word == long {
            return words.get(index + 1).map(String::as_str);
        }
        word.strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='))
            .or_else(|| word.strip_prefix(short).filter(|_| !word.starts_with("--")))
    };
    words.iter().enumerate().filter_map(at).next_back()
}

#[cfg(test)]
mod tests {
    use super::super::arrangement::{Arrangement, Below};
    use super::{Profiles, Redundancy};
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
        assert!(matches!(of("zfs", &["luks2"], &["mirror"], 2), Some(Redundancy::Pool(_))));
        assert!(matches!(of("zfs", &[], &["-O", "sync=disabled", "raidz1"], 3), Some(Redundancy::Pool(_))));
        for (filesystem, layers, mkfs, devices) in [
            ("zfs", &[][..], &[][..], 2),
            ("zfs", &[], &["mirror"], 1),
            ("ext4", &[][..], &[][..], 2),
            ("ext4", &["md:raid0"], &[], 2),
            ("btrfs", &[], &["-d", "raid1"], 1),
            ("btrfs", &[], &["-m", "raid1"], 2),
            ("btrfs", &[], &["-d", "raid0"], 2),
            ("btrfs", &[], &["-d", "raid1", "-m", "single"], 2),
            ("btrfs", &["md:raid0"], &["-d", "raid1"], 2),
        ] {
            assert_eq!(of(filesystem, layers, mkfs, devices), None, "{filesystem} {layers:?} {mkfs:?}");
        }
    }
}
