//! Words that connect others: `with`, `without`, `must`, `not`, `on`, `for`. One that connects nothing that is known is a problem.

use fsverdict_judgement::plan::RequiredProperty;

use super::bounds::{QuestionBound, parse_bound};
use super::features::Feature;
use super::grammar::Parser;
use super::lexicon::{Meaning, WordClass};
use super::parsed::Worded;
use super::requirements::FeatureUse;
use super::tokens::TokenKind;

impl Parser<'_> {
    /// A word that connects others, or means nothing.
    pub(super) fn connective(&mut self) {
        let at = self.at;
        let end_of = |class| self.class_end(at, class);
        let without = end_of(WordClass::Without).or(end_of(WordClass::Not));
        let uses = [
            (end_of(WordClass::NoNeed), FeatureUse::NotNeeded),
            (without, FeatureUse::Without),
            (end_of(WordClass::Must).or(end_of(WordClass::MayNeed)), FeatureUse::Required),
            (end_of(WordClass::Both).or(end_of(WordClass::With)), FeatureUse::Compared),
        ];
        if let Some(end) = end_of(WordClass::Not)
            && self.exclude(end)
        {
            return;
        }
        for (end, how) in uses {
            if let Some(list) = end.and_then(|end| self.feature_list(end)) {
                return self.use_features(at, &list, how);
            }
        }
        if let Some(end) = self.class_end(at, WordClass::Both) {
            return self.with_and_without(end);
        }
        if let Some(end) = without {
            let next = usize::from(!self.words(end).is_empty());
            return self.problem(
                at..end + next,
                "a negation stands directly before a filesystem or a feature: `not btrfs`, `without encryption`",
            );
        }
        if let Some(end) = self.class_end(at, WordClass::Must) {
            return self.must(end);
        }
        if let Some(end) = self.class_end(at, WordClass::ReadBy)
            && self.read_by(end)
        {
            return;
        }
        if let Some(end) = self.class_end(at, WordClass::On) {
            return self.on(end);
        }
        if let Some(end) = self.class_end(at, WordClass::Price) {
            self.price.get_or_insert(at..end);
            self.at = end;
            return;
        }
        if let Some(end) = self.class_end(at, WordClass::OrNot).filter(|_| self.variant_end == Some(at)) {
            self.at = end;
            return self.parsed.variants.push(Worded::new(Vec::new(), self.text(at..end)));
        }
        let stray = [WordClass::OrNot, WordClass::NotBehind, WordClass::NotNeeded, WordClass::NoNeed];
        match self.any_class_end(at, &stray) {
            Some(end) => self
                .problem(at..end, "this has to stand directly beside a filesystem, an option or a feature"),
            // Fillers, and connectives between parts.
            None => self.at += self.longest_at(at, Meaning::class).map_or(1, |(count, _)| count),
        }
    }

    /// `must` before a bound, or before systems that have to read it.
    fn must(&mut self, end: usize) {
        let system = self.class_end(end, WordClass::ReadBy).map(|system| self.skip_fillers(system));
        let bound = parse_bound(&self.words(self.skip_fillers(end)), false);
        let is_bound = bound.is_some_and(|(_, bound)| !matches!(bound, QuestionBound::Budget(_)));
        if is_bound || system.is_some_and(|system| self.noun_at(system).is_some()) {
            self.at = if is_bound { self.skip_fillers(end) } else { end };
            return;
        }
        self.problem(
            self.at..end,
            "`must` stands before a feature: `must encryption`, `must be readable on windows`",
        );
    }

    /// `with and without noatime`: options for every candidate, and none.
    fn with_and_without(&mut self, end: usize) {
        let start = self.at;
        self.at = self.skip_fillers(end);
        let before = self.parsed.variants.len();
        if self.at < self.tokens.len() && self.variant() {
            let words = self.text(start..end);
            self.parsed.variants.truncate(before + 1);
            return self.parsed.variants.push(Worded::new(Vec::new(), words));
        }
        self.problem(start..end, "this stands before a feature or an option: `with and without encryption`");
    }

    /// Filesystems behind a word that excludes them.
    fn exclude(&mut self, end: usize) -> bool {
        let start = self.at;
        let (mut next, mut last) = (self.skip_fillers(end), end);
        let mut all = Vec::new();
        while let Some((count, Meaning::Filesystem(filesystem))) = self.content(next, false) {
            all.push(filesystem);
            last = next + count;
            // `nor do I want xfs` begins another clause.
            next = if self.is_word(last, &["nor", "or", "and"]) {
                self.skip_fillers(last + 1)
            } else {
                self.tokens.len()
            };
        }
        let Some(filesystem) = all.last() else { return false };
        let has_option =
            self.option_at(self.class_end(last, WordClass::With).unwrap_or(last), filesystem).is_some();
        let goes_on =
            self.is_comma(last) && matches!(self.content(last + 1, false), Some((_, Meaning::Filesystem(_))));
        let words = self.text(start..last);
        self.at = last;
        if goes_on {
            self.problem(start..last, "whether the filesystems behind the comma are left out, too, is not clear; join them by `and`, or begin with those to try");
        } else if has_option {
            self.problem(start..last, "a filesystem is left out with all its options; name those to try");
        } else {
            self.parsed
                .excluded
                .extend(all.into_iter().map(|filesystem| Worded::new(filesystem, words.clone())));
        }
        true
    }

    /// `for windows and mac`.
    fn read_by(&mut self, end: usize) -> bool {
        let start = self.at;
        let (mut next, mut last) = (self.skip_fillers(end), end);
        let mut all = Vec::new();
        loop {
            match (self.noun_at(next), self.class_end(next, WordClass::Linux)) {
                (
                    Some((
                        count,
                        Feature::Property(system @ (RequiredProperty::Windows | RequiredProperty::Macos)),
                    )),
                    _,
                ) => {
                    all.push(system);
                    last = next + count;
                }
                (_, Some(end)) => last = end,
                _ => break,
            }
            let comma = usize::from(self.is_comma(last));
            let link = self.class_end(last + comma, WordClass::And).or((comma > 0).then_some(last + 1));
            next = self.skip_fillers(link.unwrap_or(self.tokens.len()));
        }
        if all.is_empty() {
            return false;
        }
        let words = self.text(start..last);
        self.at = last;
        match self.class_end(last, WordClass::Or).is_some_and(|end| self.noun_at(end).is_some()) {
            true => {
                self.problem(start..last, "one of several systems cannot be required; join them by `and`");
            }
            false => {
                self.parsed.required.extend(all.into_iter().map(|system| Worded::new(system, words.clone())));
            }
        }
        true
    }

    fn on(&mut self, end: usize) {
        let start = self.at;
        let mut next = self.skip_fillers(end);
        while self.tokens.get(next).is_some_and(|token| token.kind == TokenKind::Gap) {
            next = self.skip_fillers(next + 1);
        }
        if self.tokens.get(next).is_none_or(|token| token.kind == TokenKind::Stop) {
            return self.problem(start..end, "no device is named behind it");
        }
        self.at = next;
        if self.tokens[next].kind == TokenKind::Path || self.counted_device(true) {
            return;
        }
        match (self.content(next, true), self.layer_at(next)) {
            (Some((count, content)), _) if content.rank() == Some(0) => self.take_content(count, content),
            (_, Some((count, "luks1" | "luks2"))) => {
                self.at = next + count;
                let words = self.text(start..self.at);
                self.parsed.required.push(Worded::new(RequiredProperty::Encryption, words));
            }
            _ => {}
        }
    }
}
