//! Properties of a filesystem besides its speed, in few words, as made and mounted.

use fsverdict_judgement::plan::FilesystemAbility;

use super::facts::Property;
use super::model::Filesystem;

impl Property {
    const ALL: [Property; 7] = [
        Self::Journal,
        Self::MetadataChecksums,
        Self::DataChecksums,
        Self::Permissions,
        Self::Snapshots,
        Self::Clones,
        Self::Checker,
    ];

    /// The words of reports for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Journal => "a journal",
            Self::MetadataChecksums => "checksums of metadata",
            Self::DataChecksums => "checksums of data",
            Self::Permissions => "owners and permissions",
            Self::Snapshots => "snapshots",
            Self::Clones => "clones of files",
            Self::Checker => "a checker",
        }
    }
}

const COPY_ON_WRITE: &str = "copy-on-write";

/// The features that a filesystem, or one on layers, has and lacks, and the other systems that read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    pub has: Vec<&'static str>,
    pub lacks: Vec<&'static str>,
    pub read_by: &'static [&'static str],
}

impl Properties {
    /// Whether it is among those that are there.
    pub fn has(&self, property: Property) -> bool {
        self.has.contains(&property.words())
    }

    /// Whether it is consistent after a power cut, because it has a journal or writes nothing in place.
    pub fn is_crash_safe(&self) -> bool {
        self.has(Property::Journal) || self.has.contains(&COPY_ON_WRITE)
    }

    /// Moves a property that a layer adds to those that are there.
    pub fn add(&mut self, property: Property) {
        self.lacks.retain(|words| *words != property.words());
        if !self.has(property) {
            self.has.push(property.words());
        }
    }
}

impl Filesystem {
    /// As it is with these words of a plan.
    pub fn properties(&self, mkfs: &[String], mount: &[String]) -> Properties {
        let facts = &self.facts;
        let given =
            |word: &str| mkfs.iter().chain(mount).any(|option| option.split(',').any(|item| item == word));
        let has = |property: &Property| {
            let made = match property {
                Property::Journal => facts.journaled,
                Property::MetadataChecksums => facts.metadata_checksums,
                Property::DataChecksums => facts.data_checksums,
                Property::Permissions => facts.permissions,
                Property::Snapshots => self.has_ability(FilesystemAbility::Snapshots),
                Property::Clones => facts.clones,
                Property::Checker => self.fsck.is_some(),
            };
            let changes = facts.changed_by.iter().filter(|(_, changed, _)| changed == property);
            changes.rev().find(|(word, ..)| given(word)).map_or(made, |(.., given)| *given)
        };
        let (had, lacked): (Vec<Property>, Vec<Property>) = Property::ALL.into_iter().partition(has);
        let mut properties = Properties {
            has: had.into_iter().map(Property::words).collect(),
            lacks: lacked.into_iter().map(Property::words).collect(),
            read_by: facts.read_by,
        };
        if facts.copy_on_write {
            // A filesystem that never overwrites data in place needs no journal.
            properties.lacks.retain(|words| *words != Property::Journal.words());
            properties.has.insert(0, COPY_ON_WRITE);
        }
        properties
    }
}

#[cfg(test)]
mod tests {
    use crate::filesystem::find_filesystem;

    #[test]
    fn options_take_away_what_a_filesystem_has_otherwise() {
        for (name, mkfs, mount, has, lacks) in [
            (
                "ext4",
                "",
                "",
                "a journal, checksums of metadata, owners and permissions, a checker",
                "checksums of data, snapshots, clones of files",
            ),
            (
                "ext4",
                "-O ^has_journal,^metadata_csum",
                "",
                "owners and permissions, a checker",
                "a journal, checksums of metadata, checksums of data, snapshots, clones of files",
            ),
            (
                "xfs",
                "-m crc=0,finobt=0",
                "",
                "a journal, owners and permissions, a checker",
                "checksums of metadata, checksums of data, snapshots, clones of files",
            ),
            (
                "xfs",
                "-m reflink=0",
                "",
                "a journal, checksums of metadata, owners and permissions, a checker",
                "checksums of data, snapshots, clones of files",
            ),
            (
                "btrfs",
                "",
                "noatime,compress=zstd",
                "copy-on-write, checksums of metadata, checksums of data, owners and permissions, snapshots, clones of files, a checker",
                "",
            ),
            (
                "btrfs",
                "",
                "nodatasum",
                "copy-on-write, checksums of metadata, owners and permissions, snapshots, clones of files, a checker",
                "checksums of data",
            ),
            (
                "f2fs",
                "-O extra_attr,inode_checksum",
                "",
                "copy-on-write, checksums of metadata, owners and permissions, a checker",
                "checksums of data, snapshots, clones of files",
            ),
            (
                "vfat",
                "",
                "",
                "a checker",
                "a journal, checksums of metadata, checksums of data, owners and permissions, snapshots, clones of files",
            ),
        ] {
            let words = |text: &str| text.split([' ']).map(str::to_owned).collect::<Vec<_>>();
            let found = find_filesystem(name).unwrap().properties(&words(mkfs), &words(mount));
            assert_eq!(
                (found.has.join(", "), found.lacks.join(", ")),
                (has.to_owned(), lacks.to_owned()),
                "{name}"
            );
        }
        assert_eq!(find_filesystem("exfat").unwrap().properties(&[], &[]).read_by, ["Windows", "macOS"]);
    }
}
