//! Reads one TOML table key by key: unknown keys, missing keys and wrong types become problems with a position.

use std::cell::RefCell;

use super::error::TextError;
use super::reason::Reason;
use super::source::{Node, TextProblem, TextSpan, Texts, TomlEntry, TomlTable, TomlValue, parse};
use super::suggest::suggest;
use super::value::filled_text;

/// Collects the problems of a text.
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

    /// The problems in file order, because a problem at the top is the likeliest cause of those below.
    pub fn into_sorted(self) -> Vec<TextProblem> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|problem| problem.at);
        list
    }

    /// Unwraps a value, or records the error as a problem.
    pub fn record_error<T>(&self, at: TextSpan, result: Result<T, Reason>) -> Option<T> {
        result.map_err(|error| self.add(at, error.what, error.hint)).ok()
    }

    /// Records a problem if a word is not among the known ones; `kind` names the kind of word.
    pub fn must_be_known(&self, at: TextSpan, kind: &str, word: &str, known: &[&str]) -> bool {
        let is_known = known.contains(&word);
        if !is_known {
            self.add(at, format!("there is no {kind} `{word}`"), suggest(word, known));
        }
        is_known
    }
}

/// A value with its position in the text.
#[derive(Debug, Clone, Copy)]
pub struct Placed<T> {
    pub at: TextSpan,
    pub value: T,
}

/// Reads a TOML file other than a plan as strictly as a plan. The topmost table may hold `keys`; messages call the file
/// `name`.
///
/// # Errors
/// Every fault of the text.
pub fn read_strictly<T>(
    file: &str,
    text: &str,
    name: &str,
    keys: &[&str],
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, TextError> {
    read_tree(file, text, |tree, _, problems| read(&Section::new(name, &tree, keys, problems)?))
}

/// Parses a file and passes its tree to `read`; returns the result if there is no problem.
///
/// # Errors
/// Every fault of the text.
pub fn read_tree<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(Node, &mut Texts, &Problems) -> Option<T>,
) -> Result<T, TextError> {
    let (mut texts, problems) = (Texts::default(), Problems::default());
    let text = texts.add_file(file, text);
    let result = match parse(&texts, text) {
        Ok(tree) => read(tree, &mut texts, &problems),
        Err(syntax_errors) => {
            syntax_errors.into_iter().for_each(|problem| problems.push(problem));
            None
        }
    };
    if result.is_none() && problems.is_empty() {
        // A reader that returns `None` has recorded a problem; if it has not, that is reported rather than ignored.
        problems.add(texts.whole_span(text), "it is incomplete", "");
    }
    result.filter(|_| problems.is_empty()).ok_or_else(|| texts.to_error(&problems.into_sorted()))
}

/// One table while it is read.
pub struct Section<'a> {
    name: &'a str,
    /// Position of its header.
    pub at: TextSpan,
    table: &'a TomlTable,
    has_unknown_keys: bool,
    pub problems: &'a Problems,
}

impl<'a> Section<'a> {
    /// Starts to read `node` as the table called `name`, which may hold `keys`. The name is written as in the file, such as
    /// `[goal]`, or names the whole file, such as `the plan`.
    pub fn new(name: &'a str, node: &'a Node, keys: &[&str], problems: &'a Problems) -> Option<Self> {
        let TomlValue::Table(table) = &node.value else {
            let message = format!("{name} must be a table, not {}", node.value.type_name());
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
        let mut has_unknown_keys = false;
        for entry in table.entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
            has_unknown_keys = true;
            let message = format!("unknown key `{}` in {name}", entry.key);
            problems.add(entry.key_at, message, suggest(&entry.key, keys));
        }
        Some(Section { name, at: node.at, table, has_unknown_keys, problems })
    }

    pub fn entry(&self, key: &str) -> Option<&'a TomlEntry> {
        self.table.get(key)
    }

    pub fn has_key(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// A table inside this one, if it is there; `name` is how a user would write it.
    pub fn inner_table(&self, key: &str, name: &'a str, keys: &[&str]) -> Option<Section<'a>> {
        Section::new(name, &self.entry(key)?.node, keys, self.problems)
    }

    /// As `inner_table`, and its absence is a problem.
    pub fn need_inner_table(&self, key: &str, name: &'a str, keys: &[&str]) -> Option<Section<'a>> {
        if !self.has_key(key) {
            self.report_missing(self.at, &format!("{} lacks `{key}`", self.name), "");
        }
        self.inner_table(key, name, keys)
    }

    /// Records a problem with the value of a key.
    pub fn report_wrong(&self, key: &str, message: &str, hint: impl Into<String>) {
        let at = self.entry(key).map_or(self.at, |entry| entry.node.at);
        self.problems.add(at, format!("`{key}`: {message}"), hint);
    }

    /// The entries of a list of tables, `[[key]]`; `many` names them in messages.
    pub fn list_of_tables(&self, key: &str, many: &str) -> Option<(&'a TomlEntry, &'a [Node])> {
        let entry = self.entry(key)?;
        let TomlValue::Array(nodes) = &entry.node.value else {
            let hint = format!("write [[{key}]], with two brackets on each side");
            self.problems.add(entry.key_at, format!("{many} are a list"), hint);
            return None;
        };
        Some((entry, nodes))
    }

    /// The tables of a list `[[key]]`, 1 to `max_count` of them, each of which may hold `keys`; `name` is how a user
    /// would write it.
    pub fn read_tables(
        &self,
        key: &str,
        name: &'a str,
        keys: &[&str],
        max_count: usize,
    ) -> Option<Vec<Section<'a>>> {
        let entry = self.entry(key)?;
        let TomlValue::Array(nodes) = &entry.node.value else {
            let hint = format!("write {name}, with two brackets on each side");
            self.problems.add(entry.key_at, format!("{name} is a list"), hint);
            return None;
        };
        if nodes.is_empty() || nodes.len() > max_count {
            let message = format!("there must be 1 to {max_count} of {name}, but there are {}", nodes.len());
            self.problems.add(entry.key_at, message, "");
            return None;
        }
        nodes.iter().map(|node| Section::new(name, node, keys, self.problems)).collect()
    }

    /// Reads the value of a key with its position, by one of the functions in `value.rs`.
    pub fn get_placed<T>(&self, key: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<Placed<T>> {
        let Node { at, .. } = self.table.get(key)?.node;
        let result = read(&self.table.get(key)?.node).map_err(|error| error.after(format!("`{key}`: ")));
        self.problems.record_error(at, result).map(|value| Placed { at, value })
    }

    /// Reads the value of a key, if it is there and valid.
    pub fn get<T>(&self, key: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<T> {
        self.get_placed(key, read).map(|placed| placed.value)
    }

    /// As `get_placed`, and the absence of the key is a problem; `example` shows a valid line.
    pub fn need_placed<T>(
        &self,
        key: &str,
        example: &str,
        read: impl Fn(&Node) -> Result<T, Reason>,
    ) -> Option<Placed<T>> {
        if self.table.get(key).is_none() {
            let hint = if example.is_empty() { String::new() } else { format!("for example: {example}") };
            self.report_missing(self.at, &format!("{} lacks `{key}`", self.name), &hint);
        }
        self.get_placed(key, read)
    }

    /// As `get`, and the absence of the key is a problem; `example` may be empty where the key is clear enough.
    pub fn need<T>(&self, key: &str, example: &str, read: impl Fn(&Node) -> Result<T, Reason>) -> Option<T> {
        self.need_placed(key, example, read).map(|placed| placed.value)
    }

    /// A word that must be among the known ones; `kind` names the kind of word in messages.
    pub fn get_word(&self, key: &str, kind: &str, known: &[&str]) -> Option<String> {
        let Placed { at, value } = self.get_placed(key, filled_text)?;
        self.problems.must_be_known(at, kind, &value, known);
        Some(value)
    }

    /// Records that something is missing, unless an unknown key was found: that is probably the misspelt one.
    pub fn report_missing(&self, at: TextSpan, message: &str, hint: &str) {
        if !self.has_unknown_keys {
            self.problems.add(at, message, hint);
        }
    }

    /// Records a problem for each of these keys that is there: they cannot be combined with `with`.
    pub fn forbid_keys(&self, keys: &[&str], with: &str, hint: &str) {
        for entry in keys.iter().filter_map(|key| self.table.get(key)) {
            self.problems.add(entry.key_at, format!("`{}` does not go with {with}", entry.key), hint);
        }
    }
}
