//! "Did you mean …?": the nearest right spelling of a word that is not known.

/// The known word nearest to `word`, if any is near enough to have been meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    nearest_all(word, known).first().copied()
}

/// More words than this are not listed.
const MOST_KNOWN: usize = 30;
/// Fewer letters than this are in too many words.
const SHORTEST: usize = 3;

/// A hint for an unknown word: the nearest known ones, else all of them.
pub fn suggest(word: &str, known: &[&str]) -> String {
    let near = nearest_all(word, known);
    // Words that hold it: `usb` in `usb-stick`.
    let holds = |known: &&&str| word.len() >= SHORTEST && known.contains(word);
    let akin = || known.iter().filter(holds).copied().take(4).collect::<Vec<&str>>();
    match if near.is_empty() { akin() } else { near } {
        meant if !meant.is_empty() => format!("did you mean {}?", either(&meant)),
        _ if known.len() > MOST_KNOWN => {
            format!("most take `{}`; `fsverdict list` names all {}", known[0], known.len())
        }
        _ => format!("known: {}", known.join(", ")),
    }
}

/// `a`, `a or b`, `a, b or c`, each in backquotes.
pub fn either(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn nearest_all<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    // One slip in three letters is still the same word; a slip of case is none.
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
    use super::{nearest, suggest};

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["ext2", "ext3", "ext4", "xfs", "btrfs"];
        assert_eq!(nearest("brtfs", &known), Some("btrfs"));
        assert_eq!(nearest("XFS", &known), Some("xfs"));
        assert_eq!(nearest("ntfs-3g", &known), None);
        assert_eq!(suggest("ext5", &known), "did you mean `ext2`, `ext3` or `ext4`?");
        assert_eq!(suggest("hammer", &["a", "b"]), "known: a, b");
        let many: Vec<String> = (0..40).map(|number| format!("metric_{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(suggest("speed", &many), "most take `metric_0`; `fsverdict list` names all 40");
        assert_eq!(suggest("_39", &many), "did you mean `metric_39`?");
    }
}
