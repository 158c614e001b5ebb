//! The grammar of a question: every word of it is part of one of these, or a problem that is reported.
//!
//! ```text
//! question   = { work | folder | [on] device | [on] place | candidates | options | features | bound | filler | sign }
//! candidates = candidate { or candidate } | not filesystem { and filesystem } | filesystem not-behind
//! candidate  = filesystem { [with | and] option | on layer | with feature | without feature | other-form }
//! other-form = or ([with | without] option | value | (with | without) feature | on layer | plain) | or-not
//! options    = [both] option { option } { or [with] option } [or plain | or-not]      of every candidate
//! features   = [must | with | both | without | no-need] feature { and feature } [or-not | not-needed]
//!            | read-by system { and system } | price
//! device     = [number] [size] kind [with size] | path
//! bound      = metric below time | below percent slower | above rate | size of memory | before-time time
//! ```
//!
//! Phrases are those of `words.txt`, presets and models; docs/reference/questions.md describes them for users.

use fsverdict_stack::filesystem::registry;

use super::bounds::parse_number;
use super::lexicon::{Meaning, WordClass, WorkPlace};
use super::options::{looks_like_option, parse_option};
use super::parsed::{ParsedQuestion, QuestionBound, THROUGHPUT, Worded};
use super::parser::Parser;
use super::tokens::{Token, TokenKind};

/// Parses the tokens of a question.
pub(super) fn parse_question(tokens: &[Token]) -> ParsedQuestion {
    let mut parser = Parser::new(tokens);
    while parser.at < tokens.len() {
        let before = parser.at;
        parser.step();
        parser.at = parser.at.max(before + 1);
    }
    parser.resolve_features();
    parser.parsed
}

impl Parser<'_> {
    fn step(&mut self) {
        let at = self.at;
        let kind = self.tokens[at].kind;
        match kind {
            TokenKind::Stop | TokenKind::Gap => self.at += 1,
            TokenKind::Path => self.path(),
            TokenKind::Word if self.bound() || self.counted_device(false) => {}
            TokenKind::Word => {
                let class_end = self.longest_at(at, Meaning::class).map_or(at, |(end, _)| end);
                match self.content(at, false) {
                    Some((end, content)) if end >= class_end => self.take_content(end, content),
                    _ if class_end > at => self.connective(),
                    _ => self.option_or_unknown(),
                }
            }
        }
    }

    pub(super) fn take_content(&mut self, end: usize, content: Meaning) {
        let range = self.at..end;
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
            Meaning::Place(WorkPlace { device: None, cpu: None }) => {}
            Meaning::Place(_) if self.is_described_by(range.start) => {
                self.problem(range, "whether the work is done there is not clear: `on a laptop` says so");
            }
            Meaning::Place(place) => self.parsed.places.push(Worded::new(place, words)),
            Meaning::Device(model) | Meaning::DeviceBehindOn(model) => {
                let name = if model.is_empty() { words.clone() } else { model.to_owned() };
                self.parsed.devices.push(Worded::new(name, words));
                // `a disk of 2 TB`
                let at = self.skip_fillers(self.class_end(self.at, WordClass::With).unwrap_or(self.at));
                let size = self.size_at(at).filter(|_| self.bound_at(at, false).is_none());
                if let Some((end, size)) = size {
                    self.at = end;
                    self.parsed.device_size = Some(Worded::new(size, self.text(range.start..end)));
                }
                self.device_end = Some(self.at);
            }
            _ => {
                self.at = range.start;
                self.features();
            }
        }
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
        let Some((end, bound)) = self.bound_at(at, is_alone) else { return false };
        let words = self.text(at..end);
        self.at = end;
        let parsed = &mut self.parsed;
        let is_again = match bound {
            QuestionBound::Budget(time) => parsed.budget.replace(Worded::new(time, words)).is_some(),
            QuestionBound::Memory(size) => parsed.memory.replace(Worded::new(size, words)).is_some(),
            QuestionBound::Tolerance(share, is_price) => {
                self.price = self.price.take().or(is_price.then_some(at..end));
                parsed.tolerance.replace(Worded::new(share, words)).is_some()
            }
            QuestionBound::Limit(limit) => {
                parsed.limits.push(Worded::new(limit, words));
                parsed.limits.sort_by_key(|limit| limit.value.metric == THROUGHPUT);
                false
            }
        };
        if is_again {
            self.problem(at..end, "this is said twice");
        }
        true
    }

    /// `two hard disks`, `4 x 1 TB hdd`, `500 GB ssd`.
    pub(super) fn counted_device(&mut self, device_expected: bool) -> bool {
        let start = self.at;
        let mut at = start;
        let count =
            self.word(start).and_then(|word| parse_number(&word)).filter(|_| self.size_at(start).is_none());
        if count.is_some() {
            at += if self.is_word(start + 1, &["x"]) { 2 } else { 1 };
        }
        let size = self.size_at(at);
        let device_at = self.skip_fillers(size.map_or(at, |(end, _)| end));
        let Some((end, device @ (Meaning::Device(_) | Meaning::DeviceBehindOn(_)))) =
            self.content(device_at, device_expected).filter(|_| count.is_some() || size.is_some())
        else {
            return false;
        };
        self.at = device_at;
        self.take_content(end, device);
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

    fn option_or_unknown(&mut self) {
        if self.variant() {
            return;
        }
        let layer = self.layer_at(self.at);
        let end = layer.map_or(self.at + 1, |(end, _)| end);
        let word = self.text(self.at..end);
        let is_number = parse_number(&word.to_lowercase()).is_some()
            || word.starts_with(|letter: char| letter.is_ascii_digit());
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
            registry()
                .iter()
                .filter_map(|filesystem| parse_option(words, filesystem))
                .max_by_key(|(count, _)| *count)
        };
        let Some((count, options_here)) = options(&words) else { return false };
        let keys = options_here.keys();
        let end = self.skip_compression(at + count, &options_here);
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
