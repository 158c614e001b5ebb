//! Splits an option string into words as a shell does, without expanding anything.

use super::error::ValueError;

/// The words of a line: white space separates, quotes and backslashes protect.
///
/// # Errors
/// When a quote is not closed or the line ends in a backslash.
pub(super) fn split_words(line: &str) -> Result<Vec<String>, ValueError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let inside = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(next) if next == letter => break,
                        Some('\\') if letter == '"' => inside.push(escaped(line, &mut letters)?),
                        Some(next) => inside.push(next),
                        None => {
                            return Err(ValueError::new(
                                format!("the quote {letter} is not closed"),
                                "quotes come in pairs; a quote that is meant is written \\' or \\\"",
                            ));
                        }
                    }
                }
            }
            '\\' => {
                let next = escaped(line, &mut letters)?;
                word.get_or_insert_default().push(next);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn escaped(line: &str, letters: &mut std::str::Chars<'_>) -> Result<char, ValueError> {
    letters.next().ok_or_else(|| {
        ValueError::new(
            format!("`{line}` ends in a lone backslash"),
            "a backslash that is meant is written \\\\",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let words = |line: &str| split_words(line).unwrap();
        assert_eq!(words("-O ^dir_index  -E 'a b'"), ["-O", "^dir_index", "-E", "a b"]);
        assert_eq!(words(r#"-L "my \"disk\"" a\ b ''"#), ["-L", "my \"disk\"", "a b", ""]);
        assert!(words("  ").is_empty());
        assert!(split_words("-L 'open").is_err());
        assert!(split_words("end\\").is_err());
    }
}
