//! The candidates that a question names: filesystems, each with the options and layers that stand beside it.

use std::ops::Range;

use fsverdict_stack::filesystem::Filesystem;

use super::features::Feature;
use super::grammar::Parser;
use super::lexicon::{Meaning, WordClass, meanings};
use super::options::{OptionSet, parse_option, with_other_value};
use super::parsed::{NamedCandidate, Worded};
use super::tokens::TokenKind;

impl Parser<'_> {
    /// A filesystem, and all that stands beside it.
    pub(super) fn filesystem(&mut self, range: Range<usize>, filesystem: &'static Filesystem) {
        let words = self.text(range.clone());
        if let Some(end) = self.class_end(range.end, WordClass::NotBehind) {
            let words = self.text(range.start..end);
            self.parsed.excluded.push(Worded::new(filesystem, words));
            self.at = end;
            return;
        }
        self.at = range.end;
        self.push_candidate(
            NamedCandidate { filesystem, options: OptionSet::default(), layers: Vec::new() },
            words,
        );
        while self.at < self.tokens.len() && self.beside_candidate() {}
    }

    fn push_candidate(&mut self, candidate: NamedCandidate, words: String) {
        self.parsed.candidates.push(Worded::new(candidate, words));
    }

    fn last(&self) -> Option<&NamedCandidate> {
        self.parsed.candidates.last().map(|one| &one.value)
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

    /// Another candidate of the same filesystem.
    fn push_alternative(&mut self, end: usize, options: OptionSet, layers: Vec<&'static str>) -> bool {
        let words = format!("… {}", self.text(self.at..end));
        if let Some(filesystem) = self.last().map(|last| last.filesystem) {
            self.push_candidate(NamedCandidate { filesystem, options, layers }, words);
        }
        self.at = end;
        true
    }

    /// Reads one thing that stands beside the last candidate. Returns whether there is one.
    fn beside_candidate(&mut self) -> bool {
        let at = self.at;
        let Some(last) = self.last().cloned() else { return false };
        if self.tokens[at].kind == TokenKind::Stop {
            return self.repeated_option(&last);
        }
        if let Some(end) = self.class_end(at, WordClass::Both)
            && let Some((end, options)) = self.option_at(end, last.filesystem)
        {
            self.extend_last(end, |one| one.options.extend(&options));
            return self.push_alternative(end, last.options, last.layers);
        }
        let linked =
            [WordClass::With, WordClass::And].into_iter().find_map(|class| self.class_end(at, class));
        for start in [Some(at), linked].into_iter().flatten() {
            if let Some((end, options)) = self.option_at(start, last.filesystem) {
                let keys = last.options.keys();
                return match start == at && options.keys().iter().any(|key| keys.contains(key)) {
                    // `compress=zstd compress=lzo`
                    true => self.push_alternative(end, options, last.layers),
                    false => self.extend_last(end, |one| one.options.extend(&options)),
                };
            }
        }
        if let Some(end) = self.class_end(at, WordClass::On)
            && let Some((count, layer)) = self.layer_at(end)
        {
            return self.extend_last(end + count, |one| one.layers.insert(0, layer));
        }
        self.feature_beside(&last) || self.alternative(&last)
    }

    /// The options of this filesystem that begin here, behind fillers or not, and where they end.
    pub(super) fn option_at(&self, at: usize, filesystem: &Filesystem) -> Option<(usize, OptionSet)> {
        let at = self.skip_fillers(at);
        let words = self.words(at);
        let first = *words.first()?;
        let is_written_as_option = first.contains(['=', '^']) || first.starts_with('-');
        // `btrfs ssd` is a device rather than an option of mount.
        let has_meaning = meanings(first).iter().any(|meaning| !matches!(meaning, Meaning::Layer(_)));
        if !is_written_as_option
            && (has_meaning || self.longest_at(at, |_| Some(())).is_some_and(|(count, ())| count > 1))
        {
            return None;
        }
        let (count, options) = parse_option(&words, filesystem)?;
        let mut end = at + count;
        // `zstd compression`
        if let Some((count, Feature::Compression)) =
            self.noun_at(end).filter(|_| options.keys().iter().any(|key| key.contains("compress")))
        {
            end += count;
        }
        Some((end, options))
    }

    /// Behind a comma: another value of an option that the candidate has.
    fn repeated_option(&mut self, last: &NamedCandidate) -> bool {
        if self.tokens[self.at].text != "," || last.options.is_empty() {
            return false;
        }
        let after = self.at + 1;
        let start = self.class_end(after, WordClass::Or).unwrap_or(after);
        match self.option_at(start, last.filesystem) {
            Some((end, options)) if options.keys().iter().any(|key| last.options.keys().contains(key)) => {
                self.push_alternative(end, options, last.layers.clone())
            }
            _ => false,
        }
    }

    /// `with compression`, `without a journal`, `with encryption`: of this candidate alone, if another follows it.
    fn feature_beside(&mut self, last: &NamedCandidate) -> bool {
        let at = self.at;
        let with = self.class_end(at, WordClass::With);
        let gives = with.is_some();
        let negated =
            || self.class_end(at, WordClass::Without).or_else(|| self.class_end(at, WordClass::Not));
        let Some(start) = with.or_else(negated).map(|end| self.skip_fillers(end)) else { return false };
        let Some((count, feature)) = self.noun_at(start).filter(|(_, feature)| feature.is_comparable())
        else {
            return false;
        };
        let end = start + count;
        let is_listed = self.parsed.candidates.len() > 1;
        let is_followed = self.is_followed_by_alternative(end, last);
        if !is_listed && !is_followed {
            return false;
        }
        if !is_followed && gives {
            let can = |one: &Worded<NamedCandidate>| {
                feature == Feature::ENCRYPTION
                    || feature.options(one.value.filesystem, true).is_some_and(|options| !options.is_empty())
            };
            let is_only = self
                .parsed
                .candidates
                .iter()
                .filter(|one| can(one))
                .all(|one| one.value.filesystem.name == last.filesystem.name);
            if !is_only || feature == Feature::ENCRYPTION {
                self.problem(at..end, "whether all candidates or the last is meant is not clear: put a comma before it for all, or write `btrfs on luks`");
                return true;
            }
        }
        if !is_followed && !gives {
            // `ext4 or xfs without encryption`: none of them has it.
            return false;
        }
        if feature == Feature::ENCRYPTION {
            return self.extend_last(end, |one| one.layers.extend(gives.then_some("luks2")));
        }
        match feature.options(last.filesystem, gives) {
            Some(options) => self.extend_last(end, |one| one.options.extend(&options)),
            None => {
                let how = if gives { "with" } else { "without" };
                self.problem(
                    at..end,
                    format!("{} cannot be had {how} {}", last.filesystem.name, feature.word()),
                );
                true
            }
        }
    }

    /// Whether `or` follows, and behind it another filesystem or another form of this one.
    fn is_followed_by_alternative(&self, at: usize, last: &NamedCandidate) -> bool {
        let is_filesystem = |at: usize| {
            let at = self.skip_fillers(self.class_end(at, WordClass::Plain).unwrap_or(at));
            self.longest_at(at, |meaning| matches!(meaning, Meaning::Filesystem(_)).then_some(())).is_some()
        };
        if self.class_end(at, WordClass::OrNot).is_some() {
            return true;
        }
        let is_comma = self.tokens.get(at).is_some_and(|token| token.text == ",");
        let link = if is_comma {
            Some(self.class_end(at + 1, WordClass::Or).unwrap_or(at + 1))
        } else {
            self.class_end(at, WordClass::Or)
        };
        link.is_some_and(|link| {
            let link = self.skip_fillers(link);
            let behind = [WordClass::With, WordClass::Without, WordClass::Not]
                .into_iter()
                .find_map(|class| self.class_end(link, class));
            is_filesystem(link)
                || self.option_at(behind.unwrap_or(link), last.filesystem).is_some()
                || behind.is_some_and(|end| self.noun_at(self.skip_fillers(end)).is_some())
        })
    }

    /// `or with reflink=1`, `or 4096`, `or not`, `or without a journal`: the same filesystem in another form.
    fn alternative(&mut self, last: &NamedCandidate) -> bool {
        let at = self.at;
        let is_varied = !last.options.is_empty() || !last.layers.is_empty();
        if let Some(link) = self.class_end(at, WordClass::Or) {
            let link = self.skip_fillers(link);
            let is_filesystem = |at: usize| {
                self.longest_at(at, |meaning| matches!(meaning, Meaning::Filesystem(_)).then_some(()))
                    .is_some()
            };
            if is_filesystem(link) {
                return false;
            }
            let with = self.class_end(link, WordClass::With);
            let without =
                self.class_end(link, WordClass::Without).or_else(|| self.class_end(link, WordClass::Not));
            if let Some((end, options)) = self.option_at(with.unwrap_or(link), last.filesystem) {
                return self.push_alternative(end, options, last.layers.clone());
            }
            let value_at = with.unwrap_or(link);
            if let Some(options) =
                self.words(value_at).first().and_then(|word| with_other_value(&last.options, word))
            {
                return self.push_alternative(value_at + 1, options, last.layers.clone());
            }
            if let Some((end, options)) = without.and_then(|end| self.option_at(end, last.filesystem)) {
                let is_left = |item: &String| !options.mount.contains(item) && !options.mkfs.contains(item);
                let keep = |items: &[String]| items.iter().filter(|item| is_left(item)).cloned().collect();
                let kept = OptionSet { mkfs: keep(&last.options.mkfs), mount: keep(&last.options.mount) };
                return self.push_alternative(end, kept, last.layers.clone());
            }
            if let Some(noun_at) = without.or(with).map(|end| self.skip_fillers(end))
                && let Some((count, feature)) = self.noun_at(noun_at)
            {
                if feature == Feature::ENCRYPTION {
                    let layers = if without.is_none() { vec!["luks2"] } else { Vec::new() };
                    return self.push_alternative(noun_at + count, last.options.clone(), layers);
                }
                if let Some(options) = feature.options(last.filesystem, without.is_none()) {
                    return self.push_alternative(noun_at + count, options, last.layers.clone());
                }
            }
            let layer_at = self.class_end(link, WordClass::On);
            if let Some((end, (count, layer))) = layer_at.and_then(|end| Some((end, self.layer_at(end)?))) {
                return self.push_alternative(end + count, last.options.clone(), vec![layer]);
            }
            if let Some(end) =
                self.class_end(link, WordClass::Plain).filter(|end| is_varied && !is_filesystem(*end))
            {
                return self.push_alternative(end, OptionSet::default(), Vec::new());
            }
        }
        match self.class_end(at, WordClass::OrNot).filter(|_| is_varied) {
            Some(end) => self.push_alternative(end, OptionSet::default(), Vec::new()),
            None => self.same_without(last),
        }
    }

    /// `ext4 with bigalloc or ext4 without`: the second is ext4 as it is made.
    fn same_without(&mut self, last: &NamedCandidate) -> bool {
        let is_same = |one: &Worded<NamedCandidate>| {
            one.value.filesystem.name == last.filesystem.name && !one.value.options.is_empty()
        };
        let is_plain = last.options.is_empty() && self.parsed.candidates.iter().any(is_same);
        let Some(end) = self.class_end(self.at, WordClass::Without).filter(|_| is_plain) else {
            return false;
        };
        let ends = self.skip_fillers(end) > end
            || end >= self.tokens.len()
            || self.tokens[end].kind == TokenKind::Stop;
        ends && self.extend_last(end, |_| {})
    }
}
