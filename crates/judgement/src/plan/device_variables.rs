//! `{device.N}` among a candidate's options: the second of its devices, or a later one, for a log or journal of its own.

use super::Candidate;
use fsverdict_text::Reason;

/// How the name of a device begins in an option, and how it ends.
const BEGINS: &str = "{device.";
const ENDS: char = '}';

/// The devices that a candidate's options name, each once, in order.
///
/// # Errors
/// Where something that begins like a device's name is none.
pub fn devices_named(candidate: &Candidate) -> Result<Vec<usize>, Reason> {
    let mut named = Vec::new();
    for word in candidate.mkfs.iter().chain(&candidate.mount) {
        for (at, _) in word.match_indices(BEGINS) {
            let number =
                word[at + BEGINS.len()..].split_once(ENDS).and_then(|(number, _)| number.parse().ok());
            let number = number.filter(|number| *number > 0).ok_or_else(|| {
                Reason::new(
                    format!("`{word}` names no device"),
                    "the second one is {device.2}, as in -l logdev={device.2}",
                )
            })?;
            named.push(number);
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// The word with the path of each device it names in its place; one that has none stays.
pub fn with_devices(word: &str, path: impl Fn(usize) -> Option<String>) -> String {
    let mut rest = word;
    let mut replaced = String::new();
    while let Some((before, after)) = rest.split_once(BEGINS) {
        replaced += before;
        match after.split_once(ENDS).and_then(|(number, after)| Some((path(number.parse().ok()?)?, after))) {
            Some((path, after)) => {
                replaced += &path;
                rest = after;
            }
            None => {
                replaced += BEGINS;
                rest = after;
            }
        }
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::{devices_named, with_devices};
    use crate::plan::Candidate;

    #[test]
    fn devices_are_named_and_put_in() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let candidate = |mkfs: &[&str], mount: &[&str]| Candidate {
            mkfs: words(mkfs),
            mount: words(mount),
            ..Candidate::with_defaults("xfs")
        };
        let both = candidate(&["-l", "logdev={device.3},size=64m"], &["rtdev={device.2}"]);
        assert_eq!(devices_named(&both).unwrap(), [2, 3]);
        for word in ["{device.}", "{device.x}", "{device.0}", "{device.2", "{device.-1}"] {
            devices_named(&candidate(&[word], &[])).unwrap_err();
        }
        let path = |number: usize| (number == 2).then(|| "/dev/vdb".to_owned());
        assert_eq!(
            with_devices("a={device.2},{device.3},{device.2}", path),
            "a=/dev/vdb,{device.3},/dev/vdb"
        );
        assert_eq!(with_devices("{device.", path), "{device.");
    }
}
