//! How a question says that a filesystem is not wanted.

use std::ops::Range;

use super::sentence::Sentence;
use super::vocabulary::EXCLUDING;

/// Phrases before a filesystem that is not wanted, longer ones first.
const EXCLUDING_PHRASES: &[&str] = &[
    "anything other than",
    "stay away from",
    "must not be",
    "should not be",
    "can not be",
    "do not want",
    "do not like",
    "do not trust",
    "do not use",
    "anything but",
    "everything but",
    "all but",
    "any but",
    "other than",
    "apart from",
    "aside from",
    "except for",
    "away from",
    "cannot be",
    "can't be",
    "don't want",
    "don't like",
    "don't trust",
    "don't use",
    "dont want",
    "dont like",
    "dont trust",
    "dont use",
    "not want",
    "not use",
    "not be",
    "forget about",
    "forget",
];

/// Phrases behind a filesystem that is not wanted.
pub(super) const EXCLUDED_BEHIND: &[&str] = &[
    "is out of the question",
    "is not an option",
    "is no option",
    "is not allowed",
    "is excluded",
    "excluded",
];

/// The words before a filesystem that say that it is not wanted.
pub(super) fn excluder_before(sentence: &Sentence, at: usize) -> Option<Range<usize>> {
    let phrase = EXCLUDING_PHRASES.iter().find_map(|phrase| {
        let from = at.checked_sub(phrase.split(' ').count())?;
        sentence.has_phrase(from, phrase).then_some(from..at)
    });
    let word = || {
        let is_one =
            sentence.is_before(at, EXCLUDING) && !sentence.has_phrase(at.saturating_sub(2), "or not");
        is_one.then(|| at - 1..at)
    };
    phrase.or_else(word)
}
