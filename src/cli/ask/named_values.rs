//! Values of mkfs' options that people name without the option: `bigalloc`, `rmapbt=1`, `recordsize 16k`.

use fsverdict_stack::filesystem::{self, Filesystem};

use super::features::HeardOptions;
use super::sentence::{Sentence, is_in};
use super::vocabulary::COMPARING;

/// The value that begins here, of this filesystem or (where it has a `=`) of any, and where it ends.
pub(super) fn named_value(
    sentence: &Sentence,
    at: usize,
    of: Option<&Filesystem>,
) -> Option<(usize, HeardOptions)> {
    let option_of = |value: &str| match of {
        Some(filesystem) => filesystem.mkfs_option_of(value),
        None if value.contains('=') => {
            filesystem::registry().iter().find_map(|one| one.mkfs_option_of(value))
        }
        None => None,
    };
    let word = sentence.original(at);
    if let Some(option) = option_of(word) {
        return Some((at + 1, HeardOptions::of_mkfs([option, word])));
    }
    // `recordsize 16k`
    let said = sentence.original(at + 1);
    // Only ZFS has words for its switches.
    let value = match (of.map(|filesystem| filesystem.name), said) {
        (Some("zfs") | None, _) => said,
        (_, "on") => "1",
        (_, "off") => "0",
        _ => said,
    };
    let joined = format!("{word}={value}");
    // `copies on xfs` is no switch.
    let is_place = is_in(said, "on")
        && at + 2 < sentence.len()
        && !sentence.begins_clause(at + 2)
        && !sentence.is(at + 2, COMPARING)
        && !sentence.is(at + 2, "for");
    let option = option_of(&joined).filter(|_| sentence.is_free(at + 1) && is_value(said) && !is_place)?;
    Some((at + 2, HeardOptions::of_mkfs([option, &joined])))
}

/// The last option with another value: `4096` behind `-b 1024 against`, `128k` behind `recordsize=16k or`.
pub(super) fn with_another_value(last: &HeardOptions, word: &str) -> Option<HeardOptions> {
    let [.., option, value] = last.mkfs.as_slice() else { return None };
    match value.split_once('=') {
        Some((name, _)) => is_value(word).then(|| HeardOptions::of_mkfs([option, &format!("{name}={word}")])),
        None => word.parse::<f64>().is_ok().then(|| HeardOptions::of_mkfs([option, word])),
    }
}

fn is_value(word: &str) -> bool {
    const VALUES: &str =
        "on off lz4 zstd gzip lzjb zle none standard disabled always latency throughput metadata sa";
    word.starts_with(|one: char| one.is_ascii_digit())
        || is_in(word, VALUES)
        || word.starts_with("zstd-")
        || word.starts_with("gzip-")
}
