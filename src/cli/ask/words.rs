//! How words are looked up that `fsverdict ask` is told: which preset asks about which work, which model stands for which device.

use fsverdict_judgement::plan::{Preset, RequiredProperty, preset, presets};

use super::kinds::{DEVICES, DeviceKind, MUSTS, WORKS};

/// A word without what people write differently: capitals, what joins its parts, a plural.
pub(super) fn plain(word: &str) -> String {
    let joined: String = word.to_lowercase().chars().filter(|one| !" -_.".contains(*one)).collect();
    match joined.strip_suffix('s') {
        Some(one) if one.len() > 2 => one.to_owned(),
        _ => joined,
    }
}

fn is_one_of(said: &str, words: &[&str]) -> bool {
    words.iter().any(|word| plain(word) == said)
}

/// The preset that is called so, or that is asked with this word.
pub(super) fn preset_called(word: &str) -> Option<&'static Preset> {
    let said = plain(word);
    let of_word = || WORKS.iter().find(|work| is_one_of(&said, work.words));
    let named = presets().iter().find(|preset| plain(preset.name) == said);
    named.or_else(|| preset(of_word()?.preset))
}

/// The device of this name: wherever it is said, or only where one is expected.
pub(super) fn device_called(word: &str, expected: bool) -> Option<&'static DeviceKind> {
    let said = plain(word);
    DEVICES.iter().find(|kind| is_one_of(&said, kind.words) || expected && is_one_of(&said, kind.behind_on))
}

/// What is required by this word.
pub(super) fn must_called(word: &str) -> Option<RequiredProperty> {
    let said = plain(word);
    MUSTS.iter().find(|must| is_one_of(&said, must.words)).map(|must| must.property)
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::plan::RequiredProperty;

    use super::super::kinds::{DEVICES, MUSTS, WORKS};
    use super::{device_called, plain, preset_called};

    #[test]
    fn no_word_means_two_things() {
        let works = WORKS.iter().flat_map(|work| work.words).map(|word| plain(word));
        // What is behind `on` may be a work's elsewhere.
        let devices = DEVICES.iter().flat_map(|kind| kind.words).map(|word| plain(word));
        let mut words: Vec<String> = works.chain(devices).collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
    }

    #[test]
    fn a_word_is_known_however_it_is_written() {
        assert_eq!(preset_called("Mails").unwrap().name, "mail-spool");
        assert_eq!(preset_called("power cuts").unwrap().name, "power-cut");
        assert!(preset_called("nothing").is_none());
        for word in ["NVMe", "nvme SSD", "M.2", "m2"] {
            assert_eq!(device_called(word, true).unwrap().model, "nvme-ssd", "{word}");
        }
        assert!(device_called("card", false).is_none() && device_called("sdcard", false).is_some());
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
