//! The parts of a question, each with its words.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use fsverdict_judgement::plan::once_each;
use fsverdict_stack::filesystem::Filesystem;
use fsverdict_text::Bytes;

use super::features::{AskedFeature, Feature, Wish};
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

impl NamedCandidate {
    pub(super) fn plain(filesystem: &'static Filesystem) -> Self {
        Self { filesystem, options: OptionSet::default(), layers: Vec::new() }
    }

    /// Whether it has options or layers.
    pub(super) fn is_varied(&self) -> bool {
        !self.options.is_empty() || !self.layers.is_empty()
    }

    pub(super) fn with_options(&self, options: OptionSet) -> Self {
        Self { options, ..self.clone() }
    }
}

/// As a question names it.
impl fmt::Display for NamedCandidate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.filesystem.name)?;
        let mut options = self.options.mkfs.iter().chain(&self.options.mount);
        options.try_for_each(|word| write!(formatter, " {word}"))?;
        self.layers.iter().try_for_each(|layer| write!(formatter, " on {layer}"))
    }
}

/// The meaning of a number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum QuestionBound {
    /// How long the answer may take.
    Budget(Duration),
    Limit(QuestionLimit),
    /// A share of the time; whether it is the price of a feature that is bounded.
    Tolerance(f64, bool),
    Memory(Bytes),
}

/// A latency that must not be exceeded, or a throughput that must be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuestionLimit {
    /// As a plan's requirement calls it: `p99`, `worst`, `throughput`.
    pub(super) metric: &'static str,
    /// As a plan writes it: `<= 10ms`, `>= 200MB/s`.
    pub(super) bound: String,
    /// Whether a throughput is that of reading; it is that of writing otherwise.
    pub(super) is_of_reading: bool,
}

pub(super) const THROUGHPUT: &str = "throughput";

/// Words that are not understood, or cannot be part of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) words: String,
    /// Their place among the tokens.
    pub(super) range: Range<usize>,
    /// The reason, or a form that is understood; empty for a word that is unknown.
    pub(super) advice: String,
}

/// The words that are not understood, for the user.
pub(super) fn quote_problems(problems: &[Problem]) -> String {
    once_each(problems.iter().map(|problem| format!("`{}`", problem.words))).join(", ")
}

/// The parts of a question.
#[derive(Default)]
pub(super) struct ParsedQuestion {
    pub(super) works: Vec<Worded<&'static WorkKind>>,
    pub(super) folder: Option<Worded<()>>,
    /// Works that no preset is about, with the preset that comes nearest.
    pub(super) near: Vec<Worded<&'static WorkKind>>,
    /// Names of models with their state, other sources as a plan has them, and paths.
    pub(super) devices: Vec<Worded<String>>,
    pub(super) device_count: Option<Worded<u32>>,
    pub(super) device_size: Option<Worded<Bytes>>,
    pub(super) places: Vec<Worded<WorkPlace>>,
    pub(super) memory: Option<Worded<Bytes>>,
    pub(super) candidates: Vec<Worded<NamedCandidate>>,
    /// Options for every candidate, each a variant: the words of the options.
    pub(super) variants: Vec<Worded<Vec<String>>>,
    pub(super) excluded: Vec<Worded<&'static Filesystem>>,
    pub(super) features: Vec<AskedFeature>,
    /// Latencies, and then throughputs.
    pub(super) limits: Vec<Worded<QuestionLimit>>,
    pub(super) tolerance: Option<Worded<f64>>,
    pub(super) budget: Option<Worded<Duration>>,
    pub(super) problems: Vec<Problem>,
}

impl ParsedQuestion {
    /// Enters a wish about a feature, once.
    pub(super) fn wish(&mut self, wish: Wish, feature: Feature, words: impl Into<String>) {
        if !self.asks(wish, feature) {
            self.features.push(AskedFeature { wish, feature, words: words.into() });
        }
    }

    /// The features of which this is asked.
    pub(super) fn wished(&self, wish: Wish) -> impl Iterator<Item = &AskedFeature> {
        self.features.iter().filter(move |part| part.wish == wish)
    }

    pub(super) fn asks(&self, wish: Wish, feature: Feature) -> bool {
        self.wished(wish).any(|part| part.feature == feature)
    }

    pub(super) fn has_wish(&self, wish: Wish) -> bool {
        self.wished(wish).next().is_some()
    }

    pub(super) fn names_work(&self) -> bool {
        !self.works.is_empty() || self.folder.is_some()
    }

    /// The parts that were understood, in one line.
    pub(super) fn summary(&self) -> String {
        fn part<T>(name: &str, all: &[Worded<T>], shown: impl Fn(&Worded<T>) -> String) -> Option<String> {
            list(name, all.iter().map(shown).collect())
        }
        fn list(name: &str, all: Vec<String>) -> Option<String> {
            let all = once_each(all);
            (!all.is_empty()).then(|| format!("{name} {}", all.join(", ")))
        }
        let features = Wish::ALL.map(|(wish, label)| {
            list(label, self.wished(wish).map(|asked| asked.feature.word.to_owned()).collect())
        });
        let parts = [
            part("work", &self.works, |asked| asked.value.preset.name.to_owned()),
            part("device", &self.devices, |asked| asked.value.clone()),
            part("place", &self.places, |asked| {
                format!("{} (device {})", asked.words, asked.value.device.unwrap_or("of the work"))
            }),
            part("candidates", &self.candidates, |asked| asked.value.to_string()),
            part("options", &self.variants, |asked| asked.words.clone()),
            part("not", &self.excluded, |asked| asked.value.name.to_owned()),
        ];
        parts.into_iter().chain(features).flatten().collect::<Vec<_>>().join("; ")
    }

    /// The words of everything that has a number.
    pub(super) fn bound_words(&self) -> Vec<String> {
        let limits = self.limits.iter().map(|part| &part.words);
        let tolerance = self.tolerance.iter().map(|part| &part.words);
        let budget = self.budget.iter().map(|part| &part.words);
        let sizes = self.device_size.iter().chain(&self.memory).map(|part| &part.words);
        limits.chain(tolerance).chain(budget).chain(sizes).cloned().collect()
    }

    /// A sentence with exactly the parts that were understood; `None` if it has more works than one, or none.
    pub(super) fn sentence(&self) -> Option<String> {
        let mut sentence = match (self.works.as_slice(), &self.folder, self.near.as_slice()) {
            ([only], None, []) => only.value.preset.name.to_owned(),
            ([], Some(folder), []) => folder.words.clone(),
            _ => return None,
        };
        let device = self.devices.first().map(|part| &part.words);
        let places = device.into_iter().chain(self.places.first().map(|part| &part.words));
        sentence.extend(places.map(|words| format!(" on {words}")));
        let candidates = once_each(self.candidates.iter().map(|part| part.value.to_string()));
        if !candidates.is_empty() {
            sentence = format!("{sentence}: {}", candidates.join(" or "));
        }
        let wishes = Wish::ALL.into_iter().filter(|(wish, _)| *wish != Wish::Unneeded);
        let features = wishes.flat_map(|(wish, label)| {
            self.wished(wish).map(move |part| format!("{label} {}", part.feature.word))
        });
        let variants = self.variants.iter().map(|part| format!("with {}", part.words));
        let excluded = self.excluded.iter().map(|part| format!("not {}", part.value.name));
        let clauses = once_each(variants.chain(excluded).chain(features).chain(self.bound_words()));
        Some(clauses.into_iter().fold(sentence, |sentence, clause| format!("{sentence}, {clause}")))
    }
}
