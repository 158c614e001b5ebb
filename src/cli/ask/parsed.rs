//! The parts of a question, each with its words.

use std::ops::Range;
use std::time::Duration;

use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_stack::filesystem::Filesystem;
use fsverdict_text::Bytes;

use super::bounds::{LatencyLimit, ThroughputLimit};
use super::features::Feature;
use super::lexicon::{WorkKind, WorkPlace};
use super::options::OptionSet;

/// Something that was understood, and the words for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Worded<T> {
    pub(super) value: T,
    pub(super) words: String,
}

impl<T> Worded<T> {
    pub(super) fn new(value: T, words: impl Into<String>) -> Self {
        Self { value, words: words.into() }
    }
}

/// A filesystem that a question names, with its options and layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedCandidate {
    pub(super) filesystem: &'static Filesystem,
    pub(super) options: OptionSet,
    pub(super) layers: Vec<&'static str>,
}

/// Words that are not understood, or cannot be part of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) words: String,
    /// Their place among the tokens.
    pub(super) range: Range<usize>,
    /// The reason, or a form that is understood; empty for a word that is unknown.
    pub(super) advice: String,
}

/// The parts of a question.
#[derive(Default)]
pub(super) struct ParsedQuestion {
    pub(super) works: Vec<Worded<&'static WorkKind>>,
    pub(super) folder: Option<Worded<()>>,
    /// Works that no preset is about, with the preset that comes nearest.
    pub(super) near: Vec<Worded<&'static WorkKind>>,
    /// Names and paths of devices.
    pub(super) devices: Vec<Worded<String>>,
    pub(super) device_count: Option<Worded<u32>>,
    pub(super) device_size: Option<Worded<Bytes>>,
    pub(super) places: Vec<Worded<&'static WorkPlace>>,
    pub(super) memory: Option<Worded<Bytes>>,
    pub(super) candidates: Vec<Worded<NamedCandidate>>,
    /// Options for every candidate, each a variant: the words of the options.
    pub(super) variants: Vec<Worded<Vec<String>>>,
    pub(super) excluded: Vec<Worded<&'static Filesystem>>,
    pub(super) required: Vec<Worded<RequiredProperty>>,
    /// Features that candidates are to be without.
    pub(super) absent: Vec<Worded<Feature>>,
    /// Features that need not be there.
    pub(super) unneeded: Vec<Worded<Feature>>,
    /// Features that candidates are compared with and without.
    pub(super) compared: Vec<Worded<Feature>>,
    pub(super) limits: Vec<Worded<LatencyLimit>>,
    pub(super) throughputs: Vec<Worded<ThroughputLimit>>,
    pub(super) tolerance: Option<Worded<f64>>,
    pub(super) budget: Option<Worded<Duration>>,
    pub(super) problems: Vec<Problem>,
}

impl ParsedQuestion {
    /// The feature that candidates are to be without, and that options of mkfs or mount take away.
    pub(super) fn absent_choice(&self) -> Option<Feature> {
        self.absent.iter().map(|one| one.value).find(|feature| feature.choice().is_some())
    }
}

/// How a feature is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureForm {
    Noun,
    Adjective,
    Lack,
}

#[derive(Debug, Clone)]
pub(super) struct ListedFeature {
    pub(super) feature: Feature,
    pub(super) form: FeatureForm,
    pub(super) range: Range<usize>,
}
