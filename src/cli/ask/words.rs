//! How words are looked up that `fsverdict ask` is told: which preset asks about which work, which model stands for which device.

use fsverdict_disk::device::built_in;
use fsverdict_judgement::plan::{Preset, RequiredProperty};

use super::kinds::{DeviceKind, MUSTS, WorkKind, devices, works};

/// A word in normal form: without capitals, separators and plural, which users write differently.
pub(super) fn plain(word: &str) -> String {
    let joined: String = word.to_lowercase().chars().filter(|one| !" -_.".contains(*one)).collect();
    match joined.strip_suffix('s') {
        Some(one) if one.len() > 2 => one.to_owned(),
        _ => joined,
    }
}

fn is_one_of<'a>(said: &str, mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| plain(word) == said)
}

fn is_in(said: &str, words: &[String]) -> bool {
    is_one_of(said, words.iter().map(String::as_str))
}

/// How well a word fits a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordFit {
    Sure,
    /// Only where no other work is named.
    Vague,
    /// There is no preset about it, and this one comes nearest.
    Near,
}

/// The work that is called so, and how well that fits.
pub(super) fn work_called(word: &str) -> Option<(WordFit, &'static WorkKind)> {
    let plain_word = plain(word);
    let find = |is_called: &dyn Fn(&WorkKind) -> bool| works().iter().find(|work| is_called(work));
    let sure = || find(&|work| is_one_of(&plain_word, work.words())).map(|work| (WordFit::Sure, work));
    let vague = || find(&|work| is_in(&plain_word, &work.asked_by.vague)).map(|work| (WordFit::Vague, work));
    let near = || find(&|work| is_in(&plain_word, &work.asked_by.near)).map(|work| (WordFit::Near, work));
    sure().or_else(vague).or_else(near)
}

/// The preset that is called so, or that is asked with this word.
pub(super) fn preset_called(word: &str) -> Option<&'static Preset> {
    work_called(word).filter(|(fit, _)| *fit != WordFit::Near).map(|(_, work)| work.preset)
}

/// The device of this name: wherever it is said, or only where one is expected.
pub(super) fn device_called(word: &str, expected: bool) -> Option<&'static DeviceKind> {
    let plain_word = plain(word);
    let is_called = |kind: &&DeviceKind| {
        is_in(&plain_word, &kind.called.words) || expected && is_in(&plain_word, &kind.called.behind_on)
    };
    devices().iter().find(is_called)
}

/// Whether a model has this name, in any state.
pub(super) fn is_model(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    built_in().iter().any(|known| plain(known.name) == plain(name))
}

/// The property that this word requires.
pub(super) fn must_called(word: &str) -> Option<RequiredProperty> {
    let plain_word = plain(word);
    MUSTS.iter().find(|must| is_one_of(&plain_word, must.words.iter().copied())).map(|must| must.property)
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::plan::RequiredProperty;

    use super::super::kinds::{MUSTS, devices, works};
    use super::{device_called, plain, preset_called};

    #[test]
    fn no_word_means_two_things() {
        let works =
            works().iter().flat_map(|work| work.words().chain(work.asked_by.other_words())).map(plain);
        // What is behind `on` may be a work's elsewhere.
        let devices = devices().iter().flat_map(|kind| &kind.called.words).map(|word| plain(word));
        let mut words: Vec<String> = works.chain(devices).collect();
        words.sort_unstable();
        let twice: Vec<&String> =
            words.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert!(words.len() > 150 && twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn a_word_is_known_however_it_is_written() {
        assert_eq!(preset_called("Mails").unwrap().name, "mail-spool");
        assert_eq!(preset_called("power cuts").unwrap().name, "power-cut");
        assert!(preset_called("nothing").is_none());
        for word in ["NVMe", "nvme SSD", "M.2", "m2"] {
            assert_eq!(device_called(word, true).unwrap().model, "nvme-ssd", "{word}");
        }
        assert_eq!(device_called("sdcard", false).unwrap().model, "sd-card-a1:filled");
        assert!(device_called("card", false).is_none());
    }

    #[test]
    fn all_that_can_be_required_can_be_asked_for() {
        let asked: Vec<&str> = MUSTS.iter().map(|must| must.property.word()).collect();
        assert_eq!(asked, RequiredProperty::words());
        for must in MUSTS {
            assert_eq!(must.words[0], must.property.word());
            assert!(must.shown.starts_with(must.words[0]));
        }
    }
}
