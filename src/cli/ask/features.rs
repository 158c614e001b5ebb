//! Features that a candidate can have or lack, and how: by a property of the filesystem, an option of mkfs or mount, or a
//! layer below it.

use std::ops::Range;

use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_stack::filesystem::{Choice, Filesystem};

use super::options::OptionSet;

/// A feature that a candidate can have or lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Feature {
    pub(super) word: &'static str,
    /// The property that a plan can require for it.
    pub(super) property: Option<RequiredProperty>,
    /// The choice at mkfs or mount that makes it.
    pub(super) choice: Option<Choice>,
}

/// How a feature is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureForm {
    Noun,
    Adjective,
    Lack,
}

/// The part of a feature in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Of the candidate that is recommended.
    Required,
    /// Candidates are to be without it.
    Absent,
    /// It need not be there.
    Unneeded,
    /// Candidates are compared with it and without.
    Compared,
}

/// A feature in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskedFeature {
    pub(super) wish: Wish,
    pub(super) feature: Feature,
    pub(super) words: String,
}

/// A feature and its place among the tokens.
#[derive(Debug, Clone)]
pub(super) struct ListedFeature {
    pub(super) feature: Feature,
    pub(super) form: FeatureForm,
    pub(super) range: Range<usize>,
}

impl Wish {
    /// Each with its words for the user, before the features.
    pub(super) const ALL: [(Self, &str); 4] = [
        (Self::Required, "must"),
        (Self::Absent, "without"),
        (Self::Unneeded, "not required"),
        (Self::Compared, "with and without"),
    ];
}

impl Feature {
    pub(super) const CHECKSUMS: Feature =
        Feature { choice: Some(Choice::DataChecksums), ..Feature::of(RequiredProperty::DataChecksums) };
    pub(super) const COMPRESSION: Feature = Feature::made("compression", Choice::Compression);
    pub(super) const ENCRYPTION: Feature = Feature::of(RequiredProperty::Encryption);
    const JOURNAL: Feature = Feature::made("journal", Choice::Journal);
    const COPY_ON_WRITE: Feature = Feature::made("copy-on-write", Choice::CopyOnWrite);

    const fn of(property: RequiredProperty) -> Self {
        Self { word: property.word(), property: Some(property), choice: None }
    }

    const fn made(word: &'static str, choice: Choice) -> Self {
        Self { word, property: None, choice: Some(choice) }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        let mut made = [Self::CHECKSUMS, Self::COMPRESSION, Self::JOURNAL, Self::COPY_ON_WRITE].into_iter();
        made.find(|known| known.word == word).or_else(|| RequiredProperty::from_word(word).map(Self::of))
    }

    /// Whether candidates can be compared with it and without.
    pub(super) fn is_comparable(self) -> bool {
        self == Self::ENCRYPTION || self.choice.is_some()
    }

    /// The options by which this filesystem has the feature, or lacks it: none if it does so by default. `None` if the
    /// filesystem cannot.
    pub(super) fn options(self, filesystem: &Filesystem, gives: bool) -> Option<OptionSet> {
        let made = filesystem.options_for(self.choice?, gives)?;
        Some(OptionSet::from_words(made.mkfs, made.mount))
    }
}
