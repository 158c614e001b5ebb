//! Features that a candidate can have or lack, and how: by a property of the filesystem, an option of mkfs or mount, or a
//! layer below it.

use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_stack::filesystem::{Choice, Filesystem};

use super::options::OptionSet;

/// A feature that a candidate can have or lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Property(RequiredProperty),
    Compression,
    Journal,
    CopyOnWrite,
}

impl Feature {
    pub(super) const ENCRYPTION: Feature = Feature::Property(RequiredProperty::Encryption);

    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "compression" => Some(Self::Compression),
            "journal" => Some(Self::Journal),
            "copy-on-write" => Some(Self::CopyOnWrite),
            other => RequiredProperty::from_word(other).map(Self::Property),
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Property(property) => property.word(),
            Self::Compression => "compression",
            Self::Journal => "journal",
            Self::CopyOnWrite => "copy-on-write",
        }
    }

    /// The property that a plan can require for it.
    pub(super) const fn property(self) -> Option<RequiredProperty> {
        match self {
            Self::Property(property) => Some(property),
            Self::Compression | Self::Journal | Self::CopyOnWrite => None,
        }
    }

    /// The choice at mkfs or mount that makes it.
    pub(super) const fn choice(self) -> Option<Choice> {
        match self {
            Self::Compression => Some(Choice::Compression),
            Self::Journal => Some(Choice::Journal),
            Self::CopyOnWrite => Some(Choice::CopyOnWrite),
            Self::Property(RequiredProperty::DataChecksums) => Some(Choice::DataChecksums),
            Self::Property(_) => None,
        }
    }

    /// Whether candidates can be compared with it and without.
    pub(super) fn is_comparable(self) -> bool {
        self == Self::ENCRYPTION || self.choice().is_some()
    }

    /// The options by which this filesystem has the feature, or lacks it: none if it does so by default.
    ///
    /// # Errors
    /// Returns `None` if the filesystem cannot.
    pub(super) fn options(self, filesystem: &Filesystem, gives: bool) -> Option<OptionSet> {
        let choice = self.choice()?;
        if let Some(made) = filesystem.options_for(choice, gives) {
            return Some(OptionSet::from_words(made.mkfs, made.mount));
        }
        let facts = &filesystem.facts;
        let has_by_default = match choice {
            Choice::Compression => facts.compresses_by_default,
            Choice::Journal => facts.journaled,
            Choice::CopyOnWrite => facts.copy_on_write,
            Choice::DataChecksums => facts.data_checksums,
        };
        (has_by_default == gives).then(OptionSet::default)
    }
}
