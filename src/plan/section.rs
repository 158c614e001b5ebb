//! Reads one TOML table key by key: unknown keys, missing keys and wrong types become problems with a place.

use std::cell::RefCell;
use std::path::PathBuf;

use super::error::ValueError;
use super::limits;
use super::source::{Entry, Node, Place, Problem, Table, Value};
use super::suggest::suggest;
use super::units::Bytes;

/// Everything found wrong so far; the first in file order is told.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: RefCell<Vec<Problem>>,
}

impl Problems {
    pub(super) fn add(&self, at: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.list.borrow_mut().push(Problem::new(at, ValueError::new(message, hint)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// The first by place: what is wrong at the top is the likeliest cause of what is wrong below.
    pub(super) fn into_first(self) -> Option<Problem> {
        self.list.into_inner().into_iter().min_by_key(|problem| problem.at)
    }

    /// Unwraps a value, or notes what is wrong with it.
    pub(super) fn note<T>(&self, at: Place, result: Result<T, ValueError>) -> Option<T> {
        result.map_err(|error| self.add(at, error.message, error.hint)).ok()
    }

    /// Notes a word that is not among the known ones; `what` names the kind of word.
    pub(super) fn must_be_known(&self, at: Place, what: &str, word: &str, known: &[&str]) -> bool {
        let is_known = known.contains(&word);
        if !is_known {
            self.add(at, format!("there is no {what} `{word}`"), suggest(word, known));
        }
        is_known
    }
}

/// A value together with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<T> {
    pub(super) at: Place,
    pub(super) value: T,
}

/// One table of the plan, being read.
pub(super) struct Section<'a> {
    name: &'a str,
    /// Where its header stands.
    pub(super) at: Place,
    table: &'a Table,
    has_strangers: bool,
    problems: &'a Problems,
}

impl<'a> Section<'a> {
    /// Starts to read `node` as the table called `name` (as a user would write it, `[goal]`), which may hold `keys`.
    pub(super) fn new(name: &'a str, node: &'a Node, keys: &[&str], problems: &'a Problems) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            let found = node.value.kind();
            problems.add(
                node.at,
                format!("{name} must be a table, not {found}"),
                header_hint(name, &node.value),
            );
            return None;
        };
        let mut has_strangers = false;
        for entry in &table.entries {
            if !keys.contains(&entry.key.as_str()) {
                has_strangers = true;
                let place = if name.is_empty() { "a plan".to_owned() } else { name.to_owned() };
                problems.add(
                    entry.key_at,
                    format!("unknown key `{}` in {place}", entry.key),
                    suggest(&entry.key, keys),
                );
            }
        }
        Some(Section { name, at: node.at, table, has_strangers, problems })
    }

    /// The entry of this key, as written.
    pub(super) fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.table.get(key)
    }

    /// The value of a key, through one of the readers below.
    pub(super) fn optional<T>(
        &self,
        key: &str,
        read: impl Fn(&Node) -> Result<T, ValueError>,
    ) -> Option<Placed<T>> {
        let entry = self.table.get(key)?;
        let result = read(&entry.node)
            .map_err(|error| ValueError { message: format!("`{key}`: {}", error.message), hint: error.hint });
        let value = self.problems.note(entry.node.at, result)?;
        Some(Placed { at: entry.node.at, value })
    }

    /// As [`Section::optional`], and its absence is a problem; `example` shows how the line would look.
    pub(super) fn required<T>(
        &self,
        key: &str,
        example: &str,
        read: impl Fn(&Node) -> Result<T, ValueError>,
    ) -> Option<Placed<T>> {
        if self.table.get(key).is_none() {
            let place = if self.name.is_empty() { "the plan" } else { self.name };
            self.lacks(self.at, &format!("{place} lacks `{key}`"), &format!("for example: {example}"));
        }
        self.optional(key, read)
    }

    /// Notes that something is absent, unless a misspelt key is the likely reason, which is noted already.
    pub(super) fn lacks(&self, at: Place, message: &str, hint: &str) {
        if !self.has_strangers {
            self.problems.add(at, message, hint);
        }
    }

    /// Notes keys that may not stand together with `with`.
    pub(super) fn forbid(&self, keys: &[&str], with: &str, hint: &str) {
        for key in keys {
            if let Some(entry) = self.table.get(key) {
                self.problems.add(entry.key_at, format!("`{key}` does not go with {with}"), hint);
            }
        }
    }
}

/// Square brackets are easily miscounted.
fn header_hint(name: &str, found: &Value) -> String {
    match found {
        Value::Array(_) if name.starts_with('[') && !name.starts_with("[[") => {
            format!("there is only one: write {name}, with single brackets")
        }
        _ => String::new(),
    }
}

fn wrong_type<T>(wanted: &str, node: &Node, hint: &str) -> Result<T, ValueError> {
    Err(ValueError::new(format!("{wanted} is wanted here, not {}", node.value.kind()), hint))
}

/// A string.
pub(super) fn text(node: &Node) -> Result<String, ValueError> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        _ => wrong_type("a string", node, "put it in quotes"),
    }
}

/// A string with something in it.
pub(super) fn filled_text(node: &Node) -> Result<String, ValueError> {
    let text = text(node)?;
    if text.trim().is_empty() { Err(ValueError::new("it is empty", "")) } else { Ok(text) }
}

/// A name: no white space, and nothing that gets in the way of lists and file names.
pub(super) fn name(node: &Node) -> Result<String, ValueError> {
    let name = filled_text(node)?;
    match name.chars().find(|letter| letter.is_whitespace() || letter.is_control() || ",/".contains(*letter))
    {
        Some(letter) => Err(ValueError::new(
            format!("the name \"{}\" may not contain {letter:?}", name.escape_debug()),
            "names have no white space, commas or slashes, so that they fit lists, files and options",
        )),
        None if super::is_twin(&name) => Err(ValueError::new(
            format!(
                "the name \"{name}\" ends in {}, which marks a candidate that is entered twice",
                super::TWIN
            ),
            "aa = true in [protocol], or --aa, enters a candidate twice",
        )),
        None => Ok(name),
    }
}

/// `true` or `false`.
pub(super) fn boolean(node: &Node) -> Result<bool, ValueError> {
    match node.value {
        Value::Boolean(boolean) => Ok(boolean),
        _ => wrong_type("true or false", node, "without quotes"),
    }
}

/// A whole number, zero or more.
pub(super) fn whole(node: &Node) -> Result<u64, ValueError> {
    match node.value {
        Value::Integer(number) => u64::try_from(number)
            .map_err(|_| ValueError::new(format!("it may not be negative, but is {number}"), "")),
        _ => wrong_type("a whole number", node, "without quotes, as in 5000 or 5_000"),
    }
}

/// A whole number, from one to [`limits::COUNT`].
pub(super) fn count(node: &Node) -> Result<u64, ValueError> {
    match whole(node)? {
        0 => Err(ValueError::new("it may not be 0", "")),
        number if number > limits::COUNT => {
            Err(ValueError::new(format!("it may be {} at most, but is {number}", limits::COUNT), ""))
        }
        number => Ok(number),
    }
}

/// A number that is 0, or positive and neither too large nor too small to calculate with.
pub(super) fn number(node: &Node) -> Result<f64, ValueError> {
    let number = match node.value {
        // Whole numbers of a plan are far below 2^53.
        Value::Integer(number) => number as f64,
        Value::Number(number) => number,
        _ => return wrong_type("a number", node, "without quotes, as in 0.03"),
    };
    if number == 0.0 || (1.0 / limits::NUMBER..=limits::NUMBER).contains(&number) {
        return Ok(number);
    }
    Err(ValueError::new(
        format!(
            "it must be 0, or from {:e} to {:e}, but is {number:e}",
            1.0 / limits::NUMBER,
            limits::NUMBER
        ),
        "",
    ))
}

/// A number from 0 to 1.
pub(super) fn share(node: &Node) -> Result<f64, ValueError> {
    match number(node)? {
        share if share <= 1.0 => Ok(share),
        other => Err(ValueError::new(format!("it is a share, from 0 to 1, but is {other}"), "50 % is 0.5")),
    }
}

/// A size above zero, with its unit.
pub(super) fn size(node: &Node) -> Result<Bytes, ValueError> {
    match &node.value {
        Value::Text(text) => match text.parse()? {
            Bytes(0) => Err(ValueError::new("it may not be 0", "")),
            size => Ok(size),
        },
        Value::Integer(number) => wrong_type(
            "a size with its unit",
            node,
            &format!("write \"{number}B\" if bytes are meant, or \"{number}MiB\""),
        ),
        _ => wrong_type("a size with its unit", node, "as in \"200MiB\""),
    }
}

/// A length of time above zero, with its unit.
pub(super) fn time(node: &Node) -> Result<std::time::Duration, ValueError> {
    match &node.value {
        Value::Text(text) => super::units::parse_time(text),
        Value::Integer(number) => {
            wrong_type("a time with its unit", node, &format!("write \"{number}s\" or \"{number}m\""))
        }
        _ => wrong_type("a time with its unit", node, "as in \"20m\""),
    }
}

/// An absolute path: a plan must mean the same wherever it is run from.
pub(super) fn absolute_path(node: &Node) -> Result<PathBuf, ValueError> {
    let path = PathBuf::from(filled_text(node)?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(ValueError::new(
            format!("the path \"{}\" is not absolute", path.display()),
            "start it with / ; a plan means the same wherever it is run from",
        ))
    }
}

/// A folder below the mount point: relative, and never out of it.
pub(super) fn inside_path(node: &Node) -> Result<String, ValueError> {
    let text = filled_text(node)?;
    let stays = std::path::Path::new(&text)
        .components()
        .all(|component| matches!(component, std::path::Component::Normal(_)));
    if stays {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(ValueError::new(
            format!("\"{text}\" is not a folder below the mount point"),
            "name a folder without a leading / and without . and .. , as in \"backup/usr\"",
        ))
    }
}
