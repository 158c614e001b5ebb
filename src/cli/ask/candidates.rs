//! The candidates that a question names: filesystems, each with the options and layers that stand beside it.

use std::ops::Range;

use fsverdict_stack::filesystem::Filesystem;

use super::features::Feature;
use super::lexicon::{Meaning, WordClass, meanings};
use super::options::{OptionSet, parse_option, with_other_value};
use super::parsed::{NamedCandidate, Worded};
use super::parser::Parser;
use super::tokens::TokenKind;

const LUKS: &str = "luks2";

impl Parser<'_> {
    /// A filesystem, and all that stands beside it.
    pub(super) fn filesystem(&mut self, range: Range<usize>, filesystem: &'static Filesystem) {
        if let Some(end) = self.class_end(range.end, WordClass::NotBehind) {
            self.parsed.excluded.push(Worded::new(filesystem, self.text(range.start..end)));
            self.at = end;
            return;
        }
        self.at = range.end;
        let words = self.text(range);
        self.parsed.candidates.push(Worded::new(NamedCandidate::plain(filesystem), words));
        while self.at < self.tokens.len() && self.beside_candidate() {}
    }

    /// Changes the last candidate as the words up to `end` say.
    fn extend_last(&mut self, end: usize, change: impl FnOnce(&mut NamedCandidate)) -> bool {
        let words = self.text(self.at..end);
        if let Some(last) = self.parsed.candidates.last_mut() {
            change(&mut last.value);
            last.words = format!("{} {words}", last.words);
        }
        self.at = end;
        true
    }

    /// Another form of the last candidate's filesystem, by the words up to `end`.
    fn push_form(&mut self, end: usize, form: NamedCandidate) -> bool {
        let words = format!("… {}", self.text(self.at..end));
        self.parsed.candidates.push(Worded::new(form, words));
        self.at = end;
        true
    }

    /// Reads one thing that stands beside the last candidate. Returns whether there is one.
    fn beside_candidate(&mut self) -> bool {
        let at = self.at;
        let Some(last) = self.parsed.candidates.last().map(|named| named.value.clone()) else { return false };
        let is_again =
            |options: &OptionSet| options.keys().iter().any(|key| last.options.keys().contains(key));
        if self.tokens[at].kind == TokenKind::Stop {
            // `compress=zstd, compress=lzo`
            let start = self.class_end(at + 1, WordClass::Or).unwrap_or(at + 1);
            let option = self.option_at(start, last.filesystem).filter(|(_, options)| is_again(options));
            let Some((end, options)) = option.filter(|_| self.is_comma(at)) else { return false };
            return self.push_form(end, last.with_options(options));
        }
        if let Some(end) = self.class_end(at, WordClass::Both)
            && let Some((end, options)) = self.option_at(end, last.filesystem)
        {
            self.extend_last(end, |named| named.options.extend(&options));
            return self.push_form(end, last);
        }
        if let Some((end, options)) = self.option_at(at, last.filesystem) {
            return match is_again(&options) {
                true => self.push_form(end, last.with_options(options)),
                false => self.extend_last(end, |named| named.options.extend(&options)),
            };
        }
        let linked = self.any_class_end(at, &[WordClass::With, WordClass::And]);
        if let Some((end, options)) = linked.and_then(|link| self.option_at(link, last.filesystem)) {
            return self.extend_last(end, |named| named.options.extend(&options));
        }
        if let Some((end, layer)) = self.on_layer(at) {
            return self.extend_last(end, |named| named.layers.insert(0, layer));
        }
        self.feature_beside(&last) || self.other_form(&last)
    }

    fn on_layer(&self, at: usize) -> Option<(usize, &'static str)> {
        self.layer_at(self.class_end(at, WordClass::On)?)
    }

    /// The options of this filesystem that begin here, behind fillers or not, and where they end.
    pub(super) fn option_at(&self, at: usize, filesystem: &Filesystem) -> Option<(usize, OptionSet)> {
        let at = self.skip_fillers(at);
        let words = self.words(at);
        let first = *words.first()?;
        let is_written_as_option = first.contains(['=', '^']) || first.starts_with('-');
        // `btrfs ssd` is a device rather than an option of mount.
        let is_other = |meaning: &Meaning| !matches!(meaning, Meaning::Layer(_) | Meaning::Bound(_));
        let phrase_end = self.phrase_end(at, |meaning| !matches!(meaning, Meaning::Bound(_)));
        let is_phrase = meanings(first).iter().any(is_other) || phrase_end.is_some_and(|end| end > at + 1);
        if is_phrase && !is_written_as_option {
            return None;
        }
        let (count, options) = parse_option(&words, filesystem)?;
        Some((self.skip_compression(at + count, &options), options))
    }

    /// `with compression`, `without a journal`, `with encryption`: of this candidate alone, if another follows it.
    fn feature_beside(&mut self, last: &NamedCandidate) -> bool {
        let at = self.at;
        let with = self.class_end(at, WordClass::With);
        let gives = with.is_some();
        let Some(start) = with.or_else(|| self.negation_end(at)).map(|end| self.skip_fillers(end)) else {
            return false;
        };
        let noun = self.noun_at(start).filter(|(_, feature)| feature.is_comparable());
        let Some((end, feature)) = noun else { return false };
        let is_followed = self.is_followed_by_form(end, last);
        // `ext4 or xfs without encryption`: none of them has it.
        if !is_followed && (!gives || self.parsed.candidates.len() < 2) {
            return false;
        }
        if !is_followed {
            let can =
                |named: &Filesystem| feature.options(named, true).is_some_and(|options| !options.is_empty());
            let filesystems = self.parsed.candidates.iter().map(|named| named.value.filesystem);
            let is_only =
                filesystems.filter(|named| can(named)).all(|named| named.name == last.filesystem.name);
            if !is_only || feature == Feature::ENCRYPTION {
                self.problem(at..end, "whether all candidates or the last is meant is not clear: put a comma before it for all, or write `btrfs on luks`");
                return true;
            }
        }
        if feature == Feature::ENCRYPTION {
            return self.extend_last(end, |named| named.layers.extend(gives.then_some(LUKS)));
        }
        match feature.options(last.filesystem, gives) {
            Some(options) => self.extend_last(end, |named| named.options.extend(&options)),
            None => {
                let how = if gives { "with" } else { "without" };
                let advice = format!("{} cannot be had {how} {}", last.filesystem.name, feature.word);
                self.problem(at..end, advice);
                true
            }
        }
    }

    /// Whether `or` follows, and behind it another filesystem or another form of this one.
    fn is_followed_by_form(&self, at: usize, last: &NamedCandidate) -> bool {
        if self.class_end(at, WordClass::OrNot).is_some() {
            return true;
        }
        let comma = self.is_comma(at).then_some(at + 1);
        let or = self.class_end(comma.unwrap_or(at), WordClass::Or);
        let Some(link) = or.or(comma).map(|link| self.skip_fillers(link)) else { return false };
        let behind = self.class_end(link, WordClass::With).or_else(|| self.negation_end(link));
        let plain = self.class_end(link, WordClass::Plain).unwrap_or(link);
        self.is_filesystem(self.skip_fillers(plain))
            || self.option_at(behind.unwrap_or(link), last.filesystem).is_some()
            || behind.is_some_and(|end| self.noun_at(self.skip_fillers(end)).is_some())
    }

    /// `or with reflink=1`, `or 4096`, `or not`, `or without a journal`: the same filesystem in another form.
    fn other_form(&mut self, last: &NamedCandidate) -> bool {
        let or = self.class_end(self.at, WordClass::Or).map(|link| self.skip_fillers(link));
        if or.is_some_and(|link| self.is_filesystem(link)) {
            return false;
        }
        let or_plain = || {
            let end = self.or_plain_end(self.at).filter(|_| last.is_varied())?;
            Some((end, NamedCandidate::plain(last.filesystem)))
        };
        match or.and_then(|link| self.form_at(link, last)).or_else(or_plain) {
            Some((end, form)) => self.push_form(end, form),
            None => self.same_without(last),
        }
    }

    /// Behind `or`: another form of the last candidate, and where it ends.
    fn form_at(&self, link: usize, last: &NamedCandidate) -> Option<(usize, NamedCandidate)> {
        let with = self.class_end(link, WordClass::With);
        let without = self.negation_end(link);
        let value_at = with.unwrap_or(link);
        if let Some((end, options)) = self.option_at(value_at, last.filesystem) {
            return Some((end, last.with_options(options)));
        }
        let value = self.words(value_at).first().and_then(|word| with_other_value(&last.options, word));
        if let Some(options) = value {
            return Some((value_at + 1, last.with_options(options)));
        }
        if let Some((end, options)) = without.and_then(|end| self.option_at(end, last.filesystem)) {
            return Some((end, last.with_options(last.options.without(&options))));
        }
        if let Some((end, feature)) = without.or(with).and_then(|end| self.noun_at(self.skip_fillers(end))) {
            if feature == Feature::ENCRYPTION {
                let layers = if without.is_none() { vec![LUKS] } else { Vec::new() };
                return Some((end, NamedCandidate { layers, ..last.clone() }));
            }
            if let Some(options) = feature.options(last.filesystem, without.is_none()) {
                return Some((end, last.with_options(options)));
            }
        }
        let (end, layer) = self.on_layer(link)?;
        Some((end, NamedCandidate { layers: vec![layer], ..last.clone() }))
    }

    /// `ext4 with bigalloc or ext4 without`: the second is ext4 as it is made.
    fn same_without(&mut self, last: &NamedCandidate) -> bool {
        let is_same = |named: &Worded<NamedCandidate>| {
            named.value.filesystem.name == last.filesystem.name && !named.value.options.is_empty()
        };
        let is_plain = last.options.is_empty() && self.parsed.candidates.iter().any(is_same);
        let Some(end) = self.class_end(self.at, WordClass::Without).filter(|_| is_plain) else {
            return false;
        };
        let ends = self.skip_fillers(end) > end || self.ends_at(end);
        ends && self.extend_last(end, |_| {})
    }
}
