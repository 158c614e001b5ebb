//! Splits a question into words, punctuation and paths.

use std::path::Path;

/// One word of a question, a sign of punctuation, or the path of a folder or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// As it was typed, without the punctuation around it.
    pub(super) text: String,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    /// A comma, colon, full stop, question mark, parenthesis or dash: a list or a clause ends here.
    Stop,
    Path,
    /// Words that the user leaves out: the words before and behind them are not joined.
    Gap,
}

impl Token {
    pub(super) fn new(kind: TokenKind, text: impl Into<String>) -> Self {
        Self { text: text.into(), kind }
    }
}

/// Signs that end a clause when they stand behind or before a word.
const STOPS: &str = ",;:.?!()";
const QUOTES: &str = "\"'`";

/// Splits the arguments, each of which may be a sentence. Text in double quotes, and an argument that is the path of
/// something there, stays whole.
pub(super) fn tokenize(arguments: &[String]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for argument in arguments {
        let is_path = argument.len() > 1 && argument.contains('/') && Path::new(argument).exists();
        if is_path || arguments.len() == 1 && Path::new(argument).is_dir() {
            tokens.push(Token::new(TokenKind::Path, argument));
            continue;
        }
        let argument =
            argument.replace(['\u{2019}', '\u{2018}'], "'").replace(['\u{201c}', '\u{201d}'], "\"");
        for (at, part) in argument.split('"').enumerate() {
            match at % 2 == 1 && is_path_like(part) {
                true => tokens.push(Token::new(TokenKind::Path, part)),
                false => part.split_whitespace().for_each(|word| push_word(word, &mut tokens)),
            }
        }
    }
    tokens
}

/// Leaves out these words wherever they stand. Returns whether they stand anywhere.
pub(super) fn leave_out(words: &str, tokens: &mut [Token]) -> bool {
    let parts = tokenize(&[words.to_owned()]);
    let mut is_there = false;
    for at in 0..tokens.len() {
        let Some(place) = tokens.get_mut(at..at + parts.len()) else { break };
        let mut pairs = place.iter().zip(&parts);
        if !parts.is_empty() && pairs.all(|(token, other)| token.text.eq_ignore_ascii_case(&other.text)) {
            place.iter_mut().for_each(|token| token.kind = TokenKind::Gap);
            is_there = true;
        }
    }
    is_there
}

fn push_word(word: &str, tokens: &mut Vec<Token>) {
    let is_edge = |letter: char| STOPS.contains(letter) || QUOTES.contains(letter);
    let body = word.trim_start_matches(is_edge);
    let before = &word[..word.len() - body.len()];
    // `./folder` and `..` are paths.
    let is_relative = before.ends_with('.') && body.starts_with('/');
    let body = &word[word.len() - body.len() - usize::from(is_relative)..];
    let text = body.trim_end_matches(is_edge);
    let after = body[text.len()..].chars().find(|letter| STOPS.contains(*letter));
    if before.contains(|letter: char| STOPS.contains(letter) && letter != '.') {
        tokens.push(Token::new(TokenKind::Stop, before));
    }
    if ["-", "–", "—", "->", "="].contains(&text) {
        tokens.push(Token::new(TokenKind::Stop, text));
    } else if is_path_like(text) {
        tokens.push(Token::new(TokenKind::Path, text));
    } else {
        let text = text.strip_suffix("'s").unwrap_or(text);
        push_parts(text.strip_prefix("mkfs.").unwrap_or(text), tokens);
    }
    tokens.extend(after.map(|sign| Token::new(TokenKind::Stop, sign)));
}

/// Pushes a word: `ext4/xfs` and `p99<10ms` are several, `200MB/s`, `and/or` and `compress=zstd` are one.
fn push_parts(text: &str, tokens: &mut Vec<Token>) {
    let is_sign = |letter: char| "<>≤≥%".contains(letter);
    let is_rate = text.to_lowercase().ends_with("b/s");
    if text.len() > 1 && text.contains(is_sign) {
        let start = text.find(is_sign).unwrap_or(0);
        let end = text[start..]
            .find(|letter| !is_sign(letter) && letter != '=')
            .map_or(text.len(), |end| start + end);
        for part in [&text[..start], &text[start..end]].into_iter().filter(|part| !part.is_empty()) {
            tokens.push(Token::new(TokenKind::Word, part));
        }
        push_parts(&text[end..], tokens);
    } else if text.contains(',')
        && !text.contains('=')
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
    {
        for (at, part) in text.split(',').enumerate() {
            tokens.extend((at > 0).then(|| Token::new(TokenKind::Stop, ",")));
            push_parts(part, tokens);
        }
    } else if text.len() > 1
        && text.contains('/')
        && !is_rate
        && text != "and/or"
        && !text.contains(['=', ':'])
    {
        for (at, part) in text.split('/').filter(|part| !part.is_empty()).enumerate() {
            tokens.extend((at > 0).then(|| Token::new(TokenKind::Word, "or")));
            tokens.push(Token::new(TokenKind::Word, part));
        }
    } else if !text.is_empty() {
        tokens.push(Token::new(TokenKind::Word, text));
    }
}

/// Whether a word is the path of a folder or device by its form.
fn is_path_like(text: &str) -> bool {
    text.len() > 1 && ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokenize};

    #[test]
    fn words_signs_paths_and_quoted_text_are_told_apart() {
        for (question, tokens) in [
            ("ext4/xfs, or btrfs?", "ext4 or xfs | or btrfs |"),
            ("(which) fs: mail", "| which | fs | mail"),
            ("btrfs compress=zstd:3,noatime vs. xfs", "btrfs compress=zstd:3,noatime vs | xfs"),
            ("p99<=10ms at 200MB/s and/or 5%", "p99 <= 10ms at 200MB/s and/or 5 %"),
            ("my pi's card – on /dev/sdz", "my pi card | on [/dev/sdz]"),
            ("the \"/srv/my files\" on ~/x", "the [/srv/my files] on [~/x]"),
            ("noatime,lazytime", "noatime | lazytime"),
            ("a \u{201c}fast\u{201d} disk, don\u{2019}t", "a fast disk | don't"),
        ] {
            let found = tokenize(&[question.to_owned()]);
            let shown = found.iter().map(|token| match token.kind {
                TokenKind::Word => token.text.clone(),
                TokenKind::Stop => "|".to_owned(),
                TokenKind::Path => format!("[{}]", token.text),
                TokenKind::Gap => "-".to_owned(),
            });
            assert_eq!(shown.collect::<Vec<_>>().join(" "), tokens, "{question}");
        }
    }
}
