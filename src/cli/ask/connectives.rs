//! Words that connect others: `with`, `without`, `must`, `not`, `on`, `for`. One that connects nothing that is known is a problem.

use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_stack::filesystem::Filesystem;

use super::features::{Feature, Wish};
use super::lexicon::{Meaning, WordClass};
use super::parsed::{QuestionBound, Worded};
use super::parser::Parser;
use super::tokens::TokenKind;

impl Parser<'_> {
    /// A word that connects others, or means nothing.
    pub(super) fn connective(&mut self) {
        let at = self.at;
        let end_of = |class| self.class_end(at, class);
        let without = self.negation_end(at);
        let wishes = [
            (end_of(WordClass::NoNeed), Wish::Unneeded),
            (without, Wish::Absent),
            (end_of(WordClass::Must).or(end_of(WordClass::MayNeed)), Wish::Required),
            (end_of(WordClass::Both).or(end_of(WordClass::With)), Wish::Compared),
        ];
        // `no need for zfs snapshots` excludes no ZFS.
        let not = end_of(WordClass::Not)
            .filter(|end| end_of(WordClass::NoNeed).is_none_or(|longer| longer <= *end));
        if not.is_some_and(|end| self.exclude(end)) {
            return;
        }
        for (end, wish) in wishes {
            if let Some(list) = end.and_then(|end| self.feature_list(end)) {
                return self.use_features(at, &list, wish);
            }
        }
        if let Some(end) = self.class_end(at, WordClass::Both) {
            return self.with_and_without(end);
        }
        if let Some(end) = without {
            let next = usize::from(self.word(end).is_some());
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
        if let Some(end) = self.or_plain_end(at).filter(|_| self.variant_end == Some(at)) {
            self.at = end;
            return self.parsed.variants.push(Worded::new(Vec::new(), self.text(at..end)));
        }
        // `noatime or ext4`, `plain ext4`
        let or = self.class_end(at, WordClass::Or).filter(|_| self.variant_end == Some(at));
        let plain = self.class_end(or.unwrap_or(at), WordClass::Plain);
        if let Some(end) = plain.or(or).filter(|end| self.is_filesystem(self.skip_fillers(*end))) {
            self.plain.get_or_insert(at..end);
        }
        let stray = [WordClass::OrNot, WordClass::NotBehind, WordClass::NotNeeded, WordClass::NoNeed];
        match self.any_class_end(at, &stray) {
            Some(end) => self
                .problem(at..end, "this has to stand directly beside a filesystem, an option or a feature"),
            // Fillers, and connectives between parts.
            None => self.at = self.longest_at(at, Meaning::class).map_or(at + 1, |(end, _)| end),
        }
    }

    /// `must` before a bound, or before systems that have to read it.
    fn must(&mut self, end: usize) {
        let system = self.class_end(end, WordClass::ReadBy).map(|system| self.skip_fillers(system));
        let bound = self.bound_at(self.skip_fillers(end), false);
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

    fn filesystem_at(&self, at: usize) -> Option<(usize, &'static Filesystem)> {
        match self.content(at, false)? {
            (end, Meaning::Filesystem(filesystem)) => Some((end, filesystem)),
            _ => None,
        }
    }

    /// Filesystems behind a word that excludes them.
    fn exclude(&mut self, end: usize) -> bool {
        let start = self.at;
        let (mut next, mut last) = (self.skip_fillers(end), end);
        let mut all = Vec::new();
        while let Some((end, filesystem)) = self.filesystem_at(next) {
            all.push(filesystem);
            last = end;
            // `nor do I want xfs` begins another clause.
            let is_list = self.is_word(last, &["nor", "or", "and"]);
            next = if is_list { self.skip_fillers(last + 1) } else { self.tokens.len() };
        }
        let Some(filesystem) = all.last() else { return false };
        let has_option =
            self.option_at(self.class_end(last, WordClass::With).unwrap_or(last), filesystem).is_some();
        let words = self.text(start..last);
        self.at = last;
        if self.is_comma(last) && self.filesystem_at(last + 1).is_some() {
            self.problem(start..last, "whether the filesystems behind the comma are left out, too, is not clear; join them by `and`, or begin with those to try");
        } else if has_option {
            self.problem(start..last, "a filesystem is left out with all its options; name those to try");
        } else {
            self.parsed.excluded.extend(all.into_iter().map(|entry| Worded::new(entry, words.clone())));
        }
        true
    }

    /// `for windows and mac`.
    fn read_by(&mut self, end: usize) -> bool {
        let start = self.at;
        let (mut next, mut last) = (self.skip_fillers(end), end);
        let mut all = Vec::new();
        let is_system = |feature: &Feature| {
            matches!(feature.property, Some(RequiredProperty::Windows | RequiredProperty::Macos))
        };
        loop {
            let system = self.noun_at(next).filter(|(_, feature)| is_system(feature));
            match (system, self.class_end(next, WordClass::Linux)) {
                (Some((end, system)), _) => {
                    all.push(system);
                    last = end;
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
        if self.class_end(last, WordClass::Or).is_some_and(|end| self.noun_at(end).is_some()) {
            self.problem(start..last, "one of several systems cannot be required; join them by `and`");
            return true;
        }
        for system in all {
            self.parsed.wish(Wish::Required, system, &words);
        }
        true
    }

    fn on(&mut self, end: usize) {
        let start = self.at;
        let mut next = self.skip_fillers(end);
        while self.tokens.get(next).is_some_and(|token| token.kind == TokenKind::Gap) {
            next = self.skip_fillers(next + 1);
        }
        if self.ends_at(next) {
            return self.problem(start..end, "no device is named behind it");
        }
        self.at = next;
        if self.tokens[next].kind == TokenKind::Path || self.counted_device(true) {
            return;
        }
        match (self.content(next, true), self.layer_at(next)) {
            (Some((end, content)), _) if content.rank() == Some(0) => self.take_content(end, content),
            (_, Some((end, "luks1" | "luks2"))) => {
                self.at = end;
                self.parsed.wish(Wish::Required, Feature::ENCRYPTION, self.text(start..end));
            }
            _ => {}
        }
    }
}
