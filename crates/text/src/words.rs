//! Splits and quotes words as a shell does, looks up choices by name, and recognises invisible characters.

use super::reason::Reason;
use super::suggest::suggest;

/// Splits a line into words: white space separates, quotes and backslashes protect. Nothing is expanded.
pub fn split_words(line: &str) -> Result<Vec<String>, Reason> {
    shlex::split(line).ok_or_else(|| {
        Reason::new(
            format!("`{line}` ends within quotes or in a lone backslash"),
            "close every quote; write a quote itself as \\' or \\\", and a backslash as \\\\",
        )
    })
}

/// Quotes a stranger's word for a message, or its first 40 characters.
pub fn quote_start(word: &str) -> String {
    let start: String = word.chars().take(40).collect();
    format!("{start:?}")
}

/// Quotes a word for a shell, where it needs quotes.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Finds the value that a word stands for among `known`; `wrong` begins the message about an unknown word.
pub fn choose_by_name<T: Copy>(word: &str, known: &[(&str, T)], wrong: &str) -> Result<T, Reason> {
    known.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Reason::new(format!("{wrong} `{word}`"), suggest(word, &names))
    })
}

#[cfg(test)]
mod tests {
    use super::{quoted, split_words};

    #[test]
    fn words_are_split_as_a_shell_does() {
        let words = |line: &str| split_words(line).unwrap();
        assert_eq!(words("-O ^dir_index  -E 'a b'"), ["-O", "^dir_index", "-E", "a b"]);
        assert_eq!(words(r#"-L "my \"disk\"" a\ b ''"#), ["-L", "my \"disk\"", "a b", ""]);
        assert!(words("  ").is_empty());
        assert!(split_words("-L 'open").is_err());
        assert!(split_words("end\\").is_err());
        assert_eq!(quoted("ata-Acme_ZX81"), "ata-Acme_ZX81");
        assert_eq!(quoted("/a b/it's (deleted)"), r"'/a b/it'\''s (deleted)'");
    }
}
