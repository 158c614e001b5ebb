//! The features of a question: which are required, compared, left out or not needed, by the words beside them.

use fsverdict_judgement::plan::RequiredProperty;

use super::features::Feature;
use super::grammar::Parser;
use super::lexicon::{Meaning, WordClass, WorkKind, meanings};
use super::options::{OptionSet, parse_all};
use super::parsed::{FeatureForm, ListedFeature, NamedCandidate, Problem, Worded};

/// Features that are listed with `and`, `or`, `nor`.
pub(super) struct FeatureList {
    all: Vec<ListedFeature>,
    end: usize,
    has_or: bool,
}

/// The words beside features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureUse {
    Required,
    Compared,
    Without,
    NotNeeded,
}

impl Parser<'_> {
    /// Features from here on, each behind an article or none.
    pub(super) fn feature_list(&self, start: usize) -> Option<FeatureList> {
        let mut list = FeatureList { all: Vec::new(), end: start, has_or: false };
        let mut next = self.skip_fillers(start);
        let mut before_commas: Option<(usize, usize)> = None;
        let is_member = |list: &FeatureList, form| list.all.first().is_none_or(|first| first.form == form);
        while let Some((count, feature, form)) =
            self.feature_at(next).filter(|(.., form)| is_member(&list, *form))
        {
            list.all.push(ListedFeature { feature, form, range: next..next + count });
            list.end = next + count;
            // `encryption with luks`
            if let Some(with) = self.class_end(list.end, WordClass::With)
                && let Some((count, ..)) = self.feature_at(with).filter(|(_, other, _)| *other == feature)
            {
                list.end = with + count;
            }
            let comma = self.is_comma(list.end);
            let link = list.end + usize::from(comma);
            let or = self.class_end(link, WordClass::Or).or(self.is_word(link, &["nor"]).then_some(link + 1));
            let linked = or.or(self.class_end(link, WordClass::And));
            // `a, b and c`: a comma alone goes on with the list if a word joins its last member.
            if linked.is_none() && comma && before_commas.is_none() {
                before_commas = Some((list.all.len(), list.end));
            }
            let Some(end) = linked.or(comma.then_some(link)) else { break };
            next = self.skip_fillers(end);
            if linked.is_some() && self.feature_at(next).is_some_and(|(.., form)| is_member(&list, form)) {
                before_commas = None;
                list.has_or |= or.is_some();
            }
        }
        if let Some((count, end)) = before_commas {
            list.all.truncate(count);
            list.end = end;
        }
        (!list.all.is_empty()).then_some(list)
    }

    fn feature_at(&self, at: usize) -> Option<(usize, Feature, FeatureForm)> {
        let (count, (feature, form)) = self.longest_at(at, |meaning| match meaning {
            Meaning::Noun(feature) => Some((*feature, FeatureForm::Noun)),
            Meaning::Adjective(feature) => Some((*feature, FeatureForm::Adjective)),
            Meaning::Lack(feature) => Some((*feature, FeatureForm::Lack)),
            _ => None,
        })?;
        // A longer phrase is a work: `snapshot server`.
        let is_longer = self.content(at, false).is_some_and(|(other, _)| other > count);
        (!is_longer).then_some((count, feature, form))
    }

    pub(super) fn noun_at(&self, at: usize) -> Option<(usize, Feature)> {
        let noun = self.feature_at(at).filter(|(.., form)| *form == FeatureForm::Noun);
        noun.map(|(count, feature, _)| (count, feature))
    }

    /// Features that begin here, without a connective before them.
    pub(super) fn features(&mut self) {
        let start = self.at;
        let Some(list) = self.feature_list(start) else { return };
        let is_unneeded =
            self.class_end(list.end, WordClass::NotNeeded).is_some() && !self.is_word(list.end, &["needed"]);
        if is_unneeded {
            return self.use_features(start, &list, FeatureUse::NotNeeded);
        }
        if self.or_not_end(&list).is_some() {
            return self.use_features(start, &list, FeatureUse::Compared);
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
        let again = || {
            let link = self.any_class_end(list.end, &[WordClass::Or, WordClass::And])?;
            let negated = self.any_class_end(link, &[WordClass::Without, WordClass::Not]);
            let (count, feature, form) = self.feature_at(negated.unwrap_or(link))?;
            let is_lack = (form == FeatureForm::Lack) == negated.is_none();
            (feature == list.all.last()?.feature && is_lack).then_some(negated.unwrap_or(link) + count)
        };
        again().or_else(|| self.class_end(list.end, WordClass::OrNot))
    }

    /// Takes features as the words beside them say, or reports why they cannot be taken so.
    pub(super) fn use_features(&mut self, start: usize, list: &FeatureList, how: FeatureUse) {
        let or_not = self.or_not_end(list).filter(|_| how == FeatureUse::Compared);
        let end = match how {
            FeatureUse::Required => list.end,
            FeatureUse::Compared => or_not.unwrap_or(list.end),
            FeatureUse::Without | FeatureUse::NotNeeded => {
                self.class_end(list.end, WordClass::NotNeeded).unwrap_or(list.end)
            }
        };
        let words = self.text(start..end);
        self.at = end;
        let is_one_of =
            list.has_or && or_not.is_none() && matches!(how, FeatureUse::Required | FeatureUse::Compared);
        if is_one_of {
            return self.problem(
                start..end,
                "one of several cannot be asked for; ask for each of them, or join them by `and`",
            );
        }
        for ListedFeature { feature, form, .. } in &list.all {
            let (feature, is_lack) = (*feature, *form == FeatureForm::Lack);
            match (how, feature.property()) {
                (FeatureUse::Required, _) if is_lack => self.parsed.absent.push(Worded::new(feature, &words)),
                (FeatureUse::Required, Some(property)) => {
                    self.parsed.required.push(Worded::new(property, &words));
                }
                (FeatureUse::Required, None) => {
                    let advice = format!(
                        "{} is no property that can be required; `with {0}` compares",
                        feature.word()
                    );
                    return self.problem(start..end, advice);
                }
                (FeatureUse::Compared, _) if feature.is_comparable() => {
                    self.add_compared(feature, words.clone());
                }
                (FeatureUse::Compared, _) => {
                    let advice = format!(
                        "{} cannot be compared with its lack; `must {0}` requires it",
                        feature.word()
                    );
                    return self.problem(start..end, advice);
                }
                (FeatureUse::Without, _) if is_lack => {
                    return self.problem(start..end, "two negations say the opposite of one");
                }
                (FeatureUse::Without, _) if feature.is_comparable() => {
                    self.parsed.absent.push(Worded::new(feature, &words));
                }
                (FeatureUse::Without | FeatureUse::NotNeeded, _) => {
                    self.parsed.unneeded.push(Worded::new(feature, &words));
                }
            }
        }
    }

    fn add_compared(&mut self, feature: Feature, words: String) {
        if !self.parsed.compared.iter().any(|other| other.value == feature) {
            self.parsed.compared.push(Worded::new(feature, words));
        }
    }

    /// Takes the features that the whole question decides about.
    pub(super) fn resolve_features(&mut self) {
        // `without checksums` turns them off where one filesystem is compared both ways, and requires nothing of several.
        if self.parsed.candidates.len() != 1 {
            let is_checksums =
                |one: &mut Worded<Feature>| one.value == Feature::Property(RequiredProperty::DataChecksums);
            self.parsed.unneeded.extend(self.parsed.absent.extract_if(.., is_checksums));
        }
        self.resolve_price();
        self.resolve_bare_features();
        self.check_variants();
    }

    /// A price is asked of features, of options, or of filesystems beside each other.
    fn resolve_price(&mut self) {
        let Some(price) = self.price.clone() else { return };
        let words = self.text(price.clone());
        let mut is_used = !self.parsed.candidates.is_empty() || !self.parsed.compared.is_empty();
        let comparable: Vec<ListedFeature> =
            self.bare.extract_if(.., |one| one.feature.is_comparable()).collect();
        let mut compared: Vec<(Feature, String)> =
            comparable.into_iter().map(|one| (one.feature, self.text(one.range))).collect();
        if compared.is_empty() && self.parsed.compared.is_empty() && self.parsed.candidates.len() < 2 {
            let is_encryption =
                |one: &mut Worded<RequiredProperty>| one.value == RequiredProperty::Encryption;
            let required = self.parsed.required.extract_if(.., is_encryption);
            compared.extend(required.map(|one| (Feature::ENCRYPTION, one.words)));
        }
        is_used |= !compared.is_empty() || !self.bare.is_empty() || !self.parsed.variants.is_empty();
        for (feature, feature_words) in compared {
            self.add_compared(feature, format!("{words} … {feature_words}"));
        }
        if self.parsed.variants.len() == 1 {
            self.parsed.variants.push(Worded::new(Vec::new(), &words));
        }
        if let [only] = self.parsed.candidates.as_slice()
            && !(only.value.options.is_empty() && only.value.layers.is_empty())
        {
            let plain =
                NamedCandidate { options: OptionSet::default(), layers: Vec::new(), ..only.value.clone() };
            self.parsed.candidates.push(Worded::new(plain, words));
        }
        if !is_used {
            self.problem(
                price,
                "the price of which option or feature is not clear: name it, or two filesystems",
            );
        }
    }

    /// `encryption` is a work where no other is named; elsewhere it needs a connective.
    fn resolve_bare_features(&mut self) {
        let mut bare = std::mem::take(&mut self.bare);
        let of_bare: Vec<(Feature, String)> =
            bare.iter().map(|one| (one.feature, self.text(one.range.clone()))).collect();
        let parsed = &mut self.parsed;
        if parsed.works.is_empty() && parsed.folder.is_none() && parsed.near.is_empty() {
            let of_compared = parsed.compared.iter().map(|one| (one.value, one.words.clone()));
            let only = if let [only] = parsed.required.as_slice() { Some(only) } else { None };
            let of_required = only.map(|only| (Feature::Property(only.value), only.words.clone()));
            let mut named = of_bare.into_iter().chain(of_compared).chain(of_required);
            if let Some((feature, work, words)) =
                named.find_map(|(feature, words)| Some((feature, work_of(&words)?, words)))
            {
                parsed.works.push(Worded::new(work, words));
                bare.retain(|one| one.feature != feature);
                let is_named = !parsed.candidates.is_empty() && feature == Feature::ENCRYPTION;
                parsed.compared.retain(|one| one.value != feature || is_named);
                parsed.required.retain(|one| Feature::Property(one.value) != feature);
            }
        }
        for one in bare {
            let word = self.text(one.range.clone());
            let advice = format!("say `with {word}` (a comparison), `without {word}`, or `must {word}`");
            self.problem(one.range, advice);
        }
    }

    /// Options for every candidate have to be options of each that is named, and none is named twice.
    fn check_variants(&mut self) {
        let named = &self.parsed.candidates;
        let is_lacking = |words: &[String]| {
            named.iter().find(|one| !words.is_empty() && parse_all(words, one.value.filesystem).is_none())
        };
        let lacking =
            self.parsed.variants.iter().find_map(|variant| Some((variant, is_lacking(&variant.value)?)));
        let twice = named
            .iter()
            .enumerate()
            .find(|(at, one)| named[..*at].iter().any(|other| other.value == one.value));
        let (words, advice) = match (lacking, twice, self.parsed.variants.first()) {
            (Some((variant, one)), ..) => (
                variant.words.clone(),
                format!(
                    "{} has no such option; write it directly behind the filesystem that has it",
                    one.value.filesystem.name
                ),
            ),
            (None, Some((_, one)), Some(variant)) => {
                let advice = format!(
                    "whether it is meant for all or for `{}` is not clear; write it directly behind its filesystem",
                    one.words
                );
                (variant.words.clone(), advice)
            }
            _ => return,
        };
        let start =
            self.tokens.iter().position(|token| words.split(' ').next() == Some(&token.text)).unwrap_or(0);
        let range = start..start + words.split(' ').count().min(self.tokens.len() - start);
        self.parsed.problems.push(Problem { words, range, advice });
    }
}

/// The work that the last of these words, or all of them, name.
fn work_of(words: &str) -> Option<&'static WorkKind> {
    let last = words.rsplit(' ').next().unwrap_or(words);
    [words, last].into_iter().flat_map(meanings).find_map(|meaning| match meaning {
        Meaning::Work(work) => Some(*work),
        _ => None,
    })
}
