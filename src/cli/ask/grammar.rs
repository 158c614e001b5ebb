//! The grammar of a question: every word of it is a part of a work, a device, a place, a candidate or an option of one, a
//! feature with its connective, a bound, a filler, or a problem that is reported. docs/reference/questions.md describes it.

use std::ops::Range;
use std::time::Duration;

use fsverdict_disk::device::built_in;
use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_stack::filesystem::{Filesystem, registry};
use fsverdict_text::Bytes;

use super::bounds::{LatencyLimit, QuestionBound, ThroughputLimit, number, parse_bound, parse_size};
use super::features::Feature;
use super::lexicon::{MOST_WORDS, Meaning, WordClass, WorkKind, WorkPlace, longest, meanings, normalize};
use super::options::{OptionSet, looks_like_option, parse_option};
use super::tokens::{Token, TokenKind};

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
enum FeatureForm {
    Noun,
    Adjective,
    Lack,
}

#[derive(Debug, Clone)]
struct ListedFeature {
    feature: Feature,
    form: FeatureForm,
    range: Range<usize>,
}

/// Features that are listed with `and`, `or`, `nor`.
struct FeatureList {
    all: Vec<ListedFeature>,
    end: usize,
    has_or: bool,
}

/// A phrase that stands for something by itself.
#[derive(Clone, Copy)]
enum PhraseContent {
    Work(&'static WorkKind),
    Near(&'static WorkKind),
    Device,
    WorkPlace(&'static WorkPlace),
    Filesystem(&'static Filesystem),
    Untried,
    Outside(&'static str),
    Feature,
}

pub(super) struct Parser<'a> {
    pub(super) tokens: &'a [Token],
    /// For each token, the meanings of the phrases that begin there: of one word, of two, and so on.
    phrases: Vec<Vec<&'static [Meaning]>>,
    pub(super) at: usize,
    pub(super) parsed: ParsedQuestion,
    /// Words that ask for a price.
    price: Option<Range<usize>>,
    /// Features without a connective.
    bare: Vec<ListedFeature>,
    /// Where the options for every candidate end that were read last.
    variant_end: Option<usize>,
    /// Where the device ends that was read last.
    device_end: Option<usize>,
}

/// Parses the tokens of a question.
pub(super) fn parse_question(tokens: &[Token]) -> ParsedQuestion {
    let parsed = ParsedQuestion::default();
    let phrases = (0..tokens.len()).map(|at| phrases_from(&tokens[at..])).collect();
    let mut parser = Parser {
        tokens,
        phrases,
        at: 0,
        parsed,
        price: None,
        bare: Vec::new(),
        variant_end: None,
        device_end: None,
    };
    while parser.at < tokens.len() {
        let before = parser.at;
        parser.step();
        debug_assert!(parser.at > before, "{:?}", tokens.get(before));
        parser.at = parser.at.max(before + 1);
    }
    parser.resolve_absent_checksums();
    parser.resolve_price();
    parser.resolve_bare_features();
    parser.check_variants();
    parser.parsed
}

impl<'a> Parser<'a> {
    fn step(&mut self) {
        let at = self.at;
        match self.tokens[at].kind {
            TokenKind::Stop | TokenKind::Gap => self.at += 1,
            TokenKind::Path => self.path(),
            TokenKind::Word => {
                let words = self.words(at);
                if self.bound(&words) || self.counted_device(false) {
                    return;
                }
                let content = self.content(at, false);
                let class = self.longest_at(at, class_of).map_or(0, |(count, _)| count);
                match content {
                    Some((count, content)) if count >= class => self.take_content(count, content),
                    _ if class > 0 => self.connective(),
                    _ => self.option_or_unknown(),
                }
            }
        }
    }

    /// The words from here to the next sign or path.
    pub(super) fn words(&self, at: usize) -> Vec<&'a str> {
        let tokens = self.tokens;
        let rest = tokens.get(at..).unwrap_or_default();
        rest.iter()
            .take_while(|token| token.kind == TokenKind::Word)
            .map(|token| token.text.as_str())
            .collect()
    }

    /// How many words the longest phrase has that begins here and has such a meaning, and the meaning.
    pub(super) fn longest_at<T>(&self, at: usize, has: impl Fn(&Meaning) -> Option<T>) -> Option<(usize, T)> {
        let phrases = self.phrases.get(at)?;
        phrases
            .iter()
            .enumerate()
            .rev()
            .find_map(|(before, meanings)| Some((before + 1, meanings.iter().find_map(&has)?)))
    }

    pub(super) fn text(&self, range: Range<usize>) -> String {
        let words = self.tokens[range]
            .iter()
            .filter(|token| [TokenKind::Word, TokenKind::Path].contains(&token.kind));
        words.map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Where the longest phrase of this class ends that begins here.
    pub(super) fn class_end(&self, at: usize, class: WordClass) -> Option<usize> {
        let (count, ()) = self.longest_at(at, |meaning| (class_of(meaning) == Some(class)).then_some(()))?;
        Some(at + count)
    }

    pub(super) fn skip_fillers(&self, mut at: usize) -> usize {
        while let Some(end) =
            self.class_end(at, WordClass::Filler).filter(|_| self.content(at, false).is_none())
        {
            at = end;
        }
        at
    }

    pub(super) fn problem(&mut self, range: Range<usize>, advice: impl Into<String>) {
        let words = self.text(range.clone());
        self.at = range.end;
        self.parsed.problems.push(Problem { words, range, advice: advice.into() });
    }

    /// The phrase that begins here and stands by itself, and its number of words.
    fn content(&self, at: usize, device_expected: bool) -> Option<(usize, PhraseContent)> {
        let of_place = |meaning: &Meaning| match meaning {
            Meaning::Device(_) | Meaning::Model(_) => Some(PhraseContent::Device),
            Meaning::DeviceBehindOn(_) => device_expected.then_some(PhraseContent::Device),
            Meaning::WorkPlace(place) => Some(PhraseContent::WorkPlace(place)),
            Meaning::Outside(advice) => Some(PhraseContent::Outside(advice)),
            _ => None,
        };
        let of_other = |meaning: &Meaning| match meaning {
            Meaning::Filesystem(known) => Some(PhraseContent::Filesystem(known)),
            Meaning::Noun(_) | Meaning::Adjective(_) | Meaning::Lack(_) => Some(PhraseContent::Feature),
            Meaning::Untried => Some(PhraseContent::Untried),
            _ => None,
        };
        let of_work = |meaning: &Meaning| match meaning {
            Meaning::Work(work) => Some(PhraseContent::Work(work)),
            Meaning::Near(work) => Some(PhraseContent::Near(work)),
            _ => None,
        };
        let model = || {
            let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
            let (name, _) = token.text.split_once(':')?;
            let is_model = built_in().iter().any(|model| normalize(model.name) == normalize(name));
            (is_model || ["model", "image"].contains(&name)).then_some((1, PhraseContent::Device))
        };
        // Of phrases of the same length the device comes before the feature, and the feature before the work.
        let found = [
            self.longest_at(at, of_place),
            model(),
            self.longest_at(at, of_other),
            self.longest_at(at, of_work),
        ];
        found.into_iter().flatten().reduce(|best, other| if other.0 > best.0 { other } else { best })
    }

    fn take_content(&mut self, count: usize, content: PhraseContent) {
        let range = self.at..self.at + count;
        let words = self.text(range.clone());
        match content {
            PhraseContent::Feature => self.features(),
            PhraseContent::Filesystem(filesystem) => self.filesystem(range, filesystem),
            PhraseContent::Untried => self.problem(range, "this filesystem cannot be tried here; a folder on it is compared by a plan (filesystem = \"directory\")"),
            PhraseContent::Outside(advice) => self.problem(range, advice),
            PhraseContent::Work(work) => {
                self.at = range.end;
                self.parsed.works.push(Worded::new(work, words));
            }
            PhraseContent::Near(work) => {
                self.at = range.end;
                self.parsed.near.push(Worded::new(work, words));
            }
            PhraseContent::WorkPlace(_) if self.is_described_by(range.start) => {
                self.problem(range, "whether the work is done there is not clear: `on a laptop` says so");
            }
            PhraseContent::WorkPlace(place) => {
                self.at = range.end;
                self.parsed.places.push(Worded::new(place, words));
            }
            PhraseContent::Device => {
                self.at = range.end;
                self.parsed.devices.push(Worded::new(words.clone(), words));
                // `a disk of 2 TB`
                let size_at = self.skip_fillers(self.class_end(self.at, WordClass::With).unwrap_or(self.at));
                let rest = self.words(size_at);
                if let Some((count, size)) = parse_size(&rest).filter(|_| parse_bound(&rest, false).is_none()) {
                    self.at = size_at + count;
                    self.parsed.device_size = Some(Worded::new(size, self.text(range.start..self.at)));
                }
                self.device_end = Some(self.at);
            }
        }
    }

    /// Whether `of` stands before this word, and no device before that: a backup of a laptop is none on it.
    fn is_described_by(&self, at: usize) -> bool {
        let word = |at: usize| self.tokens.get(at).map_or(String::new(), |token| token.text.to_lowercase());
        let mut before = at;
        while before > 0 && ["a", "an", "the", "my", "our", "your"].contains(&word(before - 1).as_str()) {
            before -= 1;
        }
        before > 0
            && ["of", "from"].contains(&word(before - 1).as_str())
            && self.device_end != Some(before - 1)
    }

    fn path(&mut self) {
        let path = self.tokens[self.at].text.clone();
        match path.starts_with("/dev/") {
            true => self.parsed.devices.push(Worded::new(path.clone(), path)),
            false if self.parsed.folder.is_some() => {
                return self.problem(self.at..self.at + 1, "one question is about one folder");
            }
            false => self.parsed.folder = Some(Worded::new((), path)),
        }
        self.at += 1;
    }

    fn bound(&mut self, words: &[&str]) -> bool {
        let at = self.at;
        let is_alone = at == 0 || self.tokens[at - 1].kind == TokenKind::Stop;
        let Some((count, bound)) = parse_bound(words, is_alone) else { return false };
        let range = at..at + count;
        let words = self.text(range.clone());
        let is_again = match &bound {
            QuestionBound::Budget(_) => self.parsed.budget.is_some(),
            QuestionBound::Memory(_) => self.parsed.memory.is_some(),
            QuestionBound::Tolerance(..) => self.parsed.tolerance.is_some(),
            QuestionBound::Latency(_) | QuestionBound::Throughput(_) => false,
        };
        if is_again {
            self.problem(range, "this is said twice");
            return true;
        }
        self.at = range.end;
        match bound {
            QuestionBound::Budget(time) => self.parsed.budget = Some(Worded::new(time, words)),
            QuestionBound::Memory(size) => self.parsed.memory = Some(Worded::new(size, words)),
            QuestionBound::Latency(limit) => self.parsed.limits.push(Worded::new(limit, words)),
            QuestionBound::Throughput(limit) => self.parsed.throughputs.push(Worded::new(limit, words)),
            QuestionBound::Tolerance(share, is_price) => {
                self.parsed.tolerance = Some(Worded::new(share, words));
                if is_price {
                    self.price = Some(range);
                }
            }
        }
        true
    }

    /// `two hard disks`, `4 x 8 TB hdd`, `500 GB ssd`.
    fn counted_device(&mut self, device_expected: bool) -> bool {
        let start = self.at;
        let mut at = start;
        let word = |at: usize| self.words(at).first().map(|word| word.to_lowercase()).unwrap_or_default();
        let first = word(at);
        let mut size = parse_size(&self.words(at));
        let mut count = None;
        if let (None, Some((devices, each))) = (&size, first.split_once('x')) {
            // `4x8TB`
            count = number(devices);
            size = parse_size(&[each]).or_else(|| parse_size(&[each, &word(at + 1)]));
            at += size.as_ref().map_or(1, |(words, _)| *words);
        } else if size.is_none() {
            count = number(&first);
            at += usize::from(count.is_some());
            at += usize::from(word(at) == "x");
            size = parse_size(&self.words(at));
            at += size.as_ref().map_or(0, |(words, _)| *words);
        } else {
            at += size.as_ref().map_or(0, |(words, _)| *words);
        }
        let device_at = self.skip_fillers(at);
        let is_device = matches!(self.content(device_at, device_expected), Some((_, PhraseContent::Device)));
        if at == start || !is_device || (count.is_none() && size.is_none()) {
            return false;
        }
        self.at = device_at;
        if let Some((words, content)) = self.content(device_at, device_expected) {
            self.take_content(words, content);
        }
        let words = self.text(start..self.at);
        let whole = count.filter(|count| count.fract() == 0.0 && (1.0..1000.0).contains(count));
        match (count, whole) {
            (Some(_), None) => self.problem(start..self.at, "this is no number of devices"),
            (_, Some(count)) => self.parsed.device_count = Some(Worded::new(count as u32, words.clone())),
            _ => {}
        }
        if let Some((_, size)) = size {
            self.parsed.device_size = Some(Worded::new(size, words));
        }
        true
    }

    /// A word that connects others, or means nothing.
    fn connective(&mut self) {
        let at = self.at;
        if let Some(end) = self.class_end(at, WordClass::Both) {
            return self.with_and_without(end);
        }
        if let Some(end) = self.class_end(at, WordClass::NoNeed)
            && let Some(list) = self.feature_list(end)
        {
            return self.leave_unneeded(at, &list);
        }
        if let Some(end) = self.class_end(at, WordClass::Not)
            && self.exclude(end)
        {
            return;
        }
        let without = self.class_end(at, WordClass::Without).or_else(|| self.class_end(at, WordClass::Not));
        if let Some(end) = without {
            return match self.feature_list(end) {
                Some(list) => self.without(at, &list),
                None => {
                    let next = self.words(end).first().map_or(0, |_| 1);
                    self.problem(at..end + next, "a negation stands directly before a filesystem or a feature: `not btrfs`, `without encryption`");
                }
            };
        }
        let must = self.class_end(at, WordClass::Must);
        if let Some(end) = must.or_else(|| self.class_end(at, WordClass::MayNeed))
            && let Some(list) = self.feature_list(end)
        {
            return self.require(at, &list);
        }
        if let Some(end) = must {
            let bound_at = self.skip_fillers(end);
            if self
                .class_end(end, WordClass::ReadBy)
                .is_some_and(|system| self.noun_at(self.skip_fillers(system)).is_some())
            {
                self.at = end;
                return;
            }
            if parse_bound(&self.words(bound_at), false)
                .is_none_or(|(_, bound)| matches!(bound, QuestionBound::Budget(_)))
            {
                return self.problem(
                    at..end,
                    "`must` stands before a feature: `must encryption`, `must be readable on windows`",
                );
            }
            self.at = bound_at;
            return;
        }
        if let Some(end) = self.class_end(at, WordClass::ReadBy)
            && self.read_by(end)
        {
            return;
        }
        if let Some(end) = self.class_end(at, WordClass::With) {
            return self.with(end);
        }
        if let Some(end) = self.class_end(at, WordClass::On) {
            return self.on(end);
        }
        if let Some(end) = self.class_end(at, WordClass::Price) {
            self.price.get_or_insert(at..end);
            self.at = end;
            return;
        }
        for class in [WordClass::OrNot, WordClass::NotBehind, WordClass::NotNeeded, WordClass::NoNeed] {
            if let Some(end) = self.class_end(at, class) {
                if class == WordClass::OrNot && self.variant_end == Some(at) {
                    self.at = end;
                    return self.parsed.variants.push(Worded::new(Vec::new(), self.text(at..end)));
                }
                return self.problem(
                    at..end,
                    "this has to stand directly beside a filesystem, an option or a feature",
                );
            }
        }
        let skipped = [
            WordClass::Filler,
            WordClass::Or,
            WordClass::And,
            WordClass::Plain,
            WordClass::Linux,
            WordClass::ReadBy,
            WordClass::MayNeed,
        ];
        self.at = skipped.into_iter().filter_map(|class| self.class_end(at, class)).max().unwrap_or(at + 1);
    }

    /// Features from here on, each behind an article or none.
    fn feature_list(&self, start: usize) -> Option<FeatureList> {
        let mut list = FeatureList { all: Vec::new(), end: start, has_or: false };
        let mut next = self.skip_fillers(start);
        let mut before_commas: Option<(usize, usize)> = None;
        while let Some((count, feature, form)) = self.feature_at(next) {
            if list.all.first().is_some_and(|first| first.form != form) {
                break;
            }
            list.all.push(ListedFeature { feature, form, range: next..next + count });
            list.end = next + count;
            // `encryption with luks`
            if let Some(with) = self.class_end(list.end, WordClass::With)
                && let Some((count, ..)) = self.feature_at(with).filter(|(_, other, _)| *other == feature)
            {
                list.end = with + count;
            }
            let comma = self
                .tokens
                .get(list.end)
                .is_some_and(|token| token.kind == TokenKind::Stop && token.text == ",");
            let link = list.end + usize::from(comma);
            let (or, and) = (self.class_end(link, WordClass::Or), self.class_end(link, WordClass::And));
            let is_nor = self.words(link).first().is_some_and(|word| word.eq_ignore_ascii_case("nor"));
            let linked = or.or(and).or(is_nor.then_some(link + 1));
            // `a, b and c`: a comma alone goes on with the list if a word joins its last member.
            if linked.is_none() && comma && before_commas.is_none() {
                before_commas = Some((list.all.len(), list.end));
            }
            let Some(end) = linked.or(comma.then_some(link)) else { break };
            next = self.skip_fillers(end);
            if linked.is_some()
                && self
                    .feature_at(next)
                    .is_some_and(|(.., form)| list.all.first().is_some_and(|first| first.form == form))
            {
                before_commas = None;
                list.has_or |= or.is_some() || is_nor;
            }
        }
        if let Some((count, end)) = before_commas {
            list.all.truncate(count);
            list.end = end;
        }
        (!list.all.is_empty()).then_some(list)
    }

    fn feature_at(&self, at: usize) -> Option<(usize, Feature, FeatureForm)> {
        let named = |meaning: &Meaning| match meaning {
            Meaning::Noun(feature) => Some((*feature, FeatureForm::Noun)),
            Meaning::Adjective(feature) => Some((*feature, FeatureForm::Adjective)),
            Meaning::Lack(feature) => Some((*feature, FeatureForm::Lack)),
            _ => None,
        };
        let (count, (feature, form)) = self.longest_at(at, named)?;
        // A longer phrase is a work: `snapshot server`.
        let is_longer = self
            .content(at, false)
            .is_some_and(|(other, content)| other > count && !matches!(content, PhraseContent::Feature));
        (!is_longer).then_some((count, feature, form))
    }

    pub(super) fn noun_at(&self, at: usize) -> Option<(usize, Feature)> {
        self.feature_at(at)
            .filter(|(.., form)| *form == FeatureForm::Noun)
            .map(|(count, feature, _)| (count, feature))
    }

    /// Features that begin here, without a connective before them.
    fn features(&mut self) {
        let start = self.at;
        let Some(list) = self.feature_list(start) else { return };
        if self
            .class_end(list.end, WordClass::NotNeeded)
            .is_some_and(|end| self.text(list.end..end) != "needed")
        {
            return self.leave_unneeded(start, &list);
        }
        if let Some(end) = self.or_not_end(&list) {
            return self.compare(start..end, &list);
        }
        self.at = list.end;
        for one in list.all {
            let words = self.text(one.range.clone());
            match (one.form, one.feature.property()) {
                (FeatureForm::Adjective, Some(property)) if !list.has_or => {
                    self.parsed.required.push(Worded::new(property, words));
                }
                (FeatureForm::Lack, _) => self.parsed.absent.push(Worded::new(one.feature, words)),
                _ => self.bare.push(one),
            }
        }
    }

    /// The end of `or not`, `or no luks`, `or unencrypted` behind features.
    fn or_not_end(&self, list: &FeatureList) -> Option<usize> {
        let last = list.all.last()?;
        let again = || {
            let link = self
                .class_end(list.end, WordClass::Or)
                .or_else(|| self.class_end(list.end, WordClass::And))?;
            let (negated, lack) = match self
                .class_end(link, WordClass::Without)
                .or_else(|| self.class_end(link, WordClass::Not))
            {
                Some(end) => (end, false),
                None => (link, true),
            };
            let (count, feature, form) = self.feature_at(negated)?;
            (feature == last.feature && (form == FeatureForm::Lack) == lack).then_some(negated + count)
        };
        again().or_else(|| self.class_end(list.end, WordClass::OrNot))
    }

    fn compare(&mut self, range: Range<usize>, list: &FeatureList) {
        let words = self.text(range.clone());
        if let Some(one) = list.all.iter().find(|one| !one.feature.is_comparable()) {
            let advice = format!(
                "{} cannot be compared with its lack; `must {}` requires it",
                one.feature.word(),
                one.feature.property().map_or(one.feature.word(), RequiredProperty::word)
            );
            return self.problem(range, advice);
        }
        for one in &list.all {
            self.add_compared(one.feature, words.clone());
        }
        self.at = range.end;
    }

    fn add_compared(&mut self, feature: Feature, words: String) {
        if !self.parsed.compared.iter().any(|other| other.value == feature) {
            self.parsed.compared.push(Worded::new(feature, words));
        }
    }

    fn require(&mut self, start: usize, list: &FeatureList) {
        let range = start..list.end;
        if list.has_or {
            return self.problem(
                range,
                "one of several cannot be required; ask for each of them, or join them by `and`",
            );
        }
        let words = self.text(range.clone());
        for one in &list.all {
            match (one.form, one.feature.property()) {
                (FeatureForm::Lack, _) => self.parsed.absent.push(Worded::new(one.feature, words.clone())),
                (_, Some(property)) => self.parsed.required.push(Worded::new(property, words.clone())),
                (_, None) => {
                    return self.problem(
                        range,
                        format!(
                            "{} is no property that can be required; `with {0}` compares",
                            one.feature.word()
                        ),
                    );
                }
            }
        }
        self.at = range.end;
    }

    fn leave_unneeded(&mut self, start: usize, list: &FeatureList) {
        let end = self.class_end(list.end, WordClass::NotNeeded).unwrap_or(list.end);
        let words = self.text(start..end);
        self.parsed.unneeded.extend(list.all.iter().map(|one| Worded::new(one.feature, words.clone())));
        self.at = end;
    }

    /// `without encryption or snapshots`.
    fn without(&mut self, start: usize, list: &FeatureList) {
        let end = self.class_end(list.end, WordClass::NotNeeded).unwrap_or(list.end);
        let words = self.text(start..end);
        for one in &list.all {
            let is_choice = one.feature.is_comparable() && one.form != FeatureForm::Lack;
            let parts = if is_choice { &mut self.parsed.absent } else { &mut self.parsed.unneeded };
            parts.push(Worded::new(one.feature, words.clone()));
        }
        self.at = end;
        if list.all.iter().any(|one| one.form == FeatureForm::Lack) {
            self.problem(start..end, "two negations say the opposite of one");
        }
    }

    /// `with encryption`: a comparison with its lack. `with ext4`, `with noatime`.
    fn with(&mut self, end: usize) {
        let start = self.at;
        let next = self.skip_fillers(end);
        if let Some(list) = self.feature_list(end) {
            let comparison = self.or_not_end(&list).unwrap_or(list.end);
            if list.has_or && comparison == list.end {
                return self.problem(
                    start..list.end,
                    "which of these belong together is not clear; ask of one of them",
                );
            }
            return self.compare(start..comparison, &list);
        }
        self.at = next.max(start + 1);
    }

    /// `with and without encryption`, `with or without noatime`.
    fn with_and_without(&mut self, end: usize) {
        let start = self.at;
        if let Some(list) = self.feature_list(end) {
            return self.compare(start..list.end, &list);
        }
        self.at = self.skip_fillers(end);
        let before = self.parsed.variants.len();
        if self.at < self.tokens.len() && self.variant() {
            let words = self.text(start..end);
            self.parsed.variants.truncate(before + 1);
            self.parsed.variants.push(Worded::new(Vec::new(), words));
            return;
        }
        self.problem(start..end, "this stands before a feature or an option: `with and without encryption`");
    }

    /// Filesystems behind a word that excludes them.
    fn exclude(&mut self, end: usize) -> bool {
        let start = self.at;
        let mut next = self.skip_fillers(end);
        let mut all = Vec::new();
        let mut last = next;
        while let Some((count, PhraseContent::Filesystem(filesystem))) = self.content(next, false) {
            all.push(filesystem);
            last = next + count;
            let is_nor = self
                .words(last)
                .first()
                .is_some_and(|word| ["nor", "or", "and"].contains(&word.to_lowercase().as_str()));
            next = if is_nor { self.skip_fillers(last + 1) } else { last };
            // `nor do I want xfs` begins anew.
            if !is_nor {
                break;
            }
        }
        if all.is_empty() {
            return false;
        }
        let words = self.text(start..last);
        self.at = last;
        let goes_on = self.tokens.get(last).is_some_and(|token| token.text == ",")
            && matches!(self.content(last + 1, false), Some((_, PhraseContent::Filesystem(_))));
        if goes_on {
            self.problem(start..last, "whether the filesystems behind the comma are left out, too, is not clear; join them by `and`, or begin with those to try");
            return true;
        }
        self.parsed.excluded.extend(all.into_iter().map(|filesystem| Worded::new(filesystem, words.clone())));
        true
    }

    /// `for windows and mac`.
    fn read_by(&mut self, end: usize) -> bool {
        let start = self.at;
        let mut next = self.skip_fillers(end);
        let mut all = Vec::new();
        let mut last = next;
        loop {
            let system = self.noun_at(next).filter(|(_, feature)| {
                matches!(feature, Feature::Property(RequiredProperty::Windows | RequiredProperty::Macos))
            });
            match (system, self.class_end(next, WordClass::Linux)) {
                (Some((count, feature)), _) => {
                    all.push(feature);
                    last = next + count;
                }
                (None, Some(end)) => last = end,
                (None, None) => break,
            }
            let comma = usize::from(self.tokens.get(last).is_some_and(|token| token.text == ","));
            let Some(link) = self.class_end(last + comma, WordClass::And).or((comma > 0).then_some(last + 1))
            else {
                break;
            };
            next = self.skip_fillers(link);
        }
        if all.is_empty() {
            return false;
        }
        let words = self.text(start..last);
        let is_either = self.class_end(last, WordClass::Or).is_some_and(|end| self.noun_at(end).is_some());
        if is_either {
            self.problem(start..last, "one of several systems cannot be required; join them by `and`");
            return true;
        }
        self.at = last;
        for property in all.into_iter().filter_map(Feature::property) {
            self.parsed.required.push(Worded::new(property, words.clone()));
        }
        true
    }

    fn on(&mut self, end: usize) {
        let start = self.at;
        let mut next = self.skip_fillers(end);
        while self.tokens.get(next).is_some_and(|token| token.kind == TokenKind::Gap) {
            next = self.skip_fillers(next + 1);
        }
        if next >= self.tokens.len() || self.tokens[next].kind == TokenKind::Stop {
            return self.problem(start..end, "no device is named behind it");
        }
        self.at = next;
        if self.tokens[next].kind == TokenKind::Path || self.counted_device(true) {
            return;
        }
        if self.layer_at(next).is_some_and(|(_, layer)| layer.starts_with("luks"))
            && !matches!(self.content(next, true), Some((_, PhraseContent::Device)))
        {
            let end = next + self.layer_at(next).map_or(1, |(count, _)| count);
            let words = self.text(start..end);
            self.at = end;
            return self.parsed.required.push(Worded::new(RequiredProperty::Encryption, words));
        }
        if let Some((
            count,
            content @ (PhraseContent::Device | PhraseContent::WorkPlace(_) | PhraseContent::Outside(_)),
        )) = self.content(next, true)
        {
            self.take_content(count, content);
        }
    }

    pub(super) fn layer_at(&self, at: usize) -> Option<(usize, &'static str)> {
        self.longest_at(at, |meaning| match meaning {
            Meaning::Layer(layer) => Some(*layer),
            _ => None,
        })
    }

    fn option_or_unknown(&mut self) {
        if self.variant() {
            return;
        }
        let layer = self.layer_at(self.at);
        let end = self.at + layer.map_or(1, |(count, _)| count);
        let word = self.text(self.at..end);
        let advice = match layer {
            Some(_) => "a layer stands directly behind its filesystem: `ext4 on lvm thin`".to_owned(),
            None if looks_like_option(&word) => "no candidate here has this option, or it does not stand beside its filesystem".to_owned(),
            None if number(&word.to_lowercase()).is_some() || word.starts_with(|one: char| one.is_ascii_digit()) => {
                "a number is part of a bound (`p99 below 5 ms`, `at least 200 MB/s`), of a time (`for 5m`), or stands before a device".to_owned()
            }
            None => String::new(),
        };
        self.problem(self.at..end, advice);
    }

    /// Options for every candidate that begin here.
    fn variant(&mut self) -> bool {
        let at = self.at;
        let words = self.words(at);
        let Some((count, options)) =
            registry().iter().filter_map(|one| parse_option(&words, one)).max_by_key(|(count, _)| *count)
        else {
            return false;
        };
        let raw: Vec<String> = words[..count].iter().map(|word| (*word).to_owned()).collect();
        // `zstd compression`
        let is_compression = options.keys().iter().any(|key| key.contains("compress"));
        let noun = self
            .noun_at(at + count)
            .filter(|(_, feature)| *feature == Feature::Compression && is_compression);
        let end = at + count + noun.map_or(0, |(words, _)| words);
        let text = self.text(at..end);
        let keys = |raw: &[String]| {
            let words: Vec<&str> = raw.iter().map(String::as_str).collect();
            registry()
                .iter()
                .find_map(|one| parse_option(&words, one))
                .map(|(_, options)| options.keys())
                .unwrap_or_default()
        };
        let is_behind_or = self.variant_end.is_some_and(|end| {
            self.class_end(end, WordClass::Or)
                .is_some_and(|link| self.class_end(link, WordClass::With).unwrap_or(link) == at)
        });
        let is_again = self
            .parsed
            .variants
            .last()
            .is_some_and(|last| keys(&last.value).iter().any(|key| options.keys().contains(key)));
        match self.parsed.variants.last_mut().filter(|_| !is_behind_or && !is_again) {
            Some(last) => {
                last.value.extend(raw);
                last.words = format!("{} {text}", last.words);
            }
            None => self.parsed.variants.push(Worded::new(raw, text)),
        }
        self.at = end;
        self.variant_end = Some(end);
        true
    }

    /// `without checksums` turns them off where one filesystem is compared both ways, and requires nothing of several.
    fn resolve_absent_checksums(&mut self) {
        if self.parsed.candidates.len() != 1 {
            let checksums = Feature::Property(RequiredProperty::DataChecksums);
            let (moved, kept) =
                std::mem::take(&mut self.parsed.absent).into_iter().partition(|one| one.value == checksums);
            self.parsed.absent = kept;
            self.parsed.unneeded.extend::<Vec<_>>(moved);
        }
    }

    /// A price is asked of features, of options, or of filesystems beside each other.
    fn resolve_price(&mut self) {
        let Some(price) = self.price.clone() else { return };
        let words = self.text(price.clone());
        let mut is_used = self.parsed.candidates.len() > 1 || !self.parsed.compared.is_empty();
        for one in std::mem::take(&mut self.bare) {
            match one.feature.is_comparable() {
                true => {
                    let words = format!("{words} … {}", self.text(one.range.clone()));
                    self.add_compared(one.feature, words);
                }
                false => self.bare.push(one),
            }
            is_used = true;
        }
        let encrypted = self.parsed.required.iter().position(|one| one.value == RequiredProperty::Encryption);
        if let Some(at) =
            encrypted.filter(|_| self.parsed.compared.is_empty() && self.parsed.candidates.len() < 2)
        {
            let one = self.parsed.required.remove(at);
            self.add_compared(Feature::ENCRYPTION, format!("{words} … {}", one.words));
            is_used = true;
        }
        if self.parsed.variants.len() == 1 {
            self.parsed.variants.push(Worded::new(Vec::new(), words.clone()));
            is_used = true;
        }
        if let [only] = self.parsed.candidates.as_slice() {
            if !only.value.options.is_empty() || !only.value.layers.is_empty() {
                let plain = NamedCandidate {
                    options: OptionSet::default(),
                    layers: Vec::new(),
                    ..only.value.clone()
                };
                self.parsed.candidates.push(Worded::new(plain, words.clone()));
            }
            is_used = true;
        }
        if !is_used {
            self.problem(
                price,
                "what it is the price of is not clear: name a feature or an option, or two filesystems",
            );
        }
    }

    /// `encryption` is a work where no other is named; elsewhere it needs a connective.
    fn resolve_bare_features(&mut self) {
        let has_work =
            !self.parsed.works.is_empty() || self.parsed.folder.is_some() || !self.parsed.near.is_empty();
        let words_of_work = |words: &str| {
            longest(&words.split(' ').collect::<Vec<_>>(), |meaning| match meaning {
                Meaning::Work(work) => Some(*work),
                _ => None,
            })
        };
        let mut bare = std::mem::take(&mut self.bare);
        if !has_work {
            let named = bare.iter().find_map(|one| {
                let words = self.text(one.range.clone());
                Some((one.feature, words_of_work(&words)?.1, words))
            });
            let compared = || {
                self.parsed.compared.iter().find_map(|one| {
                    let last = one.words.rsplit(' ').next()?;
                    Some((one.value, words_of_work(last)?.1, one.words.clone()))
                })
            };
            if let Some((feature, work, words)) = named.or_else(compared) {
                self.parsed.works.push(Worded::new(work, words));
                bare.retain(|one| one.feature != feature);
                let is_named = !self.parsed.candidates.is_empty();
                self.parsed
                    .compared
                    .retain(|one| one.value != feature || is_named && feature == Feature::ENCRYPTION);
            } else if let [only] = self.parsed.required.as_slice()
                && let Some((_, work)) = words_of_work(&only.words)
            {
                let words = only.words.clone();
                self.parsed.works.push(Worded::new(work, words));
                self.parsed.required.clear();
            }
        }
        for one in bare {
            let word = self.text(one.range.clone());
            self.problem(
                one.range,
                format!("say `with {word}` (a comparison), `without {word}`, or `must {word}`"),
            );
        }
    }

    /// Options for every candidate have to be options of each that is named.
    fn check_variants(&mut self) {
        let parses = |variant: &Worded<Vec<String>>, filesystem: &Filesystem| {
            variant.value.is_empty() || parse_all(&variant.value, filesystem).is_some()
        };
        let lacking = self.parsed.variants.iter().find_map(|variant| {
            let one = self.parsed.candidates.iter().find(|one| !parses(variant, one.value.filesystem))?;
            Some((variant.words.clone(), one.value.filesystem.name))
        });
        if let Some((words, filesystem)) = lacking {
            let advice = format!(
                "{filesystem} has no such option; write it directly behind the filesystem that has it"
            );
            self.parsed.problems.push(Problem { words, range: 0..0, advice });
        }
    }
}

/// The meanings of the phrases that these tokens begin with.
fn phrases_from(tokens: &[Token]) -> Vec<&'static [Meaning]> {
    let words = tokens.iter().take_while(|token| token.kind == TokenKind::Word).take(MOST_WORDS);
    let mut phrase = String::new();
    let add = |token: &Token| {
        phrase.push_str(&token.text);
        meanings(&phrase)
    };
    words.map(add).collect()
}

/// All options that these words are, of one filesystem.
pub(super) fn parse_all(words: &[String], filesystem: &Filesystem) -> Option<OptionSet> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut all, mut at) = (OptionSet::default(), 0);
    while at < words.len() {
        let (count, options) = parse_option(&words[at..], filesystem)?;
        all.extend(&options);
        at += count;
    }
    Some(all)
}

fn class_of(meaning: &Meaning) -> Option<WordClass> {
    match meaning {
        Meaning::WordClass(class) => Some(*class),
        _ => None,
    }
}
