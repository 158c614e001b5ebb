//! The properties that a question requires.

use fsverdict_judgement::plan::RequiredProperty;

use super::features::BOTH_BEFORE;
use super::sentence::Sentence;
use super::vocabulary::EXCLUDING;
use super::words::{must_called, preset_called};

/// Behind a property that need not hold.
const NOT_NEEDED: &[&str] = &[
    "is optional",
    "optional",
    "are not needed",
    "is not needed",
    "not needed",
    "is not required",
    "not required",
    "is not important",
    "not important",
    "does not matter",
    "doesn't matter",
    "do not matter",
    "don't matter",
];

/// Takes the required properties out of the sentence, each with its words. A property behind a word that excludes is
/// none; one that is to be there and not is `impossible`.
pub(super) fn hear_requirements(
    sentence: &mut Sentence,
    impossible: &mut Vec<String>,
) -> Vec<(String, RequiredProperty)> {
    let mut requirements = Vec::new();
    for at in 0..sentence.len() {
        // A work of a longer name is one: `snapshot server`, `crash safe`, `git clone`.
        let of_work = (at.saturating_sub(1)..=at)
            .filter_map(|from| sentence.find_longest(from, preset_called))
            .find(|(range, _)| range.contains(&at))
            .map_or(0, |(range, _)| range.len());
        let Some((range, property)) = sentence.find_longest(at, must_called) else { continue };
        if of_work > range.len() {
            continue;
        }
        let end = range.end;
        let both = at.checked_sub(3).and_then(|before| sentence.find_phrase(before, BOTH_BEFORE));
        let words = sentence.take(range);
        if let Some(both) = both.filter(|both| both.end == at) {
            impossible.push(format!("{} {words}", sentence.take(both)));
        } else if let Some(not_needed) = sentence.find_phrase(end, NOT_NEEDED) {
            sentence.pass_over(not_needed);
        } else if sentence.is_before(at, EXCLUDING) {
            sentence.pass_over(at - 1..at);
        } else {
            requirements.push((words, property));
        }
    }
    requirements
}
