//! Features that a filesystem, or a layer below it, can have or lack, as users name them: encryption, compression, a
//! journal. And the options for them.

use std::ops::Range;

use fsverdict_stack::filesystem::{Choice, Filesystem};

use super::sentence::Sentence;

/// A feature that a candidate can have or lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Encryption,
    Compression,
    Journal,
    CopyOnWrite,
    DataChecksums,
}

/// Options of mkfs and mount that were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeardOptions {
    pub(super) mkfs: Vec<String>,
    pub(super) mount: Vec<String>,
    /// The choice that they make, and whether it adds the feature. Filesystems without this choice are left out.
    pub(super) choice: Option<(Choice, bool)>,
}

/// A feature that was found in a sentence.
#[derive(Debug)]
pub(super) struct FoundFeature {
    pub(super) feature: Feature,
    pub(super) range: Range<usize>,
    /// Whether it is wanted, or not; neither where it is compared with its lack.
    pub(super) wanted: Option<bool>,
    /// How it is compressed.
    algorithm: Option<String>,
}

impl Feature {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Encryption => "encryption",
            Self::Compression => "compression",
            Self::Journal => "journal",
            Self::CopyOnWrite => "copy-on-write",
            Self::DataChecksums => "data checksums",
        }
    }

    /// The registry's choice for it, if it is chosen at mkfs or mount.
    pub(super) const fn choice(self) -> Option<Choice> {
        match self {
            Self::Encryption => None,
            Self::Compression => Some(Choice::Compression),
            Self::Journal => Some(Choice::Journal),
            Self::CopyOnWrite => Some(Choice::CopyOnWrite),
            Self::DataChecksums => Some(Choice::DataChecksums),
        }
    }
}

impl HeardOptions {
    pub(super) fn of_mkfs(words: [&str; 2]) -> Self {
        Self { mkfs: words.map(str::to_owned).into(), ..Self::default() }
    }

    /// Options of mount, separated by commas.
    pub(super) fn of_mount(options: &str) -> Self {
        Self { mount: options.split(',').map(str::to_owned).collect(), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mkfs.is_empty() && self.mount.is_empty()
    }

    /// As they are written on command lines.
    pub(super) fn shown(&self) -> String {
        let all: Vec<&str> = self.mkfs.iter().chain(&self.mount).map(String::as_str).collect();
        all.join(" ")
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        let both = |one: &[String], other: &[String]| one.iter().chain(other).cloned().collect();
        Self {
            mkfs: both(&self.mkfs, &other.mkfs),
            mount: both(&self.mount, &other.mount),
            choice: self.choice.or(other.choice),
        }
    }

    /// Whether a filesystem has all of them.
    pub(super) fn are_of(&self, filesystem: &Filesystem) -> bool {
        let is_flag = |word: &&String| word.starts_with('-');
        self.choice.is_none_or(|(choice, gives)| filesystem.options_for(choice, gives).is_some())
            && self.mount.iter().all(|option| filesystem.has_mount_option(option))
            && self.mkfs.iter().filter(is_flag).all(|option| filesystem.has_mkfs_option(option))
    }

    /// The options that make this choice: on the filesystem `of`, or on the first that has the choice.
    pub(super) fn that_choose(choice: Choice, gives: bool, of: Option<&Filesystem>) -> Option<Self> {
        let registry = fsverdict_stack::filesystem::registry();
        let made = match of {
            Some(filesystem) => filesystem.options_for(choice, gives)?,
            None => registry.iter().find_map(|one| one.options_for(choice, gives))?,
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Some(Self { mkfs: owned(made.mkfs), mount: owned(made.mount), choice: Some((choice, gives)) })
    }
}

/// Words for features, and whether each means that the feature is there.
const CALLED: &[(&str, Feature, bool)] = &[
    ("full disk encryption", Feature::Encryption, true),
    ("encryption", Feature::Encryption, true),
    ("encrypted", Feature::Encryption, true),
    ("encrypting", Feature::Encryption, true),
    ("luks", Feature::Encryption, true),
    ("luks2", Feature::Encryption, true),
    ("unencrypted", Feature::Encryption, false),
    ("compression", Feature::Compression, true),
    ("compressed", Feature::Compression, true),
    ("compressing", Feature::Compression, true),
    ("uncompressed", Feature::Compression, false),
    ("journaling", Feature::Journal, true),
    ("journalling", Feature::Journal, true),
    ("journal", Feature::Journal, true),
    ("copy-on-write", Feature::CopyOnWrite, true),
    ("copy on write", Feature::CopyOnWrite, true),
    ("cow", Feature::CopyOnWrite, true),
    ("nocow", Feature::CopyOnWrite, false),
    ("data checksums", Feature::DataChecksums, true),
    ("checksums", Feature::DataChecksums, true),
    ("checksumming", Feature::DataChecksums, true),
];

pub(super) const BOTH_BEFORE: &[&str] = &[
    "with and without",
    "with or without",
    "without and with",
    "without or with",
    "with vs without",
    "with versus without",
];
const BOTH_BEHIND: &[&str] = &[
    "or not",
    "or without",
    "and without",
    "vs without",
    "versus without",
    "or none",
    "vs none",
    "versus none",
    "on and off",
    "on or off",
    "on vs off",
];

/// The feature that is called so from this word on, and whether the words mean that it is there.
pub(super) fn feature_called(sentence: &Sentence, at: usize) -> Option<(Range<usize>, Feature, bool)> {
    CALLED
        .iter()
        .find_map(|(words, feature, has)| Some((sentence.find_phrase(at, &[words])?, *feature, *has)))
}

/// Finds the feature that is named from this word on, with the words that say whether it is wanted. Features that can
/// only be required (an encrypted disk, a journal) are left to `requirements`.
pub(super) fn feature_here(sentence: &Sentence, at: usize, is_priced: bool) -> Option<FoundFeature> {
    let (mut from, wanted) = match sentence.find_phrase(at, BOTH_BEFORE) {
        Some(both) => (both.end, None),
        None if sentence.is(at, "without no not") => (at + 1, Some(false)),
        None => (at, Some(true)),
    };
    if from > at && sentence.is(from, "a an any the") {
        from += 1;
    }
    let algorithm = sentence.is(from, "zstd lzo zlib").then(|| sentence.text(from));
    let named = from + usize::from(algorithm.is_some());
    let called = feature_called(sentence, named).map(|(range, feature, has)| (range, (feature, has)));
    // `btrfs with zstd`: the algorithm alone.
    let alone = || {
        let is_alone = algorithm.is_some() && sentence.is_free(from);
        is_alone.then_some((from..from + 1, (Feature::Compression, true)))
    };
    let (mut range, (feature, has)) = called.or_else(alone)?;
    let mut wanted = wanted.map(|wanted| wanted == has);
    // `luks or no luks`.
    let again = || {
        let lack =
            sentence.find_phrase(range.end, &["or no", "vs no", "and no", "or without", "vs without"])?;
        let is_same = |words: &str, other: Feature| {
            (other == feature).then(|| sentence.find_phrase(lack.end, &[words]))
        };
        CALLED.iter().find_map(|(words, other, _)| is_same(words, *other)?)
    };
    if let Some(both) = again().or_else(|| sentence.find_phrase(range.end, BOTH_BEHIND)) {
        wanted = None;
        range.end = both.end;
    }
    if is_priced {
        wanted = None;
    }
    // `journal` is also how ext4 keeps its data, and a crash-safe filesystem has one: neither is chosen by an option.
    let is_required = wanted == Some(true) && !matches!(feature, Feature::Compression);
    (!is_required).then_some(FoundFeature { feature, range: at..range.end, wanted, algorithm })
}

impl FoundFeature {
    /// The options for it, on the named filesystem, or on the first that has them; `None` if no options give it.
    pub(super) fn options(&self, of: Option<&Filesystem>, gives: bool) -> Option<HeardOptions> {
        let mut options = HeardOptions::that_choose(self.feature.choice()?, gives, of)?;
        if let Some(algorithm) = &self.algorithm {
            options.mount = vec![format!("compress={algorithm}")];
        }
        Some(options)
    }
}
