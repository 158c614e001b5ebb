//! Options of mkfs and mount in a question, each of a filesystem or of all, and other values for the last of them.

use fsverdict_stack::filesystem::{self, Filesystem};

use super::features::{BOTH_BEFORE, HeardOptions, feature_here};
use super::heard_candidates::{CandidateScan, HeardCandidate, LastSaid};
use super::named_values::{named_value, with_another_value};
use super::sentence::{Said, Sentence, is_in};
use super::vocabulary::COMPARING;

impl CandidateScan {
    /// `nodatacow or without`, `noatime or not`: the same without the option that was said last.
    pub(super) fn without_option(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        const WITHOUT: &[&str] = &[
            "or without",
            "and without",
            "or not",
            "or none",
            "vs none",
            "or default",
            "or defaults",
            "or the default",
            "or the defaults",
            "vs default",
            "vs defaults",
            "vs the default",
            "vs the defaults",
            "vs without",
            "versus without",
            "versus none",
            "versus default",
            "versus defaults",
            "versus the default",
        ];
        if let Some(next) = self.same_without(sentence, at) {
            return Some(next);
        }
        let phrase = sentence.find_phrase(at, WITHOUT)?;
        self.last.filter(|last| *last == (LastSaid::Option, at))?;
        if feature_here(sentence, phrase.end, false).is_some() {
            return None;
        }
        let words = sentence.take(phrase.clone());
        self.add_options(HeardOptions::default(), words, true);
        Some(phrase.end)
    }

    /// `ext4 with bigalloc vs ext4 without`: the second is ext4 as it is made.
    fn same_without(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        let ends =
            at + 1 >= sentence.len() || sentence.begins_clause(at + 1) || sentence.is(at + 1, "it for on in");
        let (last, before) = self.heard.named.split_last()?;
        let is_same = |said: &&Said<HeardCandidate>| {
            said.value.filesystem.name == last.value.filesystem.name && !said.value.options.is_empty()
        };
        let is_plain = last.value.options.is_empty() && before.iter().any(|said| is_same(&said));
        (sentence.is(at, "without") && ends && is_plain).then_some(())?;
        let words = sentence.take(at..at + 1);
        self.add_options(HeardOptions::default(), words, false);
        Some(at + 1)
    }

    /// `with and without noatime`: candidates with the option, and without.
    pub(super) fn with_and_without_option(&mut self, sentence: &mut Sentence, at: usize) -> Option<usize> {
        let both = sentence.find_phrase(at, BOTH_BEFORE)?;
        let (end, options) = self.option(sentence, both.end)?;
        let words = sentence.take(at..end);
        self.add_options(options, words.clone(), false);
        self.add_options(HeardOptions::default(), words, true);
        self.last = Some((LastSaid::Option, end));
        Some(end)
    }

    /// Options of mkfs or mount that begin here, and where they end.
    pub(super) fn option(&self, sentence: &Sentence, at: usize) -> Option<(usize, HeardOptions)> {
        let current = self.heard.named.last().map(|said| said.value.filesystem);
        let any = |has: &dyn Fn(&Filesystem) -> bool| match current {
            Some(filesystem) => has(filesystem),
            None => filesystem::registry().iter().any(|one| has(one)),
        };
        let word = sentence.text(at);
        let flag = sentence.original(at);
        if flag.len() >= 2 && flag.starts_with('-') {
            let value = sentence.original(at + 1);
            let is_mount =
                flag == "-o" && any(&|one| value.split(',').all(|option| one.has_mount_option(option)));
            if is_mount && !value.is_empty() {
                return Some((at + 2, HeardOptions::of_mount(value)));
            }
            let has_value = sentence.is_free(at + 1) && !is_in(value, COMPARING) && !value.starts_with('-');
            return (has_value && any(&|one| one.has_mkfs_option(flag)))
                .then(|| (at + 2, HeardOptions::of_mkfs([flag, value])));
        }
        if self.is_compared_with_option(sentence, at)
            && let Some(options) = self.last_options().and_then(|last| with_another_value(&last, &word))
        {
            return Some((at + 1, options));
        }
        if let Some(found) = named_value(sentence, at, current) {
            return Some(found);
        }
        let is_option =
            is_mount_word(&word) && word.split(',').all(|option| any(&|one| one.has_mount_option(option)));
        is_option.then(|| (at + 1, HeardOptions::of_mount(&word)))
    }

    /// Whether these options are another value for the option before the word that compares.
    pub(super) fn is_alternative(&self, sentence: &Sentence, at: usize, options: &HeardOptions) -> bool {
        let is_again = self.last_options().is_some_and(|last| sets_again(&last, options));
        is_again
            || self.is_compared_with_option(sentence, at)
                && self.last_options().is_some_and(|last| kind_of(&last) == kind_of(options))
    }

    /// Whether nothing but a word that compares stands between the option that was said last and this place.
    fn is_compared_with_option(&self, sentence: &Sentence, at: usize) -> bool {
        matches!(self.last, Some((LastSaid::Option, end)) if end + 1 == at)
            && sentence.is_before(at, COMPARING)
    }

    fn last_options(&self) -> Option<HeardOptions> {
        match self.heard.named.last() {
            Some(said) => Some(said.value.options.clone()),
            None => self.heard.options.last().map(|said| said.value.clone()),
        }
    }

    pub(super) fn add_options(&mut self, options: HeardOptions, words: String, is_alternative: bool) {
        let is_alternative =
            is_alternative || self.last_options().is_some_and(|last| sets_again(&last, &options));
        match (self.heard.named.last_mut(), is_alternative) {
            (Some(said), true) => {
                let (filesystem, words) = (said.value.filesystem, format!("… {words}"));
                self.heard.named.push(Said::new(HeardCandidate { filesystem, options }, words));
            }
            (Some(said), false) => {
                said.value.options = said.value.options.and(&options);
                said.words = format!("{} {words}", said.words);
            }
            (None, _) if !is_alternative && !self.heard.options.is_empty() => {
                if let Some(said) = self.heard.options.last_mut() {
                    said.value = said.value.and(&options);
                    said.words = format!("{} {words}", said.words);
                }
            }
            (None, _) => self.heard.options.push(Said::new(options, words)),
        }
    }
}

/// Words that are options of mount, and in a sentence hardly anything else.
fn is_mount_word(word: &str) -> bool {
    const ALSO_ELSEWHERE: &str = "ssd sync flush sparse conv acl prealloc compress barrier integrity dirsync discard= order= hash= mode=";
    !is_in(word, ALSO_ELSEWHERE)
}

/// Whether both have a value for the same option of mount: no candidate has two.
fn sets_again(last: &HeardOptions, options: &HeardOptions) -> bool {
    let keys = |options: &HeardOptions| -> Vec<String> {
        let valued = options.mount.iter().filter_map(|option| option.split_once('='));
        valued.map(|(key, _)| key.to_owned()).collect()
    };
    let said = keys(last);
    keys(options).iter().any(|key| said.contains(key))
}

/// The setting that the last of these options changes: `data`, `-b`, or when accesses are recorded.
fn kind_of(options: &HeardOptions) -> Option<String> {
    const ACCESS_TIMES: &str = "atime noatime relatime strictatime lazytime nodiratime";
    match (options.mount.last(), options.mkfs.len().checked_sub(2)) {
        (Some(option), _) if is_in(option, ACCESS_TIMES) => Some("atime".to_owned()),
        // `nodatacow or datacow`
        (Some(option), _) => {
            let name = option.split('=').next().unwrap_or(option);
            Some(name.strip_prefix("no").unwrap_or(name).to_owned())
        }
        (None, Some(flag)) => options.mkfs.get(flag).cloned(),
        (None, None) => None,
    }
}
