//! Lays out lines for a terminal: measures their width and breaks them.

use unicode_width::UnicodeWidthChar;

/// The number of columns that the text takes on a terminal. Escape sequences of styles (`ESC [ … m`) take none.
pub fn display_width(text: &str) -> usize {
    let mut columns = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => drop(characters.by_ref().find(char::is_ascii_alphabetic)),
            _ => columns += character.width().unwrap_or(0),
        }
    }
    columns
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
    let lines = text.split('\n').map(|line| break_hanging(line, columns, indent, ""));
    lines.collect::<Vec<_>>().join("\n")
}

/// Wraps a command line to at most `columns` so that a shell accepts it: breaks it at spaces outside of quotes, with a
/// backslash at the end of each line but the last.
pub fn wrap_command(line: &str, columns: usize, indent: usize) -> String {
    break_hanging(line, columns, indent, " \\")
}

/// Wraps one line. `mark` is added to each line that is continued; with a mark, no line is broken within quotes.
fn break_hanging(line: &str, columns: usize, indent: usize, mark: &str) -> String {
    let mut lines = Vec::new();
    let (mut rest, mut margin) = (line.to_owned(), 0);
    while margin + display_width(&rest) > columns {
        let room = columns.saturating_sub(margin + display_width(mark));
        let least = if margin == 0 { indent } else { 0 };
        let breaks = break_places(&rest, !mark.is_empty()).into_iter().filter(|at| {
            let before = rest.get(..*at).unwrap_or_default();
            display_width(before) > least && !before.trim().is_empty()
        });
        let breaks: Vec<usize> = breaks.collect();
        let fits = |at: &&usize| display_width(rest.get(..**at).unwrap_or_default()) <= room;
        let Some(at) = breaks.iter().rev().find(fits).or(breaks.first()).copied() else { break };
        let (before, behind) = rest.split_at(at);
        lines.push(format!("{}{}{mark}", " ".repeat(margin), before.trim_end()));
        rest = behind.trim_start().to_owned();
        margin = indent;
    }
    lines.push(format!("{}{rest}", " ".repeat(margin)));
    lines.join("\n")
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
