//! The words of a question and their meanings: those of presets and device models (their `[ask]`), of filesystems, and of
//! `words.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use fsverdict_disk::device::{DeviceWords, Model, built_in};
use fsverdict_judgement::plan::{AskedBy, Preset, presets};
use fsverdict_stack::filesystem::{Filesystem, find_filesystem, registry};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use super::features::{Feature, FeatureForm};

/// A preset, and how it is asked for.
pub(super) struct WorkKind {
    pub(super) preset: &'static Preset,
    pub(super) ask: AskedBy,
}

/// A kind of device: a model, and the words for it.
pub(super) struct DeviceKind {
    /// The model's name, with its state if the words mean another than the first.
    pub(super) model: String,
    pub(super) words: DeviceWords,
}

/// Where work is done: a device, if the question names none, and a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkPlace {
    pub(super) device: Option<&'static str>,
    pub(super) cpu: Option<&'static str>,
}

/// A word's part in a sentence: a class of `words.txt`, which describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WordClass {
    Filler,
    Or,
    And,
    With,
    Without,
    Both,
    OrNot,
    Plain,
    Must,
    MayNeed,
    Not,
    NotBehind,
    NoNeed,
    NotNeeded,
    On,
    Price,
    ReadBy,
    Linux,
}

/// The meaning of a phrase. Some phrases have several, by their place in the sentence.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    WordClass(WordClass),
    /// A word beside a number, by its class: `p99`, `below`.
    Bound(&'static str),
    Feature(Feature, FeatureForm),
    Layer(&'static str),
    Place(WorkPlace),
    /// Nothing here is about it; the text is advice.
    Outside(&'static str),
    Work(&'static WorkKind),
    /// A work that no preset is about; this preset comes nearest.
    Near(&'static WorkKind),
    /// A model, with its state if the words mean another than the first.
    Device(&'static str),
    /// A word that means this model where a device is expected: behind `on`.
    DeviceBehindOn(&'static str),
    Filesystem(&'static Filesystem),
    /// A filesystem that cannot be tried.
    Untried,
}

/// No phrase has more words.
pub(super) const MOST_WORDS: usize = 6;

/// Every preset, as it is listed.
pub(super) static WORKS: LazyLock<Vec<WorkKind>> =
    LazyLock::new(|| presets().iter().map(|preset| WorkKind { preset, ask: preset.asked_by() }).collect());

/// Every model that has words.
pub(super) static DEVICES: LazyLock<Vec<DeviceKind>> = LazyLock::new(|| {
    let kind = |name: &str| {
        let words = Model::named(name).ok()?.words?;
        let state = words.state.as_ref().map(|state| format!(":{state}")).unwrap_or_default();
        Some(DeviceKind { model: format!("{name}{state}"), words })
    };
    built_in().iter().filter_map(|model| kind(model.name)).collect()
});

/// The phrases of `words.txt` by class: the name of the class, and its phrases.
static CLASSES: LazyLock<Vec<(&'static str, Vec<&'static str>)>> = LazyLock::new(|| {
    let mut classes: Vec<(&str, Vec<&str>)> = Vec::new();
    let phrases = |text: &'static str| text.split(',').map(str::trim).filter(|phrase| !phrase.is_empty());
    for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.split_once(": "), line.starts_with(' '), classes.last_mut()) {
            (_, true, Some((_, all))) => all.extend(phrases(line)),
            (Some((class, text)), ..) => classes.push((class, phrases(text).collect())),
            _ => {}
        }
    }
    classes
});

static LEXICON: LazyLock<HashMap<String, Vec<Meaning>>> = LazyLock::new(|| {
    let mut lexicon: HashMap<String, Vec<Meaning>> = HashMap::new();
    let mut add = |phrase: &str, meaning| lexicon.entry(normalize(phrase)).or_default().push(meaning);
    for work in WORKS.iter() {
        work.words().chain(work.first_word()).for_each(|word| add(word, Meaning::Work(work)));
        work.ask.near.iter().for_each(|word| add(word, Meaning::Near(work)));
    }
    for kind in DEVICES.iter() {
        kind.words.words.iter().for_each(|word| add(word, Meaning::Device(&kind.model)));
        kind.words.behind_on.iter().for_each(|word| add(word, Meaning::DeviceBehindOn(&kind.model)));
    }
    for model in built_in() {
        let kind = DEVICES.iter().find(|kind| kind.model.split(':').next() == Some(model.name));
        add(model.name, Meaning::Device(kind.map_or(model.name, |kind| &kind.model)));
    }
    registry().iter().for_each(|known| add(known.name, Meaning::Filesystem(known)));
    for (class, phrases) in CLASSES.iter() {
        if let Some(meaning) = meaning_of_class(class) {
            phrases.iter().for_each(|phrase| add(phrase, meaning));
        }
    }
    lexicon
});

/// The meaning of the phrases of a class in `words.txt`.
fn meaning_of_class(class: &'static str) -> Option<Meaning> {
    let (kind, rest) = class.split_once(' ').unwrap_or((class, ""));
    let feature = |form| Some(Meaning::Feature(Feature::from_word(rest)?, form));
    match kind {
        "noun" => feature(FeatureForm::Noun),
        "adjective" => feature(FeatureForm::Adjective),
        "lack" => feature(FeatureForm::Lack),
        "layer" => Some(Meaning::Layer(rest)),
        "bound" => Some(Meaning::Bound(rest)),
        "outside" => Some(Meaning::Outside(rest)),
        "filesystem" => find_filesystem(rest).map(Meaning::Filesystem),
        "untried" => Some(Meaning::Untried),
        "place" => {
            let (device, cpu) = rest.split_once(' ')?;
            let known = |name: &'static str| (name != "-").then_some(name);
            Some(Meaning::Place(WorkPlace { device: known(device), cpu: known(cpu) }))
        }
        name => WordClass::deserialize(StrDeserializer::<Error>::new(name)).ok().map(Meaning::WordClass),
    }
}

impl WorkKind {
    /// The name of the preset, and the other words for it; none for a preset that no question selects.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let name = (!self.ask.unasked).then_some(self.preset.name);
        name.into_iter().chain(self.ask.words.iter().map(String::as_str))
    }

    /// The word that stands for all of them: the first of the shown text.
    pub(super) fn first_word(&self) -> Option<&str> {
        self.ask.shown.as_ref()?.split([':', ',']).next()
    }
}

impl Meaning {
    pub(super) fn class(&self) -> Option<WordClass> {
        if let Meaning::WordClass(class) = self { Some(*class) } else { None }
    }

    /// The order in which phrases of the same length are taken: devices and places, features and filesystems, works. None
    /// for one that does not stand by itself.
    pub(super) fn rank(&self) -> Option<u8> {
        match self {
            Meaning::Device(_) | Meaning::DeviceBehindOn(_) | Meaning::Place(_) | Meaning::Outside(_) => {
                Some(0)
            }
            Meaning::Feature(..) | Meaning::Filesystem(_) | Meaning::Untried => Some(1),
            Meaning::Work(_) | Meaning::Near(_) => Some(2),
            Meaning::WordClass(_) | Meaning::Layer(_) | Meaning::Bound(_) => None,
        }
    }
}

/// A word in normal form: without capitals, separators, apostrophes and plural. `hass` is no plural of `has`.
pub(super) fn normalize(word: &str) -> String {
    let joined: String = word.to_lowercase().chars().filter(|letter| !" -_.'".contains(*letter)).collect();
    match joined.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => joined,
    }
}

/// The meanings of a phrase, in normal form or not.
pub(super) fn meanings(phrase: &str) -> &'static [Meaning] {
    LEXICON.get(&normalize(phrase)).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use fsverdict_disk::device::Model;
    use fsverdict_judgement::plan::RequiredProperty;

    use super::{CLASSES, DEVICES, Meaning, WORKS, meanings, normalize};

    #[test]
    fn every_word_finds_its_preset_and_every_device_its_model() {
        for work in WORKS.iter() {
            assert!(!work.ask.group.is_empty(), "{} has no [ask]", work.preset.name);
            for word in work.words().chain(work.first_word()) {
                let is_found = |meaning: &Meaning| matches!(meaning, Meaning::Work(named) if named.preset.name == work.preset.name);
                assert!(meanings(word).iter().any(is_found), "{word}");
            }
            let device = work.ask.device.as_ref();
            assert!(device.is_none_or(|model| Model::named(model).is_ok()), "{device:?}");
        }
        assert!(WORKS.iter().filter(|work| work.ask.shown.is_some()).count() >= 24);
        assert!(DEVICES.iter().all(|kind| Model::named(&kind.model).is_ok()));
    }

    #[test]
    fn no_filler_is_the_plural_of_a_work_or_device() {
        let fillers = CLASSES.iter().filter(|(class, _)| *class == "filler").flat_map(|(_, phrases)| phrases);
        let is_other = |meaning: &Meaning| meaning.rank().is_some();
        let twice: Vec<&&str> = fillers.filter(|phrase| meanings(phrase).iter().any(is_other)).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn no_word_means_two_works_or_devices() {
        let works =
            WORKS.iter().flat_map(|work| work.words().chain(work.ask.near.iter().map(String::as_str)));
        let devices = DEVICES.iter().flat_map(|kind| kind.words.words.iter().map(String::as_str));
        let mut words: Vec<String> = works.chain(devices).map(normalize).collect();
        words.sort_unstable();
        let twice: Vec<&String> =
            words.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert!(words.len() > 150 && twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn every_class_has_a_meaning_and_its_words_are_documented() {
        let page = include_str!("../../../docs/reference/questions.md");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_line = |line: &str| line.is_empty() || line.starts_with(['#', ' ']) || line.contains(": ");
        assert!(include_str!("words.txt").lines().all(is_line));
        for (class, phrases) in CLASSES.iter() {
            assert!(super::meaning_of_class(class).is_some(), "{class}");
            let mut normal: Vec<String> = phrases.iter().map(|phrase| normalize(phrase)).collect();
            normal.sort_unstable();
            normal.dedup();
            assert_eq!(normal.len(), phrases.len(), "a phrase stands twice in {class}");
            // All fillers, and the first of each other class but those beside numbers.
            let shown = if *class == "filler" { phrases.as_slice() } else { &phrases[..1] };
            for phrase in shown.iter().filter(|_| !class.starts_with("bound ")) {
                assert!(page.contains(&format!("`{phrase}`")), "{class}: {phrase}");
            }
        }
        let words: Vec<&str> = RequiredProperty::words();
        assert!(words.iter().all(|word| super::Feature::from_word(word).is_some()));
    }
}
