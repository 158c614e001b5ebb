//! The features of a question: which are required, compared, left out or not needed, by the words beside them.

use super::features::{AskedFeature, Feature, FeatureForm, ListedFeature, Wish};
use super::lexicon::{Meaning, WordClass, WorkKind, meanings};
use super::options::parse_all;
use super::parsed::{NamedCandidate, Problem, Worded};
use super::parser::Parser;

/// Features that are listed with `and`, `or`, `nor`.
pub(super) struct FeatureList {
    all: Vec<ListedFeature>,
    end: usize,
    has_or: bool,
}

impl Parser<'_> {
    /// Features from here on, each behind an article or none.
    pub(super) fn feature_list(&self, start: usize) -> Option<FeatureList> {
        let mut list = FeatureList { all: Vec::new(), end: start, has_or: false };
        let mut next = self.skip_fillers(start);
        let mut before_commas: Option<(usize, usize)> = None;
        while let Some((end, feature, form)) = self.feature_at(next).filter(|(.., form)| list.takes(*form)) {
            list.all.push(ListedFeature { feature, form, range: next..end });
            // `encryption with luks`
            let again = self.class_end(end, WordClass::With).and_then(|with| self.feature_at(with));
            list.end = again.filter(|(_, other, _)| *other == feature).map_or(end, |(end, ..)| end);
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
            if linked.is_some() && self.feature_at(next).is_some_and(|(.., form)| list.takes(form)) {
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
        let (end, (feature, form)) = self.longest_at(at, |meaning| match meaning {
            Meaning::Feature(feature, form) => Some((*feature, *form)),
            _ => None,
        })?;
        // A longer phrase is a work: `snapshot server`.
        let is_longer = self.content(at, false).is_some_and(|(other, _)| other > end);
        (!is_longer).then_some((end, feature, form))
    }

    pub(super) fn noun_at(&self, at: usize) -> Option<(usize, Feature)> {
        let noun = self.feature_at(at).filter(|(.., form)| *form == FeatureForm::Noun);
        noun.map(|(end, feature, _)| (end, feature))
    }

    /// Features that begin here, without a connective before them.
    pub(super) fn features(&mut self) {
        let start = self.at;
        let Some(list) = self.feature_list(start) else { return };
        if self.class_end(list.end, WordClass::NotNeeded).is_some() && !self.is_word(list.end, &["needed"]) {
            return self.use_features(start, &list, Wish::Unneeded);
        }
        if self.or_not_end(&list).is_some() {
            return self.use_features(start, &list, Wish::Compared);
        }
        self.at = list.end;
        for listed in list.all {
            let wish = match listed.form {
                FeatureForm::Adjective if listed.feature.property.is_some() && !list.has_or => Wish::Required,
                FeatureForm::Lack => Wish::Absent,
                _ => {
                    self.bare.push(listed);
                    continue;
                }
            };
            self.parsed.wish(wish, listed.feature, self.text(listed.range));
        }
    }

    /// The end of `or not`, `or no luks`, `or unencrypted` behind features.
    fn or_not_end(&self, list: &FeatureList) -> Option<usize> {
        let again = || {
            let link = self.any_class_end(list.end, &[WordClass::Or, WordClass::And])?;
            let negated = self.negation_end(link);
            let (end, feature, form) = self.feature_at(negated.unwrap_or(link))?;
            let is_lack = (form == FeatureForm::Lack) == negated.is_none();
            (feature == list.all.last()?.feature && is_lack).then_some(end)
        };
        again().or_else(|| self.class_end(list.end, WordClass::OrNot))
    }

    /// Takes features as the words beside them say, or reports why they cannot be taken so.
    pub(super) fn use_features(&mut self, start: usize, list: &FeatureList, wish: Wish) {
        let or_not = self.or_not_end(list).filter(|_| wish == Wish::Compared);
        let behind = match wish {
            Wish::Required => None,
            Wish::Compared => or_not,
            Wish::Absent | Wish::Unneeded => self.class_end(list.end, WordClass::NotNeeded),
        };
        let end = behind.unwrap_or(list.end);
        let words = self.text(start..end);
        self.at = end;
        let is_choice = matches!(wish, Wish::Required | Wish::Compared);
        if list.has_or && or_not.is_none() && is_choice {
            let advice = "one of several cannot be asked for; ask for each of them, or join them by `and`";
            return self.problem(start..end, advice);
        }
        for listed in &list.all {
            match grant_wish(wish, listed.feature, listed.form == FeatureForm::Lack) {
                Ok(wish) => self.parsed.wish(wish, listed.feature, &words),
                Err(advice) => return self.problem(start..end, advice),
            }
        }
    }

    /// Takes the features that the whole question decides about.
    pub(super) fn resolve_features(&mut self) {
        // `without checksums` turns them off where one filesystem is compared both ways, and requires nothing of several.
        if self.parsed.candidates.len() != 1 {
            for listed in self.take_wishes(Wish::Absent, Feature::CHECKSUMS) {
                self.parsed.wish(Wish::Unneeded, listed.feature, listed.words);
            }
        }
        self.resolve_price();
        self.resolve_bare_features();
        self.check_variants();
    }

    fn take_wishes(&mut self, wish: Wish, feature: Feature) -> Vec<AskedFeature> {
        self.parsed
            .features
            .extract_if(.., |listed| listed.wish == wish && listed.feature == feature)
            .collect()
    }

    /// A price is asked of features, of options, or of filesystems beside each other.
    fn resolve_price(&mut self) {
        let Some(price) = self.price.clone() else { return };
        let words = self.text(price.clone());
        let is_compared = self.parsed.has_wish(Wish::Compared);
        let bare: Vec<ListedFeature> =
            self.bare.extract_if(.., |listed| listed.feature.is_comparable()).collect();
        let mut compared: Vec<(Feature, String)> =
            bare.into_iter().map(|listed| (listed.feature, self.text(listed.range))).collect();
        if compared.is_empty() && !is_compared && self.parsed.candidates.len() < 2 {
            let required = self.take_wishes(Wish::Required, Feature::ENCRYPTION);
            compared.extend(required.into_iter().map(|listed| (listed.feature, listed.words)));
        }
        let is_of_parts = !self.parsed.candidates.is_empty() || !self.parsed.variants.is_empty();
        if !is_of_parts && !is_compared && compared.is_empty() && self.bare.is_empty() {
            let advice = "the price of which option or feature is not clear: name it, or two filesystems";
            return self.problem(price, advice);
        }
        for (feature, feature_words) in compared {
            self.parsed.wish(Wish::Compared, feature, format!("{words} … {feature_words}"));
        }
        if self.parsed.variants.len() == 1 {
            self.parsed.variants.push(Worded::new(Vec::new(), &words));
        }
        if let [only] = self.parsed.candidates.as_slice()
            && only.value.is_varied()
        {
            let plain = NamedCandidate::plain(only.value.filesystem);
            self.parsed.candidates.push(Worded::new(plain, words));
        }
    }

    /// `encryption` is a work where no other is named; elsewhere it needs a connective.
    fn resolve_bare_features(&mut self) {
        let mut bare = std::mem::take(&mut self.bare);
        let parsed = &self.parsed;
        if !parsed.names_work() && parsed.near.is_empty() {
            let of_bare = bare.iter().map(|listed| (listed.feature, self.text(listed.range.clone())));
            let is_only_required = parsed.wished(Wish::Required).count() == 1;
            let required = parsed.wished(Wish::Required).filter(|_| is_only_required);
            let asked = parsed.wished(Wish::Compared).chain(required);
            let mut named = of_bare.chain(asked.map(|listed| (listed.feature, listed.words.clone())));
            let of_work = named.find_map(|(feature, words)| Some((feature, work_of(&words)?, words)));
            drop(named);
            if let Some((feature, work, words)) = of_work {
                self.parsed.works.push(Worded::new(work, words));
                bare.retain(|listed| listed.feature != feature);
                self.take_wishes(Wish::Required, feature);
                if self.parsed.candidates.is_empty() || feature != Feature::ENCRYPTION {
                    self.take_wishes(Wish::Compared, feature);
                }
            }
        }
        for listed in bare {
            let word = self.text(listed.range.clone());
            let advice = format!("say `with {word}` (a comparison), `without {word}`, or `must {word}`");
            self.problem(listed.range, advice);
        }
    }

    /// Options for every candidate have to be options of each that is named, and none is named twice.
    fn check_variants(&mut self) {
        let (named, variants) = (&self.parsed.candidates, &self.parsed.variants);
        let lacking = variants.iter().find_map(|variant| {
            let mut filesystems = named.iter().map(|listed| listed.value.filesystem);
            let name = filesystems.find(|listed| parse_all(&variant.value, listed).is_none())?.name;
            let advice = "has no such option; write it directly behind the filesystem that has it";
            Some((variant.words.clone(), format!("{name} {advice}")))
        });
        let twice = || {
            let is_again = |at: &usize| named[..*at].iter().any(|other| other.value == named[*at].value);
            let words = &named[(0..named.len()).find(is_again)?].words;
            let advice = "is not clear; write it directly behind its filesystem";
            Some((
                variants.first()?.words.clone(),
                format!("whether it is meant for all or for `{words}` {advice}"),
            ))
        };
        let Some((words, advice)) = lacking.or_else(twice) else {
            let has_options = variants.iter().any(|variant| !variant.value.is_empty());
            if let Some(plain) = self.plain.clone().filter(|_| has_options && self.parsed.near.is_empty()) {
                let advice = "whether the options are meant for this filesystem, too, is not clear; write them directly behind the one that has them";
                self.problem(plain, advice);
            }
            return;
        };
        let start =
            self.tokens.iter().position(|token| words.split(' ').next() == Some(&token.text)).unwrap_or(0);
        let range = start..start + words.split(' ').count().min(self.tokens.len() - start);
        self.parsed.problems.push(Problem { words, range, advice });
    }
}

impl FeatureList {
    /// Whether a feature that is named in this form belongs to it.
    fn takes(&self, form: FeatureForm) -> bool {
        self.all.first().is_none_or(|first| first.form == form)
    }
}

/// The part that a feature takes in the question, or why it can take none.
fn grant_wish(wish: Wish, feature: Feature, is_lack: bool) -> Result<Wish, String> {
    let word = feature.word;
    match wish {
        Wish::Required if is_lack => Ok(Wish::Absent),
        Wish::Required if feature.property.is_none() => {
            Err(format!("{word} is no property that can be required; `with {word}` compares"))
        }
        Wish::Compared if !feature.is_comparable() => {
            Err(format!("{word} cannot be compared with its lack; `must {word}` requires it"))
        }
        Wish::Absent if is_lack => Err("two negations say the opposite of one".to_owned()),
        Wish::Absent if !feature.is_comparable() => Ok(Wish::Unneeded),
        wish => Ok(wish),
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
