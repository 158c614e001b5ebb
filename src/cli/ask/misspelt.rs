//! Names of filesystems that were misspelt: to ignore one would change the question.

use fsverdict_stack::filesystem;

/// The filesystem whose name was probably meant by this word, which is none.
pub(super) fn filesystem_meant(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let names = filesystem::registry().iter().map(|known| known.name).filter(|name| name.len() > 3);
    names.into_iter().find(|name| is_misspelt(&word, name))
}

/// Whether one word becomes the other by one letter more, less, another or two that change places.
fn is_misspelt(word: &str, name: &str) -> bool {
    let (word, name): (Vec<char>, Vec<char>) = (word.chars().collect(), name.chars().collect());
    let same = word.iter().zip(&name).take_while(|(one, other)| one == other).count();
    let (rest, wanted) = (&word[same..], &name[same..]);
    // The numbers of ext2, ext3 and ext4 are no slips.
    let is_digit = wanted.first().or(rest.first()).is_some_and(char::is_ascii_digit);
    let swapped = || {
        rest.len() >= 2
            && wanted.len() >= 2
            && rest[0] == wanted[1]
            && rest[1] == wanted[0]
            && rest[2..] == wanted[2..]
    };
    same > 0
        && word != name
        && !is_digit
        && (rest.get(1..) == wanted.get(1..) && rest.len() == wanted.len()
            || rest.get(1..) == Some(wanted)
            || Some(rest) == wanted.get(1..)
            || swapped())
}

#[cfg(test)]
mod tests {
    use super::filesystem_meant;

    #[test]
    fn one_slip_is_forgiven_and_another_word_is_none() {
        for (word, meant) in [
            ("btfrs", Some("btrfs")),
            ("brtfs", Some("btrfs")),
            ("btrf", Some("btrfs")),
            ("exfatt", Some("exfat")),
            ("ext5", None),
            ("btrfs", None),
            ("files", None),
        ] {
            assert_eq!(filesystem_meant(word), meant, "{word}");
        }
    }
}
