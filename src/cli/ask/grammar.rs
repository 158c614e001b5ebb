//! The grammar of a question: every word of it is a part of a work, a device, a place, a candidate or an option of one, a
//! feature with its connective, a bound, a filler, or a problem that is reported. docs/reference/questions.md describes it.

use std::ops::Range;

use fsverdict_disk::device::built_in;
use fsverdict_stack::filesystem::registry;

use super::bounds::{QuestionBound, parse_bound, parse_number, parse_size};
use super::features::Feature;
use super::lexicon::{MOST_WORDS, Meaning, WordClass, meanings, normalize};
use super::options::{looks_like_option, parse_option};
use super::parsed::{ListedFeature, ParsedQuestion, Problem, Worded};
use super::tokens::{Token, TokenKind};

pub(super) struct Parser<'a> {
    pub(super) tokens: &'a [Token],
    /// For each token, the meanings of the phrases that begin there: of one word, of two, and so on.
    phrases: Vec<Vec<&'static [Meaning]>>,
    pub(super) at: usize,
    pub(super) parsed: ParsedQuestion,
    /// Words that ask for a price.
    pub(super) price: Option<Range<usize>>,
    /// Features without a connective.
    pub(super) bare: Vec<ListedFeature>,
    /// Where the options for every candidate end that were read last.
    pub(super) variant_end: Option<usize>,
    /// Where the device ends that was read last.
    device_end: Option<usize>,
}

/// Parses the tokens of a question.
pub(super) fn parse_question(tokens: &[Token]) -> ParsedQuestion {
    let mut parser = Parser {
        tokens,
        phrases: (0..tokens.len()).map(|at| phrases_from(&tokens[at..])).collect(),
        at: 0,
        parsed: ParsedQuestion::default(),
        price: None,
        bare: Vec::new(),
        variant_end: None,
        device_end: None,
    };
    while parser.at < tokens.len() {
        let before = parser.at;
        parser.step();
        parser.at = parser.at.max(before + 1);
    }
    parser.resolve_features();
    parser.parsed
}

/// The meanings of the phrases that these tokens begin with.
fn phrases_from(tokens: &[Token]) -> Vec<&'static [Meaning]> {
    let mut phrase = String::new();
    let words = tokens.iter().take_while(|token| token.kind == TokenKind::Word).take(MOST_WORDS);
    let add = |token: &Token| {
        phrase.push_str(&token.text);
        meanings(&phrase)
    };
    words.map(add).collect()
}

impl<'a> Parser<'a> {
    fn step(&mut self) {
        let at = self.at;
        let kind = self.tokens[at].kind;
        match kind {
            TokenKind::Stop | TokenKind::Gap => self.at += 1,
            TokenKind::Path => self.path(),
            TokenKind::Word if self.bound() || self.counted_device(false) => {}
            TokenKind::Word => {
                let class = self.longest_at(at, Meaning::class).map_or(0, |(count, _)| count);
                match self.content(at, false) {
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
        let words = tokens.iter().skip(at).take_while(|token| token.kind == TokenKind::Word);
        words.map(|token| token.text.as_str()).collect()
    }

    /// Whether the word here is one of these.
    pub(super) fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| words.contains(&token.text.to_lowercase().as_str()))
    }

    pub(super) fn is_comma(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Stop && token.text == ",")
    }

    /// How many words the longest phrase has that begins here and has such a meaning, and the meaning.
    pub(super) fn longest_at<T>(&self, at: usize, has: impl Fn(&Meaning) -> Option<T>) -> Option<(usize, T)> {
        let mut phrases = self.phrases.get(at)?.iter().enumerate().rev();
        phrases.find_map(|(before, meanings)| Some((before + 1, meanings.iter().find_map(&has)?)))
    }

    /// The words of a range, without signs and words that are left out.
    pub(super) fn text(&self, range: Range<usize>) -> String {
        let is_text = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::Path);
        let words = self.tokens[range].iter().filter(is_text).map(|token| token.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Where the longest phrase of this class ends that begins here.
    pub(super) fn class_end(&self, at: usize, class: WordClass) -> Option<usize> {
        let is_of_class = |meaning: &Meaning| (meaning.class() == Some(class)).then_some(());
        self.longest_at(at, is_of_class).map(|(count, ())| at + count)
    }

    /// The end of the longest phrase of the first of these classes that begins here.
    pub(super) fn any_class_end(&self, at: usize, classes: &[WordClass]) -> Option<usize> {
        classes.iter().find_map(|class| self.class_end(at, *class))
    }

    pub(super) fn skip_fillers(&self, mut at: usize) -> usize {
        while let (Some(end), None) = (self.class_end(at, WordClass::Filler), self.content(at, false)) {
            at = end;
        }
        at
    }

    pub(super) fn problem(&mut self, range: Range<usize>, advice: impl Into<String>) {
        let words = self.text(range.clone());
        self.at = range.end;
        self.parsed.problems.push(Problem { words, range, advice: advice.into() });
    }

    /// The longest phrase that begins here and stands for something by itself. Of phrases of the same length the device
    /// comes before the feature, and the feature before the work.
    pub(super) fn content(&self, at: usize, device_expected: bool) -> Option<(usize, Meaning)> {
        let with_state = || {
            let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
            let (name, _) = token.text.split_once(':')?;
            let model = built_in().iter().find(|model| normalize(model.name) == normalize(name));
            let is_source = ["model", "image"].contains(&name);
            model.map(|model| model.name).or(is_source.then_some("")).map(|name| (1, Meaning::Model(name)))
        };
        let rank = |meaning: &Meaning| match meaning {
            Meaning::DeviceBehindOn(_) if !device_expected => None,
            other => other.rank(),
        };
        let longest = self.phrases.get(at)?.iter().enumerate().rev().find_map(|(before, meanings)| {
            let best = meanings
                .iter()
                .filter(|meaning| rank(meaning).is_some())
                .min_by_key(|meaning| rank(meaning))?;
            Some((before + 1, *best))
        });
        longest.or_else(with_state)
    }

    pub(super) fn take_content(&mut self, count: usize, content: Meaning) {
        let range = self.at..self.at + count;
        let words = self.text(range.clone());
        self.at = range.end;
        match content {
            Meaning::Filesystem(filesystem) => self.filesystem(range, filesystem),
            Meaning::Untried => self.problem(
                range,
                "this filesystem cannot be tried here; a folder on it is compared by a plan (filesystem = \"directory\")",
            ),
            Meaning::Outside(advice) => self.problem(range, advice),
            Meaning::Work(work) => self.parsed.works.push(Worded::new(work, words)),
            Meaning::Near(work) => self.parsed.near.push(Worded::new(work, words)),
            Meaning::WorkPlace(_) if self.is_described_by(range.start) => {
                self.problem(range, "whether the work is done there is not clear: `on a laptop` says so");
            }
            Meaning::WorkPlace(place) => self.parsed.places.push(Worded::new(place, words)),
            Meaning::Device(_) | Meaning::DeviceBehindOn(_) | Meaning::Model(_) => {
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
            _ => {
                self.at = range.start;
                self.features();
            }
        }
    }

    /// Whether `of` stands before this word, and no device before that: a backup of a laptop is none on it.
    fn is_described_by(&self, mut at: usize) -> bool {
        while at > 0 && self.is_word(at - 1, &["a", "an", "the", "my", "our", "your"]) {
            at -= 1;
        }
        at > 0 && self.is_word(at - 1, &["of", "from"]) && self.device_end != Some(at - 1)
    }

    fn path(&mut self) {
        let path = self.tokens[self.at].text.clone();
        self.at += 1;
        match path.starts_with("/dev/") {
            true => self.parsed.devices.push(Worded::new(path.clone(), path)),
            false if self.parsed.folder.is_some() => {
                self.problem(self.at - 1..self.at, "one question is about one folder");
            }
            false => self.parsed.folder = Some(Worded::new((), path)),
        }
    }

    fn bound(&mut self) -> bool {
        let at = self.at;
        let is_alone = at == 0 || self.tokens[at - 1].kind == TokenKind::Stop;
        let Some((count, bound)) = parse_bound(&self.words(at), is_alone) else { return false };
        let range = at..at + count;
        let words = self.text(range.clone());
        self.at = range.end;
        let parsed = &mut self.parsed;
        let is_again = match bound {
            QuestionBound::Budget(time) => parsed.budget.replace(Worded::new(time, words)).is_some(),
            QuestionBound::Memory(size) => parsed.memory.replace(Worded::new(size, words)).is_some(),
            QuestionBound::Tolerance(share, is_price) => {
                self.price = self.price.take().or(is_price.then_some(range.clone()));
                parsed.tolerance.replace(Worded::new(share, words)).is_some()
            }
            QuestionBound::Latency(limit) => {
                parsed.limits.push(Worded::new(limit, words));
                false
            }
            QuestionBound::Throughput(limit) => {
                parsed.throughputs.push(Worded::new(limit, words));
                false
            }
        };
        if is_again {
            self.problem(range, "this is said twice");
        }
        true
    }

    /// `two hard disks`, `4 x 1 TB hdd`, `500 GB ssd`.
    pub(super) fn counted_device(&mut self, device_expected: bool) -> bool {
        let start = self.at;
        let mut at = start;
        let mut count = None;
        if parse_size(&self.words(at)).is_none() {
            count = self.words(at).first().and_then(|word| parse_number(&word.to_lowercase()));
            at += usize::from(count.is_some()) + usize::from(self.is_word(at + 1, &["x"]));
        }
        let size = parse_size(&self.words(at));
        let device_at = self.skip_fillers(at + size.as_ref().map_or(0, |(words, _)| *words));
        let device = self.content(device_at, device_expected).filter(|(_, content)| content.is_device());
        let (true, Some((words, content))) = (count.is_some() || size.is_some(), device) else {
            return false;
        };
        self.at = device_at;
        self.take_content(words, content);
        let words = self.text(start..self.at);
        if let Some((_, size)) = size {
            self.parsed.device_size = Some(Worded::new(size, words.clone()));
        }
        match count {
            Some(count) if count.fract() == 0.0 && (1.0..1000.0).contains(&count) => {
                self.parsed.device_count = Some(Worded::new(count as u32, words));
            }
            Some(_) => self.problem(start..self.at, "this is no number of devices"),
            None => {}
        }
        true
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
        let is_number = parse_number(&word.to_lowercase()).is_some()
            || word.starts_with(|one: char| one.is_ascii_digit());
        let advice = match layer {
            Some(_) => "a layer stands directly behind its filesystem: `ext4 on lvm thin`",
            None if looks_like_option(&word) => {
                "no candidate here has this option, or it does not stand beside its filesystem"
            }
            None if is_number => {
                "a number is part of a bound (`p99 below 5 ms`, `at least 200 MB/s`) or of a time (`for 5m`), or stands before a device"
            }
            None => "",
        };
        self.problem(self.at..end, advice);
    }

    /// Options for every candidate that begin here.
    pub(super) fn variant(&mut self) -> bool {
        let at = self.at;
        let words = self.words(at);
        let options = |words: &[&str]| {
            registry().iter().filter_map(|one| parse_option(words, one)).max_by_key(|(count, _)| *count)
        };
        let Some((count, found)) = options(&words) else { return false };
        let keys = found.keys();
        // `zstd compression`
        let noun = self.noun_at(at + count).filter(|(_, feature)| {
            *feature == Feature::Compression && keys.iter().any(|key| key.contains("compress"))
        });
        let end = at + count + noun.map_or(0, |(words, _)| words);
        let text = self.text(at..end);
        let link = self.variant_end.and_then(|end| self.class_end(end, WordClass::Or));
        let is_behind_or =
            link.is_some_and(|link| self.class_end(link, WordClass::With).unwrap_or(link) == at);
        let is_again = self.parsed.variants.last().is_some_and(|last| {
            let words: Vec<&str> = last.value.iter().map(String::as_str).collect();
            options(&words).is_some_and(|(_, last)| last.keys().iter().any(|key| keys.contains(key)))
        });
        let raw = words[..count].iter().map(|word| (*word).to_owned());
        match self.parsed.variants.last_mut().filter(|_| !is_behind_or && !is_again) {
            Some(last) => {
                last.value.extend(raw);
                last.words = format!("{} {text}", last.words);
            }
            None => self.parsed.variants.push(Worded::new(raw.collect(), text)),
        }
        self.at = end;
        self.variant_end = Some(end);
        true
    }
}
