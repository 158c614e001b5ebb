//! Which filesystems a question is between, with which options, and which it leaves out.

use fsverdict_stack::filesystem::{self, Filesystem};

use super::excluding::{EXCLUDED_BEHIND, excluder_before};
use super::features::{Feature, FoundFeature, HeardOptions, feature_called, feature_here};
use super::misspelt::filesystem_meant;
use super::sentence::{Said, Sentence, is_in};
use super::vocabulary::{ALSO_CALLED, COMPARING, NOT_TRIED};

/// A filesystem that was named, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeardCandidate {
    pub(super) filesystem: &'static Filesystem,
    pub(super) options: HeardOptions,
}

/// All that was said of candidates.
#[derive(Debug, Default)]
pub(super) struct HeardCandidates {
    pub(super) named: Vec<Said<HeardCandidate>>,
    /// Options for every candidate that has them, each a variant of its own where there are several.
    pub(super) options: Vec<Said<HeardOptions>>,
    /// Features that are tried both with and without.
    pub(super) compared: Vec<Said<Feature>>,
    pub(super) excluded: Vec<Said<&'static str>>,
    /// Layers that are one side of a choice, as names of layers begin: `lvm:thin`.
    pub(super) layers: Vec<Said<&'static str>>,
    /// The words that exclude encryption, if the question has any.
    pub(super) unencrypted: Option<Said<()>>,
    /// Filesystems that are not tried.
    pub(super) not_tried: Vec<String>,
    /// Features or options that a named filesystem cannot have.
    pub(super) impossible: Vec<String>,
}

#[cfg(test)]
impl HeardCandidate {
    /// As it is written on command lines.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.filesystem.name, self.options.shown()).trim_end().to_owned()
    }
}

/// Takes filesystems, their options and compared features out of the sentence. If the question `is_priced`, every named
/// feature is compared with its lack.
pub(super) fn hear_candidates(sentence: &mut Sentence, is_priced: bool) -> HeardCandidates {
    let mut scan = CandidateScan { heard: HeardCandidates::default(), last: None, is_priced };
    let mut at = 0;
    while at < sentence.len() {
        at = scan.step(sentence, at);
    }
    let mut heard = scan.heard;
    combine(&mut heard);
    if heard.named.len() + heard.options.len() > 1 {
        compared_by(sentence);
    }
    heard
}

/// The last part of the sentence that alternatives behind it can vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastSaid {
    Filesystem,
    Option,
}

pub(super) struct CandidateScan {
    pub(super) heard: HeardCandidates,
    pub(super) last: Option<(LastSaid, usize)>,
    pub(super) is_priced: bool,
}

impl CandidateScan {
    /// Looks at one place, and gives the next.
    fn step(&mut self, sentence: &mut Sentence, at: usize) -> usize {
        if !sentence.is_free(at) {
            return at + 1;
        }
        if let Some(next) = self.filesystem(sentence, at) {
            return next;
        }
        if let Some(next) = self.program_setting(sentence, at) {
            return next;
        }
        if let Some(name) = filesystem_meant(&sentence.text(at)) {
            let word = sentence.take(at..at + 1);
            self.heard.impossible.push(format!("{word} ({name}?)"));
            return at + 1;
        }
        if let Some(next) = self.without_option(sentence, at) {
            return next;
        }
        if let Some(next) = self.with_and_without_option(sentence, at) {
            return next;
        }
        if let Some(next) = self.default_side(sentence, at) {
            return next;
        }
        if let Some(found) = feature_here(sentence, at, self.is_priced) {
            return self.feature(sentence, &found);
        }
        if let Some((end, options)) = self.option(sentence, at) {
            let is_alternative = self.is_alternative(sentence, at, &options);
            let is_of_all = !is_alternative && sentence.begins_clause(at) && !self.heard.named.is_empty();
            let words = sentence.take(at..end);
            if is_of_all {
                self.heard.options.push(Said::new(options, words.clone()));
                if self.is_priced {
                    self.heard.options.push(Said::new(HeardOptions::default(), words));
                }
                self.last = None;
                return end;
            }
            self.add_options(options, words.clone(), is_alternative);
            // What an option costs shows beside candidates without it.
            if self.is_priced && !is_alternative {
                self.add_options(HeardOptions::default(), words, true);
            }
            self.last = Some((LastSaid::Option, end));
            return end;
        }
        at + 1
    }

    fn filesystem(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        let said = sentence.text(at);
        // `mkfs.ext4 -T largefile`
        let said = said.strip_prefix("mkfs.").map_or(said.clone(), str::to_owned);
        let name =
            ALSO_CALLED.iter().find(|(other, _)| *other == said).map_or(said.as_str(), |(_, name)| name);
        let known = filesystem::registry().iter().copied().find(|known| known.name == name);
        if known.is_none() && !is_in(name, NOT_TRIED) {
            return None;
        }
        // UFS is a filesystem of BSD, and the flash of a telephone.
        if name == "ufs"
            && (0..sentence.len()).any(|at| sentence.is(at, "storage flash phone phones phone's android"))
        {
            return None;
        }
        let is_listed = matches!(self.last, Some((LastSaid::Filesystem, last)) if last + 2 == at)
            && sentence.is_before(at, "and or nor");
        let goes_on = is_listed
            && self
                .heard
                .excluded
                .last()
                .is_some_and(|last| last.words.to_lowercase().ends_with(&sentence.text(at - 2)));
        let words = sentence.take(at..at + 1);
        let excluder = excluder_before(sentence, at).or(goes_on.then(|| at - 1..at));
        if let Some(excluder) = excluder {
            let before = excluder.start;
            let words = format!("{} {words}", sentence.take(excluder));
            if before >= 1 && sentence.is(before - 1, "but") {
                sentence.pass_over(before - 1..before);
            }
            self.heard.excluded.extend(known.map(|known| Said::new(known.name, words)));
        } else if let Some(behind) = sentence.find_phrase(at + 1, EXCLUDED_BEHIND) {
            let words = format!("{words} {}", sentence.take(behind));
            self.heard.excluded.extend(known.map(|known| Said::new(known.name, words)));
        } else if let Some(filesystem) = known {
            let candidate = HeardCandidate { filesystem, options: HeardOptions::default() };
            self.heard.named.push(Said::new(candidate, words));
        } else {
            self.heard.not_tried.push(said);
        }
        self.last = Some((LastSaid::Filesystem, at));
        Some(at + 1)
    }

    /// `ext4 without a journal or ext4 with journal`: the second is ext4 as it is made.
    fn default_side(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        let from = if sentence.is(at, "with") { at + 1 } else { at };
        let from = if sentence.is(from, "a an the") { from + 1 } else { from };
        let (range, feature, has) = feature_called(sentence, from)?;
        let choice = feature.choice().filter(|_| has && from > at)?;
        let (last, before) = self.heard.named.split_last()?;
        let lacks = |said: &&Said<HeardCandidate>| {
            said.value.filesystem.name == last.value.filesystem.name
                && said.value.options.choice == Some((choice, false))
        };
        (last.value.options.is_empty() && before.iter().any(|said| lacks(&said))).then_some(())?;
        let words = sentence.take(at..range.end);
        self.add_options(HeardOptions::default(), words, false);
        Some(range.end)
    }

    /// `-c fsync=off` is a setting of a database, which a question cannot vary.
    fn program_setting(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        (sentence.is(at, "-c") && sentence.text(at + 1).contains('=')).then(|| {
            let words = sentence.take(at..at + 2);
            self.heard.impossible.push(format!("{words} (a setting of the program)"));
            at + 2
        })
    }

    fn feature(&mut self, sentence: &mut Sentence, found: &FoundFeature) -> usize {
        let end = found.range.end;
        let words = sentence.take(found.range.clone());
        let current = self.heard.named.last().map(|said| said.value.filesystem);
        let Some(gives) = found.wanted else {
            if !self.heard.compared.iter().any(|said| said.value == found.feature) {
                self.heard.compared.push(Said::new(found.feature, words));
            }
            return end;
        };
        match (found.options(current, gives), found.feature) {
            (Some(options), _) => {
                self.add_options(options, words, false);
                self.last = Some((LastSaid::Option, end));
            }
            (None, Feature::Encryption) => self.heard.unencrypted = Some(Said::new((), words)),
            // Nothing has to be turned off that it does not have: `compress=zstd vs no compression`.
            (None, Feature::Compression) if !gives => {
                if sentence.is_before(found.range.start, COMPARING) {
                    self.add_options(HeardOptions::default(), words, true);
                }
            }
            (None, feature) => {
                let of = current.map_or("no filesystem here", |filesystem| filesystem.name);
                let (with, word) = (if gives { "with" } else { "without" }, feature.word());
                self.heard.impossible.push(format!("{of} {with} {word}"));
            }
        }
        end
    }
}

/// `noatime or relatime … on ext4`: the filesystem in each of the variants that were named before it.
fn combine(heard: &mut HeardCandidates) {
    if heard.named.is_empty() || heard.options.is_empty() {
        dedup(&mut heard.named);
        return;
    }
    let mut all = Vec::new();
    for Said { value: HeardCandidate { filesystem, options }, words } in &heard.named {
        for variant in heard.options.iter().filter(|variant| variant.value.are_of(filesystem)) {
            let both = HeardCandidate { filesystem, options: options.and(&variant.value) };
            all.push(Said::new(both, format!("{} {words}", variant.words)));
        }
        if !heard.options.iter().any(|variant| variant.value.are_of(filesystem)) {
            all.push(Said::new(HeardCandidate { filesystem, options: options.clone() }, words.clone()));
        }
    }
    heard.named = all;
    heard.options.clear();
    dedup(&mut heard.named);
}

fn dedup(named: &mut Vec<Said<HeardCandidate>>) {
    let mut distinct: Vec<Said<HeardCandidate>> = Vec::new();
    for one in named.drain(..) {
        if !distinct.iter().any(|other| other.value == one.value) {
            distinct.push(one);
        }
    }
    *named = distinct;
}

/// Passes over words that compare the named candidates.
fn compared_by(sentence: &mut Sentence) {
    for at in 0..sentence.len() {
        for phrase in ["compared to", "compared with", "slower than", "faster than", "better than"] {
            if let Some(range) = sentence.find_phrase(at, &[phrase]) {
                sentence.pass_over(range);
            }
        }
        if sentence.is(at, "against compared comparing compare") {
            sentence.pass_over(at..at + 1);
        }
    }
}
