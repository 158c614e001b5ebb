//! Suggests known words that are near to a misspelt one: "did you mean …?".

/// Finds the known word nearest to `word`, if it is near enough to be a likely correction.
pub fn nearest_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    find_nearest(word, known).first().copied()
}

/// Longer lists of known words are not shown.
const MAX_LISTED_WORDS: usize = 30;
/// Shorter words are part of too many known words.
const MIN_LETTERS: usize = 3;

/// Builds a hint for an unknown word: it names the nearest known words, or else all of them.
pub fn suggest(word: &str, known: &[&str]) -> String {
    match find_suggestions(word, known) {
        suggestions if !suggestions.is_empty() => {
            format!("did you mean {}?", join_alternatives(&suggestions))
        }
        _ if known.len() > MAX_LISTED_WORDS => {
            format!("most take `{}`; `fsverdict list` names all {}", known[0], known.len())
        }
        _ => format!("known: {}", known.join(", ")),
    }
}

/// The known words that were probably meant by an unknown one: the nearest, or else those that contain it.
pub fn find_suggestions<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let near = find_nearest(word, known);
    // Known words that contain it: `usb` in `usb-stick`.
    let contains_word = |known: &&&str| word.len() >= MIN_LETTERS && known.contains(word);
    let containing_words = || known.iter().filter(contains_word).copied().take(4).collect();
    if near.is_empty() { containing_words() } else { near }
}

/// Whether one word becomes the other by one letter more, less or another, or by two that change places.
pub fn is_one_slip(word: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(word, other) == 1
}

/// Joins words in backquotes: `a`, `a or b`, `a, b or c`.
pub fn join_alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Joins names in a sentence with a conjunction: `a`, `a and b`, `a, b and c`, and `a, b and 3 more` where there are more
/// than `at_most`.
pub fn join_names(names: &[impl AsRef<str>], at_most: usize, conjunction: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        _ if names.len() > at_most => {
            format!("{} {conjunction} {} more", names[..at_most].join(", "), names.len() - at_most)
        }
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

fn find_nearest<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    // One typing error in three letters is tolerated; a difference in case is no error.
    let limit = (word.chars().count() / 3).max(1);
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let Some(smallest) =
        known.iter().map(|candidate| distance(candidate)).min().filter(|least| *least <= limit)
    else {
        return Vec::new();
    };
    known.iter().copied().filter(|candidate| distance(candidate) == smallest).take(4).collect()
}

#[cfg(test)]
mod tests {
    use super::{nearest_word, suggest};

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["ext2", "ext3", "ext4", "xfs", "btrfs"];
        assert_eq!(nearest_word("brtfs", &known), Some("btrfs"));
        assert_eq!(nearest_word("XFS", &known), Some("xfs"));
        assert_eq!(nearest_word("ntfs-3g", &known), None);
        assert_eq!(suggest("ext5", &known), "did you mean `ext2`, `ext3` or `ext4`?");
        assert_eq!(suggest("hammer", &["a", "b"]), "known: a, b");
        let many: Vec<String> = (0..40).map(|number| format!("metric_{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(suggest("speed", &many), "most take `metric_0`; `fsverdict list` names all 40");
        assert_eq!(suggest("_39", &many), "did you mean `metric_39`?");
    }
}
