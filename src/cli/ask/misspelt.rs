//! Names of filesystems that were misspelt: to ignore one would change the question.

use fsverdict_stack::filesystem;
use fsverdict_text::is_one_slip;

/// The filesystem whose name was probably meant by this word, which is none.
pub(super) fn filesystem_meant(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let mut names = filesystem::registry().iter().map(|known| known.name).filter(|name| name.len() > 3);
    names.find(|name| is_misspelt(&word, name))
}

/// Whether a word is a name with one slip behind its first letter. The numbers of ext2, ext3 and ext4 are no slips.
fn is_misspelt(word: &str, name: &str) -> bool {
    let same = word.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
    let differing = name.as_bytes().get(same).or(word.as_bytes().get(same));
    same > 0 && is_one_slip(word, name) && !differing.is_some_and(u8::is_ascii_digit)
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
