//! The parser of a question, and its look-ahead: phrases of each class, and phrases that stand for something.

use std::ops::Range;

use fsverdict_disk::device::built_in;

use super::features::{Feature, ListedFeature};
use super::lexicon::{MOST_WORDS, Meaning, WordClass, meanings, normalize};
use super::options::OptionSet;
use super::parsed::{ParsedQuestion, Problem};
use super::tokens::{Token, TokenKind};

pub(super) struct Parser<'a> {
    pub(super) tokens: &'a [Token],
    /// For each token, the meanings of the phrases that begin there: of one word, of two, and so on.
    phrases: Vec<Vec<&'static [Meaning]>>,
    pub(super) at: usize,
    pub(super) parsed: ParsedQuestion,
    /// Words that ask for a price.
    pub(super) price: Option<Range<usize>>,
    /// `plain` before a filesystem, and `or` between options for every candidate and a filesystem.
    pub(super) plain: Option<Range<usize>>,
    /// Features without a connective.
    pub(super) bare: Vec<ListedFeature>,
    /// Where the options for every candidate end that were read last.
    pub(super) variant_end: Option<usize>,
    /// Where the device ends that was read last.
    pub(super) device_end: Option<usize>,
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
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Parser {
            tokens,
            phrases: (0..tokens.len()).map(|at| phrases_from(&tokens[at..])).collect(),
            at: 0,
            parsed: ParsedQuestion::default(),
            price: None,
            plain: None,
            bare: Vec::new(),
            variant_end: None,
            device_end: None,
        }
    }

    /// The words from here to the next sign or path.
    pub(super) fn words(&self, at: usize) -> Vec<&'a str> {
        let tokens = self.tokens;
        let words = tokens.iter().skip(at).take_while(|token| token.kind == TokenKind::Word);
        words.map(|token| token.text.as_str()).collect()
    }

    /// The word here without capitals; `None` for a sign or a path.
    pub(super) fn word(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
        Some(token.text.to_lowercase())
    }

    pub(super) fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.word(at).is_some_and(|word| words.contains(&word.as_str()))
    }

    pub(super) fn is_comma(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Stop && token.text == ",")
    }

    /// Whether a clause ends here.
    pub(super) fn ends_at(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|token| token.kind == TokenKind::Stop)
    }

    /// Where the longest phrase ends that begins here and has such a meaning, and the meaning.
    pub(super) fn longest_at<T>(&self, at: usize, has: impl Fn(&Meaning) -> Option<T>) -> Option<(usize, T)> {
        let mut phrases = self.phrases.get(at)?.iter().enumerate().rev();
        phrases.find_map(|(before, meanings)| Some((at + before + 1, meanings.iter().find_map(&has)?)))
    }

    /// Where the longest phrase ends that begins here and has such a meaning.
    pub(super) fn phrase_end(&self, at: usize, is_meant: impl Fn(&Meaning) -> bool) -> Option<usize> {
        self.longest_at(at, |meaning| is_meant(meaning).then_some(())).map(|(end, ())| end)
    }

    /// The words of a range, without signs and words that are left out.
    pub(super) fn text(&self, range: Range<usize>) -> String {
        let is_text = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::Path);
        let words = self.tokens[range].iter().filter(is_text).map(|token| token.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Where the longest phrase of this class ends that begins here.
    pub(super) fn class_end(&self, at: usize, class: WordClass) -> Option<usize> {
        self.phrase_end(at, |meaning| meaning.class() == Some(class))
    }

    /// The end of the longest phrase of the first of these classes that begins here.
    pub(super) fn any_class_end(&self, at: usize, classes: &[WordClass]) -> Option<usize> {
        classes.iter().find_map(|class| self.class_end(at, *class))
    }

    /// Where `without` or `not` ends that begins here.
    pub(super) fn negation_end(&self, at: usize) -> Option<usize> {
        self.any_class_end(at, &[WordClass::Without, WordClass::Not])
    }

    pub(super) fn skip_fillers(&self, mut at: usize) -> usize {
        while let (Some(end), None) = (self.class_end(at, WordClass::Filler), self.content(at, false)) {
            at = end;
        }
        at
    }

    /// The longest phrase that begins here and stands for something by itself: where it ends, and its meaning. Of phrases of the same length the device
    /// comes before the feature, and the feature before the work.
    pub(super) fn content(&self, at: usize, device_expected: bool) -> Option<(usize, Meaning)> {
        let rank = |meaning: &&Meaning| match meaning {
            Meaning::DeviceBehindOn(_) if !device_expected => None,
            other => other.rank(),
        };
        let mut phrases = self.phrases.get(at)?.iter().enumerate().rev();
        let longest = phrases.find_map(|(before, meanings)| {
            let best = meanings.iter().filter(|meaning| rank(meaning).is_some()).min_by_key(rank)?;
            Some((at + before + 1, *best))
        });
        longest.or_else(|| {
            // A device with its state or size: `sata-ssd:fresh`, `image:8GiB`.
            let (name, _) = self.tokens[at].text.split_once(':')?;
            let is_model = || built_in().iter().any(|model| normalize(model.name) == normalize(name));
            let is_device = self.word(at).is_some() && (["model", "image"].contains(&name) || is_model());
            is_device.then_some((at + 1, Meaning::Device("")))
        })
    }

    pub(super) fn layer_at(&self, at: usize) -> Option<(usize, &'static str)> {
        self.longest_at(at, |meaning| if let Meaning::Layer(layer) = meaning { Some(*layer) } else { None })
    }

    pub(super) fn is_filesystem(&self, at: usize) -> bool {
        self.phrase_end(at, |meaning| matches!(meaning, Meaning::Filesystem(_))).is_some()
    }

    /// Where `compression` ends behind its algorithm: `zstd compression`.
    pub(super) fn skip_compression(&self, at: usize, options: &OptionSet) -> usize {
        let is_compression = options.keys().iter().any(|key| key.contains("compress"));
        match self.noun_at(at) {
            Some((end, Feature::COMPRESSION)) if is_compression => end,
            _ => at,
        }
    }

    /// Whether `of` stands before this word, and no device before that: a backup of a laptop is none on it.
    pub(super) fn is_described_by(&self, mut at: usize) -> bool {
        while at > 0 && self.is_word(at - 1, &["a", "an", "the", "my", "our", "your"]) {
            at -= 1;
        }
        at > 0 && self.is_word(at - 1, &["of", "from"]) && self.device_end != Some(at - 1)
    }

    /// Where `or not` or `or default` ends that begins here, if no filesystem follows.
    pub(super) fn or_plain_end(&self, at: usize) -> Option<usize> {
        let or = self.class_end(at, WordClass::Or).map(|link| self.skip_fillers(link));
        let plain = or.and_then(|link| self.class_end(link, WordClass::Plain));
        plain.filter(|end| !self.is_filesystem(*end)).or_else(|| self.class_end(at, WordClass::OrNot))
    }

    pub(super) fn problem(&mut self, range: Range<usize>, advice: impl Into<String>) {
        let words = self.text(range.clone());
        self.at = range.end;
        self.parsed.problems.push(Problem { words, range, advice: advice.into() });
    }
}
