//! Sanitises and wraps text, and holds small tables of it: names, reasons and output come from files and programs and may contain control characters.

use std::borrow::Cow;
use std::collections::BTreeSet;

use fsverdict_text::{display_width, is_steering, join_names, make_displayable};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar;

/// The text on one line, with nothing in it that could steer a terminal: escape sequences are dropped, white space
/// becomes a single space, and any other control or direction character becomes a visible `·`.
pub(crate) fn one_line(text: &str) -> String {
    let stripped = anstream::adapter::strip_str(text).to_string();
    let mut line = String::with_capacity(stripped.len());
    for word in stripped.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(|character| if is_steering(character) { '·' } else { character }));
    }
    line
}

/// Text of several lines, in which characters that steer a terminal or hide something become a visible `·`.
pub fn in_lines(text: &str) -> String {
    make_displayable(text).into_owned()
}

/// The text cut to at most `columns`, with `mark` at the end where something was cut off.
pub(crate) fn shorten(text: &str, columns: usize, mark: &str) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(display_width(mark));
    let mut short = String::new();
    for character in text.chars() {
        if display_width(&short) + character.width().unwrap_or(0) > room {
            break;
        }
        short.push(character);
    }
    short + mark
}

/// The clauses of a sentence, from its first, that fit into so many columns; the first one is cut if it is longer.
pub(crate) fn shorten_to_clauses(sentence: &str, columns: usize) -> String {
    let is_outside =
        |at: &usize| sentence[..*at].matches('(').count() == sentence[..*at].matches(')').count();
    let ends = [", ", "; "].iter().flat_map(|end| sentence.match_indices(end)).map(|(at, _)| at);
    let ends: BTreeSet<usize> = ends.filter(is_outside).chain([sentence.len()]).collect();
    let ends = ends.into_iter();
    let fitting = ends.map(|end| &sentence[..end]).take_while(|start| display_width(start) <= columns).last();
    fitting.map_or_else(|| shorten(sentence, columns, "…"), str::to_owned)
}

/// The text in lines of at most `columns`, broken at spaces, and within a word only where it is longer than a line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns.max(8))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let words: Vec<&str> = text.split_whitespace().collect();
    textwrap::wrap(&words.join(" "), options).into_iter().map(Cow::into_owned).collect()
}

/// A sentence that begins with a verb or an outcome, to stand behind a colon.
pub(crate) fn lower_verb(text: &str) -> String {
    match ["Take ", "Undecided", "No ", "Ruled out", "Compared ", "Giving up "]
        .iter()
        .any(|begin| text.starts_with(begin))
    {
        true => text[..1].to_lowercase() + &text[1..],
        false => text.to_owned(),
    }
}

/// The text with a capital letter at its beginning.
pub(crate) fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence about candidates of one protection level, after the title of the level; the sentence alone where there is no
/// title.
pub(crate) fn of_level(title: &str, sentence: &str) -> String {
    if title.is_empty() { sentence.to_owned() } else { format!("{title}: {sentence}") }
}

/// Names in a sentence: `a`, `a and b`, `a, b and 3 more`.
pub fn listing<Name: AsRef<str>>(names: &[Name], at_most: usize) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    join_names(&names, at_most, "and")
}

/// `1 trial`, `3 trials`.
pub fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self { title: title.into(), header: header.iter().map(|text| (*text).to_owned()).collect(), rows }
    }

    /// A table with these rows; `None` where there are none.
    pub(crate) fn filled(
        title: impl Into<String>,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Option<Self> {
        let rows: Vec<Vec<String>> = rows.into_iter().collect();
        (!rows.is_empty()).then(|| Self::new(title, header, rows))
    }

    /// Whether the first column tells the rows apart.
    pub(crate) fn has_unique_names(&self) -> bool {
        let names: BTreeSet<Option<&String>> = self.rows.iter().map(|row| row.first()).collect();
        names.len() == self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{in_lines, listing, one_line, shorten, wrap};
    use fsverdict_text::display_width;

    #[test]
    fn what_steers_a_terminal_is_neutralised() {
        assert_eq!(one_line("a\x1b[31mred\x1b[0m\nb\tc"), "ared b c");
        assert_eq!(one_line("\x1b]0;title\x07after"), "after");
        assert_eq!(one_line("a\u{202e}b\u{200b}c"), "a·b·c");
        assert!(!one_line("\x1b[2J\x1b\\\u{90}x\r\x08").chars().any(char::is_control));
        assert_eq!(one_line("ünï ≈ ok"), "ünï ≈ ok");
    }

    #[test]
    fn lines_stay_and_what_steers_is_seen() {
        let text = "a\tb\n\u{1b}[2J\0\r\u{202e}\u{2066}\u{9b}c ünï";
        assert_eq!(in_lines(text), "a\tb\n·[2J·····c ünï");
    }

    #[test]
    fn wrapping_keeps_every_word_and_the_width() {
        let text = "one two threeandmuchmorethanfits four";
        let lines = wrap(text, 10);
        assert!(lines.iter().all(|line| display_width(line) <= 10), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert_eq!(wrap("", 20), [""]);
        assert_eq!(wrap("日本語日本語日本語", 8), ["日本語日", "本語日本", "語"]);
    }

    #[test]
    fn names_are_listed_and_cut() {
        assert_eq!(listing(&["a", "b", "c"], 3), "a, b and c");
        assert_eq!(listing(&["a", "b", "c", "d"], 2), "a, b and 2 more");
        assert_eq!(shorten("abcdef", 4, "…"), "abc…");
        assert_eq!(shorten("abcd", 4, "…"), "abcd");
    }
}
