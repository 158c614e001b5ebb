//! Reads one TOML table key by key: unknown keys, missing keys and wrong types become problems with a place.

use std::cell::RefCell;

use super::error::TextError;
use super::reason::Reason;
use super::source::{Node, TextProblem, TextSpan, Texts, TomlEntry, TomlTable, TomlValue, parse};
use super::suggest::suggest;
use super::value::filled_text;

/// Everything found wrong so far.
#[derive(Debug, Default)]
pub struct Problems {
    list: RefCell<Vec<TextProblem>>,
}

impl Problems {
    pub fn add(&self, at: TextSpan, message: impl Into<String>, hint: impl Into<String>) {
        let (message, hint) = (message.into(), hint.into());
        self.list.borrow_mut().push(TextProblem { at, message, hint });
    }

    pub fn push(&self, problem: TextProblem) {
        self.list.borrow_mut().push(problem);
    }

    pub fn count(&self) -> usize {
        self.list.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// In file order: what is wrong at the top is the likeliest cause of what is wrong below.
    pub fn into_sorted(self) -> Vec<TextProblem> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|problem| problem.at);
        list
    }

    /// Unwraps a value, or notes what is wrong with it.
    pub fn note<T>(&self, at: TextSpan, result: Result<T, Reason>) -> Option<T> {
        result.map_err(|error| self.add(at, error.what, error.hint)).ok()
    }

    /// Notes a word that is not among the known ones; `what` names the kind of word.
    pub fn must_be_known(&self, at: TextSpan, what: &str, word: &str, known: &[&str]) -> bool {
        let is_known = known.contains(&word);
        if !is_known {
            self.add(at, format!("there is no {what} `{word}`"), suggest(word, known));
        }
        is_known
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Placed<T> {
    pub at: TextSpan,
    pub value: T,
}

/// Reads a file of ours that is no plan as strictly: the tables in it, from the topmost with these keys on. `name` is what
/// the file is called in messages.
pub fn read_strictly<T>(
    file: &str,
    text: &str,
    name: &str,
    keys: &[&str],
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, TextError> {
    read_tree(file, text, |tree, _, problems| read(&Section::new(name, &tree, keys, problems)?))
}

/// Parses a file and hands it on; what comes of it, if nothing was wrong.
pub fn read_tree<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(Node, &mut Texts, &Problems) -> Option<T>,
) -> Result<T, TextError> {
    let (mut texts, problems) = (Texts::default(), Problems::default());
    let text = texts.add_file(file, text);
    let found = match parse(&texts, text) {
        Ok(tree) => read(tree, &mut texts, &problems),
        Err(found) => {
            found.into_iter().for_each(|problem| problems.push(problem));
            None
        }
    };
    if found.is_none() && problems.is_empty() {
        // A part that is missing has noted why; reported rather than trusted.
        problems.add(texts.whole(text), "it is incomplete", "");
    }
    found.filter(|_| problems.is_empty()).ok_or_else(|| texts.report(&problems.into_sorted()))
}

/// One table, being read.
pub struct Section<'a> {
    name: &'a str,
    /// Where its header stands.
    pub at: TextSpan,
    table: &'a TomlTable,
    has_strangers: bool,
    pub problems: &'a Problems,
}

impl<'a> Section<'a> {
    /// Starts to read `node` as the table called `name` (as a user would write it, `[goal]`, or what the whole file is, `the plan`), which
    /// may hold `keys`.
    pub fn new(name: &'a str, node: &'a Node, keys: &[&str], problems: &'a Problems) -> Option<Self> {
        let TomlValue::Table(table) = &node.value else {
            let message = format!("{name} must be a table, not {}", node.value.kind());
            // Square brackets are easily miscounted.
            let single = name.starts_with('[') && !name.starts_with("[[");
            let hint = match node.value {
                TomlValue::Array(_) if single => {
                    format!("there is only one: write {name}, with single brackets")
                }
                _ => String::new(),
            };
            problems.add(node.at, message, hint);
            return None;
        };
        let mut has_strangers = false;
        for entry in table.entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
            has_strangers = true;
            let message = format!("unknown key `{}` in {name}", entry.key);
            problems.add(entry.key_at, message, suggest(&entry.key, keys));
        }
        Some(Section { name, at: node.at, table, has_strangers, problems })
    }

    pub fn entry(&self, key: &str) -> Option<&'a TomlEntry> {
        self.table.get(key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// A table within this one, where it is there; `name` is how a user would write it.
    pub fn inner(&self, key: &str, name: &'a str, keys: &[&str]) -> Option<Section<'a>> {
        Section::new(name, &self.entry(key)?.node, keys, self.problems)
    }

    /// The same, and its absence is a problem.
    pub fn needed_inner(&self, key: &str, name: &'a str, keys: &[&str]) -> Option<Section<'a>> {
        if !self.has(key) {
            self.lacks(self.at, &format!("{} lacks `{key}`", self.name), "");
        }
        self.inner(key, name, keys)
    }

    /// Notes what is wrong with the value of a key.
    pub fn wrong(&self, key: &str, message: &str, hint: impl Into<String>) {
        let at = self.entry(key).map_or(self.at, |entry| entry.node.at);
        self.problems.add(at, format!("`{key}`: {message}"), hint);
    }

    /// The members of a list of tables, `[[key]]`; `many` names them.
    pub fn list(&self, key: &str, many: &str) -> Option<(&'a TomlEntry, &'a [Node])> {
        let entry = self.entry(key)?;
        let TomlValue::Array(nodes) = &entry.node.value else {
            let hint = format!("write [[{key}]], with two brackets on each side");
            self.problems.add(entry.key_at, format!("{many} are a list"), hint);
            return None;
        };
        Some((entry, nodes))
    }

    /// The tables of a list `[[key]]`, up to `most`, each of which may hold `keys`; `name` is how a user would write it.
    pub fn tables(&self, key: &str, name: &'a str, keys: &[&str], most: usize) -> Option<Vec<Section<'a>>> {
        let entry = self.entry(key)?;
        let TomlValue::Array(nodes) = &entry.node.value else {
            let hint = format!("write {name}, with two brackets on each side");
            self.problems.add(entry.key_at, format!("{name} is a list"), hint);
            return None;
        };
        if nodes.is_empty() || nodes.len() > most {
            let message = format!("there must be 1 to {most} of {name}, but there are {}", nodes.len());
            self.problems.add(entry.key_at, message, "");
            return None;
        }
        nodes.iter().map(|node| Section::new(name, node, keys, self.problems)).collect()
    }

    /// The value of a key with its place, through one of the readers of `value.rs`.
    pub fn placed<T>(&self, key: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<Placed<T>> {
        let Node { at, .. } = self.table.get(key)?.node;
        let result = read(&self.table.get(key)?.node).map_err(|error| error.after(format!("`{key}`: ")));
        self.problems.note(at, result).map(|value| Placed { at, value })
    }

    pub fn get<T>(&self, key: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<T> {
        self.placed(key, read).map(|placed| placed.value)
    }

    /// As [`Section::placed`], and its absence is a problem; `example` shows how the line would look.
    pub fn needed<T>(
        &self,
        key: &str,
        example: &str,
        read: impl Fn(&Node) -> Result<T, Reason>,
    ) -> Option<Placed<T>> {
        if self.table.get(key).is_none() {
            let hint = if example.is_empty() { String::new() } else { format!("for example: {example}") };
            self.lacks(self.at, &format!("{} lacks `{key}`", self.name), &hint);
        }
        self.placed(key, read)
    }

    /// As [`Section::get`], and its absence is a problem; without an example, where the key says enough.
    pub fn need<T>(&self, key: &str, example: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<T> {
        self.needed(key, example, read).map(|placed| placed.value)
    }

    /// A word that must be among the known ones; `what` names the kind of word.
    pub fn word(&self, key: &str, what: &str, known: &[&str]) -> Option<String> {
        let Placed { at, value } = self.placed(key, filled_text)?;
        self.problems.must_be_known(at, what, &value, known);
        Some(value)
    }

    /// Notes that something is absent, unless a misspelt key is the likely reason, which is noted already.
    pub fn lacks(&self, at: TextSpan, message: &str, hint: &str) {
        if !self.has_strangers {
            self.problems.add(at, message, hint);
        }
    }

    /// Notes keys that may not stand together with `with`.
    pub fn forbid(&self, keys: &[&str], with: &str, hint: &str) {
        for entry in keys.iter().filter_map(|key| self.table.get(key)) {
            self.problems.add(entry.key_at, format!("`{}` does not go with {with}", entry.key), hint);
        }
    }
}
