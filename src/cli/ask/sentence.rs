//! A question as a list of words, each of which is used once: the words left at the end were not understood.

use std::ops::Range;
use std::path::Path;

/// So many words make one term at most: `do not want to lose`.
const LONGEST: usize = 5;

/// Something that was understood, and the user's words for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) words: String,
}

impl<T> Said<T> {
    pub(super) fn new(value: T, words: impl Into<String>) -> Self {
        Self { value, words: words.into() }
    }
}

/// One word of a question.
#[derive(Debug)]
struct QuestionWord {
    text: String,
    used: bool,
    is_path: bool,
    /// Whether a comma or the like stands behind it.
    ends_clause: bool,
}

#[derive(Debug)]
pub(super) struct Sentence {
    words: Vec<QuestionWord>,
}

impl Sentence {
    /// Takes the arguments apart, each of which may be a sentence.
    pub(super) fn new(arguments: &[String]) -> Self {
        let words = match arguments {
            [one] if Path::new(one).is_dir() => vec![path(one)],
            several => several.iter().flat_map(|argument| words_of(argument)).collect(),
        };
        Self { words }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The word in lower case; empty where there is none.
    pub(super) fn text(&self, at: usize) -> String {
        self.words.get(at).map(|word| word.text.to_lowercase()).unwrap_or_default()
    }

    /// The word as it was typed; empty where there is none.
    pub(super) fn original(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// Whether the word here is one of a list, used or not.
    pub(super) fn is(&self, at: usize, list: &str) -> bool {
        self.words.get(at).is_some_and(|word| is_in(&word.text, list))
    }

    /// The same of the word before.
    pub(super) fn is_before(&self, at: usize, list: &str) -> bool {
        at.checked_sub(1).is_some_and(|before| self.is(before, list))
    }

    /// Whether a clause begins here: behind a comma, and at the beginning.
    pub(super) fn begins_clause(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.words.get(before)).is_none_or(|word| word.ends_clause)
    }

    pub(super) fn is_free(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| !word.used)
    }

    pub(super) fn is_path(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.is_path)
    }

    /// Whether these words stand here, used or not.
    pub(super) fn has_phrase(&self, at: usize, words: &str) -> bool {
        words.split(' ').enumerate().all(|(offset, word)| self.is(at + offset, word))
    }

    /// The first of these phrases that stands here unused; `*` in one is any word.
    pub(super) fn find_phrase(&self, at: usize, phrases: &[&str]) -> Option<Range<usize>> {
        phrases.iter().find_map(|phrase| {
            let words = phrase.split(' ');
            let range = at..at + words.clone().count();
            let stands = words.enumerate().all(|(offset, word)| {
                self.is_free(at + offset) && (word == "*" || self.is(at + offset, word))
            });
            stands.then_some(range)
        })
    }

    /// The longest run of unused words from here that means something.
    pub(super) fn find_longest<T>(
        &self,
        at: usize,
        means: impl Fn(&str) -> Option<T>,
    ) -> Option<(Range<usize>, T)> {
        (1..=LONGEST).rev().find_map(|count| {
            let words = self.words.get(at..at + count)?;
            if words.iter().any(|word| word.used) {
                return None;
            }
            Some((at..at + count, means(&joined(words))?))
        })
    }

    /// These words, used or not.
    pub(super) fn words(&self, range: Range<usize>) -> String {
        joined(&self.words[range])
    }

    /// Uses words, and says which.
    pub(super) fn take(&mut self, range: Range<usize>) -> String {
        let words = &mut self.words[range];
        words.iter_mut().for_each(|word| word.used = true);
        joined(words)
    }

    /// Marks words beside understood ones as used.
    pub(super) fn pass_over(&mut self, range: Range<usize>) {
        for at in range {
            if let Some(word) = self.words.get_mut(at) {
                word.used = true;
            }
        }
    }

    /// The unused words, except those that any question may have.
    pub(super) fn left(&self, filling: &str) -> Vec<String> {
        (0..self.len())
            .filter(|at| self.is_left(*at, filling))
            .map(|at| self.words[at].text.clone())
            .collect()
    }

    /// Those of them that are one side of a choice: `lvm-thin or btrfs`, `btrfs or a tmpfs`.
    pub(super) fn left_in_choice(&self, filling: &str) -> Vec<String> {
        const BETWEEN: &str = "or vs versus";
        const ARTICLES: &str = "a an the use using plain rather";
        const OPEN: &str = "something anything other others another similar so more less both";
        let sides = (1..self.len()).filter(|at| self.is(*at, BETWEEN)).flat_map(|at| {
            let behind = if self.is(at + 1, ARTICLES) { at + 2 } else { at + 1 };
            [at - 1, behind]
        });
        let sides = sides.filter(|at| self.is_left(*at, filling) && !self.is(*at, OPEN));
        sides.map(|at| self.words[at].text.clone()).collect()
    }

    fn is_left(&self, at: usize, filling: &str) -> bool {
        self.words.get(at).is_some_and(|word| !word.used && !is_in(&word.text.replace('\'', ""), filling))
    }
}

fn joined(words: &[QuestionWord]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

pub(super) fn is_in(word: &str, list: &str) -> bool {
    let word = word.to_lowercase();
    list.split_whitespace().any(|one| one == word)
}

fn path(text: &str) -> QuestionWord {
    QuestionWord { text: text.to_owned(), used: false, is_path: true, ends_clause: false }
}

/// Words before a `/` that make it the root of a system.
const BEFORE_ROOT: &str = "for on of my the a as at root";

/// A path, or a folder's name, stays whole.
fn words_of(argument: &str) -> Vec<QuestionWord> {
    if argument.contains('/') && argument.len() > 1 && Path::new(argument).exists() {
        return vec![path(argument)];
    }
    let argument = argument.replace('\u{2019}', "'");
    let parts = argument.split_whitespace().flat_map(signs_apart).flat_map(|word| slashes_apart(&word));
    let trimmed = |text: String| {
        let ends_clause = text.ends_with(|one: char| ",;:.?!".contains(one));
        let text = text.trim_matches(|one: char| "?!.,;:\"'()".contains(one));
        let text = text.strip_suffix("'s").unwrap_or(text);
        QuestionWord { text: text.to_owned(), used: false, is_path: is_path_like(text), ends_clause }
    };
    let words = join_levels(parts.map(trimmed).filter(|word| !word.text.is_empty()).collect());
    // The root of a system is a word for it; `switch / camera` is a list.
    let is_root = |at: usize| at == 0 || is_in(&words[at - 1].text, BEFORE_ROOT);
    let kept: Vec<bool> = (0..words.len()).map(|at| words[at].text != "/" || is_root(at)).collect();
    words.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(word, _)| word).collect()
}

/// `raid 10` is one word, as `raid10` is.
fn join_levels(words: Vec<QuestionWord>) -> Vec<QuestionWord> {
    const LEVELS: &str = "0 1 4 5 6 10 50 60 z z1 z2 z3";
    let mut joined: Vec<QuestionWord> = Vec::with_capacity(words.len());
    for word in words {
        match joined.last_mut() {
            Some(last) if is_in(&last.text, "raid") && !last.ends_clause && is_in(&word.text, LEVELS) => {
                last.text.push_str(&word.text);
                last.ends_clause = word.ends_clause;
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Whether a word is written as a path, or is one that there is.
fn is_path_like(word: &str) -> bool {
    let begins = ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start));
    word.len() > 1 && (begins || word.contains('/') && Path::new(word).exists())
}

/// `and/or` is two words. A path, a rate (`MB/s`) and a device with its kind (`image:…`) are one.
fn slashes_apart(word: &str) -> Vec<String> {
    let bare = word.trim_matches(|one: char| "?!.,;\"'()".contains(one));
    match bare.to_lowercase().as_str() {
        "w/o" => return vec!["without".to_owned()],
        "w/" => return vec!["with".to_owned()],
        _ => {}
    }
    let is_one =
        bare == "/" || bare.contains(':') || bare.to_lowercase().ends_with("/s") || is_path_like(bare);
    if is_one || !bare.contains('/') {
        return vec![word.to_owned()];
    }
    word.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `p99<=10ms` is three words, and `5%` is two.
fn signs_apart(text: &str) -> Vec<String> {
    let spaced: String = match text.contains('/') {
        true => text.to_owned(),
        false => text.replace("<=", " ≤ ").replace(">=", " ≥ ").replace('<', " < ").replace('>', " > "),
    };
    let percent =
        |word: &str| match word.trim_end_matches(|one: char| "?!.,;:".contains(one)).strip_suffix('%') {
            Some(number) if !number.is_empty() => vec![number.to_owned(), "%".to_owned()],
            _ => vec![word.to_owned()],
        };
    spaced.split_whitespace().flat_map(percent).collect()
}

#[cfg(test)]
mod tests {
    use super::Sentence;

    #[test]
    fn words_are_used_once_and_signs_stand_alone() {
        let mut sentence = Sentence::new(&["p99<10ms, at most 5% slower?".to_owned()]);
        let words: Vec<String> = (0..sentence.len()).map(|at| sentence.text(at)).collect();
        assert_eq!(words, ["p99", "<", "10ms", "at", "most", "5", "%", "slower"]);
        assert_eq!(sentence.find_phrase(3, &["at least", "at most *"]), Some(3..6));
        assert_eq!(sentence.take(3..5), "at most");
        assert_eq!(sentence.find_phrase(3, &["at most"]), None);
        assert_eq!(sentence.left("slower"), ["p99", "<", "10ms", "5", "%"]);
        assert!(sentence.find_longest(2, |words| (words == "10ms").then_some(())).is_some());
    }

    #[test]
    fn a_slash_divides_words_but_for_paths_and_rates() {
        for (said, meant) in [
            ("ext4 and/or xfs, 24/7", "ext4 and or xfs 24 7"),
            ("switch / camera for /", "switch camera for /"),
            ("200 MB/s from /srv/none to ~/none", "200 MB/s from /srv/none to ~/none"),
            ("btrfs w/o compression, I don\u{2019}t know", "btrfs without compression I don't know"),
            ("image:/tmp/x@1GB", "image:/tmp/x@1GB"),
        ] {
            let sentence = Sentence::new(&[said.to_owned()]);
            let words: Vec<&str> = (0..sentence.len()).map(|at| sentence.original(at)).collect();
            assert_eq!(words.join(" "), meant);
        }
    }
}
