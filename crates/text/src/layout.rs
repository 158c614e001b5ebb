//! Lays out lines for a terminal: measures their width and breaks them.

use textwrap::core::Word;
use textwrap::wrap_algorithms::wrap_first_fit;

/// The number of columns that the text takes on a terminal. Escape sequences of styles (`ESC [ … m`) take none.
pub fn display_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// The number of lines that the text takes on a terminal of this many columns, which folds longer lines.
pub fn screen_lines(text: &str, columns: usize) -> usize {
    text.lines().map(|line| display_width(line).div_ceil(columns.max(1)).max(1)).sum()
}

/// Wraps each line of the text to at most `columns`: breaks it at spaces after its first `indent` columns, and indents the
/// continuation by as much. A word that is longer than a line, such as a path, is not broken. Without a width, the text is
/// returned unchanged.
pub fn wrap_hanging(text: &str, columns: Option<usize>, indent: usize) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let lines = text.split('\n').map(|line| wrap_line(line, columns, indent, ""));
    lines.collect::<Vec<_>>().join("\n")
}

/// Wraps a command line to at most `columns` so that a shell accepts it: breaks it at spaces outside of quotes, with a
/// backslash at the end of each line but the last.
pub fn wrap_command(line: &str, columns: usize, indent: usize) -> String {
    wrap_line(line, columns, indent, " \\")
}

/// Wraps one line. `mark` is added to each line that is continued; with a mark, no line is broken within quotes.
fn wrap_line(line: &str, columns: usize, indent: usize, mark: &str) -> String {
    let part = |from: usize, to: usize| line.get(from..to).unwrap_or_default();
    let breaks = break_places(line, !mark.is_empty()).into_iter();
    let breaks = breaks.filter(|at| display_width(part(0, *at)) > indent);
    let behind = |at: usize| line.len() - part(at, line.len()).trim_start().len();
    let starts: Vec<usize> = std::iter::once(0).chain(breaks.map(behind)).collect();
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let words: Vec<Word<'_>> = (starts.iter().zip(ends))
        .map(|(start, end)| {
            let penalty = if end < line.len() { mark } else { "" };
            Word { penalty, ..Word::from(part(*start, end)) }
        })
        .collect();
    let lines = wrap_first_fit(&words, &[columns as f64, columns.saturating_sub(indent) as f64]);
    let join_words = |words: &&[Word<'_>]| {
        let (last, first) = words.split_last()?;
        let whole: String = first.iter().flat_map(|word| [word.word, word.whitespace]).collect();
        Some(format!("{whole}{}{}", last.word, last.penalty))
    };
    lines.iter().filter_map(join_words).collect::<Vec<_>>().join(&format!("\n{}", " ".repeat(indent)))
}

/// The byte positions of the first space between each two words.
fn break_places(text: &str, is_command: bool) -> Vec<usize> {
    let (mut quote, mut before) = (None, ' ');
    let mut places = Vec::new();
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, ' ') if !matches!(before, ' ' | '\\') => places.push(at),
            (None, '"' | '\'') if is_command && before != '\\' => quote = Some(character),
            (Some(opened), closing) if opened == closing => quote = None,
            _ => {}
        }
        before = character;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{display_width, screen_lines, wrap_command, wrap_hanging};

    #[test]
    fn lines_are_counted_as_a_terminal_folds_them() {
        assert_eq!(screen_lines("one\n\nthree\n", 10), 3);
        assert_eq!(screen_lines("0123456789\n0123456789a\n", 10), 3);
        assert_eq!(screen_lines("\u{1b}[1m0123456789\u{1b}[0m\n", 10), 1);
    }

    #[test]
    fn a_line_hangs_below_its_label_and_keeps_every_word() {
        let line = "  name   one two three four";
        assert_eq!(wrap_hanging(line, Some(17), 9), "  name   one two\n         three\n         four");
        assert_eq!(wrap_hanging(line, None, 9), line);
        assert_eq!(wrap_hanging("a b\nc d e f", Some(5), 1), "a b\nc d e\n f");
        // A word that no line has room for stays whole, and what follows continues below it.
        assert_eq!(wrap_hanging("in /a/very/long/path it is", Some(10), 2), "in /a/very/long/path\n  it is");
        assert_eq!(wrap_hanging("/a/very/long/path", Some(8), 2), "/a/very/long/path");
    }

    #[test]
    fn a_command_that_is_broken_is_still_one_for_a_shell() {
        let line = r#"  printf '%s %s' "$ID and more" /etc/fstab \ x"#;
        let broken = wrap_command(line, 26, 4);
        assert_eq!(broken, "  printf '%s %s' \\\n    \"$ID and more\" \\\n    /etc/fstab \\ x");
        assert!(broken.lines().all(|line| display_width(line) <= 26));
        assert_eq!(wrap_command("ls -l", 26, 4), "ls -l");
    }
}
