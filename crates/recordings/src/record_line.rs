//! A line of a recording, shortened and without names, for display in a plan.

/// Characters of a recorded line that are shown.
const SHOWN_CHARACTERS: usize = 120;

/// A line of a recording: its number, from 1, and its text without names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLine {
    pub number: u64,
    /// A plan shows this text, so that it must not hold a path, a process name or a file's content.
    pub text: String,
}

impl RecordLine {
    /// The reader takes names out of the text before (see `mask_names`).
    pub fn new(number: u64, text: &str) -> Self {
        let mut shown: String = text
            .chars()
            .take(SHOWN_CHARACTERS)
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        if text.chars().nth(SHOWN_CHARACTERS).is_some() {
            shown.push('…');
        }
        Self { number, text: shown }
    }
}

/// Words of a line that are shown.
const SHOWN_WORDS: usize = 20;

/// Replaces each word of a line that may be a name by `…`: all but numbers and short words in capitals.
pub(super) fn mask_words(line: &str) -> String {
    let is_plain = |word: &str| {
        let number = word.bytes().all(|byte| byte.is_ascii_digit() || b",.+-:()[]/".contains(&byte));
        number || (word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let words = line.split_whitespace().take(SHOWN_WORDS);
    words.map(|word| if is_plain(word) { word } else { "…" }).collect::<Vec<_>>().join(" ")
}

/// Replaces quoted strings and text between angle brackets (paths, names of programs) by `…`. Old versions of strace
/// print `>` in a path unescaped: a bracketed text ends at the last `>` before the next bracket or quote.
pub(super) fn mask_names(line: &str) -> String {
    let (mut shown, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['"', '<']) {
        let (before, hidden) = rest.split_at(at);
        shown.push_str(before);
        let (opens, closes, end) = match hidden.starts_with('"') {
            true => ("\"…", "\"", end_of_string(hidden)),
            false => ("<…", ">", end_of_path(hidden)),
        };
        shown.push_str(opens);
        let Some(end) = end else { return shown };
        shown.push_str(closes);
        rest = &hidden[end..];
    }
    shown.push_str(rest);
    shown
}

/// Where a text goes on behind the string that it begins with.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at + 1)
    })
}

/// Where a text goes on behind the brackets that it begins with.
fn end_of_path(text: &str) -> Option<usize> {
    let mut from = 1;
    loop {
        let until = text[from..].find(['"', '<']).map_or(text.len(), |at| from + at);
        if let Some(at) = text[from..until].rfind('>') {
            return Some(from + at + 1);
        }
        from = until + 1;
        if from >= text.len() {
            return None;
        }
    }
}
