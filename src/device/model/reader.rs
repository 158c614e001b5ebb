//! Reads a model's TOML strictly: an unknown key, a wrong type and an impossible number are errors with their place.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};

use toml::de::{DeTable, DeValue};

use crate::plan::{Bytes, PlanError, blame, nearest, suggest};

#[derive(Debug, Clone, Copy)]
pub(super) struct Document<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Document<'_> {
    /// An error about this stretch of the text.
    pub(super) fn error(&self, at: Range<usize>, message: String, hint: String) -> PlanError {
        blame(self.file, self.text, at, message, hint)
    }
}

/// One table of the file. Whatever is asked for is known; [`Section::finish`] refuses the rest.
pub(super) struct Section<'a> {
    document: Document<'a>,
    /// As a user would write it, `[link]`; empty for the top.
    name: &'static str,
    at: Range<usize>,
    table: &'a DeTable<'a>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn new(document: Document<'a>, table: &'a DeTable<'a>) -> Section<'a> {
        Section { document, name: "", at: 0..0, table, asked: RefCell::default() }
    }

    fn place(&self) -> &'static str {
        if self.name.is_empty() { "the model" } else { self.name }
    }

    fn value(&self, key: &'static str) -> Option<(&'a DeValue<'a>, Range<usize>)> {
        self.asked.borrow_mut().push(key);
        let value = self.table.get(key)?;
        Some((value.get_ref(), value.span()))
    }

    fn required(&self, key: &'static str) -> Result<(&'a DeValue<'a>, Range<usize>), PlanError> {
        if let Some(found) = self.value(key) {
            return Ok(found);
        }
        // A slip of the pen is the likelier reason than a line left out.
        for other in self.table.keys() {
            let name: &str = other.get_ref();
            if !self.asked.borrow().contains(&name) && nearest(name, &[key]).is_some() {
                return Err(self.unknown(name, other.span(), &[key]));
            }
        }
        Err(self.document.error(self.at.clone(), format!("{} lacks `{key}`", self.place()), String::new()))
    }

    fn unknown(&self, key: &str, at: Range<usize>, known: &[&str]) -> PlanError {
        self.document.error(at, format!("unknown key `{key}` in {}", self.place()), suggest(key, known))
    }

    pub(super) fn wrong(&self, key: &str, message: &str, hint: &str) -> PlanError {
        let at = self.table.get(key).map_or(self.at.clone(), toml::Spanned::span);
        self.document.error(at, format!("`{key}`: {message}"), hint.to_owned())
    }

    /// A table within this one. `name` is how a user would write it.
    pub(super) fn section(
        &self,
        key: &'static str,
        name: &'static str,
    ) -> Result<Option<Section<'a>>, PlanError> {
        let Some((value, at)) = self.value(key) else { return Ok(None) };
        match value {
            DeValue::Table(table) => {
                Ok(Some(Section { document: self.document, name, at, table, asked: RefCell::default() }))
            }
            _ => Err(self.wrong(key, "a table is wanted here", "")),
        }
    }

    /// As [`Section::section`], and its absence is an error.
    pub(super) fn required_section(
        &self,
        key: &'static str,
        name: &'static str,
    ) -> Result<Section<'a>, PlanError> {
        self.required(key)?;
        self.section(key, name)?.ok_or_else(|| self.wrong(key, "a table is wanted here", ""))
    }

    fn read_number(&self, key: &str, value: &DeValue<'_>) -> Result<f64, PlanError> {
        let number = match value {
            DeValue::Integer(integer) => {
                i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|whole| whole as f64)
            }
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(key, "a number is wanted here", "without quotes, as in 8.5"))
    }

    pub(super) fn number(&self, key: &'static str, bounds: RangeInclusive<f64>) -> Result<f64, PlanError> {
        let (value, _) = self.required(key)?;
        let number = self.read_number(key, value)?;
        if bounds.contains(&number) {
            return Ok(number);
        }
        let message = format!("it must be from {} to {}, but is {number}", bounds.start(), bounds.end());
        Err(self.wrong(key, &message, ""))
    }

    /// As [`Section::number`], with what counts where the key is absent.
    pub(super) fn number_or(
        &self,
        key: &'static str,
        bounds: RangeInclusive<f64>,
        absent: f64,
    ) -> Result<f64, PlanError> {
        if self.value(key).is_some() { self.number(key, bounds) } else { Ok(absent) }
    }

    pub(super) fn whole(&self, key: &'static str, bounds: RangeInclusive<u64>) -> Result<u64, PlanError> {
        let number = self.number(key, *bounds.start() as f64..=*bounds.end() as f64)?;
        if number.fract() == 0.0 {
            Ok(number as u64)
        } else {
            Err(self.wrong(key, &format!("a whole number is wanted here, not {number}"), ""))
        }
    }

    /// A size in bytes: a multiple of `multiple`, up to `most`.
    pub(super) fn bytes(&self, key: &'static str, multiple: u64, most: u64) -> Result<u64, PlanError> {
        let (value, at) = self.required(key)?;
        let DeValue::String(text) = value else {
            return Err(self.wrong(key, "a size with its unit is wanted here", "as in \"8MiB\""));
        };
        let Bytes(bytes) = text.parse().map_err(|error: crate::plan::ValueError| {
            self.document.error(at, format!("`{key}`: {}", error.message), error.hint)
        })?;
        if bytes == 0 || bytes > most || !bytes.is_multiple_of(multiple) {
            let message =
                format!("it must be a multiple of {} up to {}, but is {text}", Bytes(multiple), Bytes(most));
            return Err(self.wrong(key, &message, ""));
        }
        Ok(bytes)
    }

    /// `true` or `false`; false where absent.
    pub(super) fn boolean(&self, key: &'static str) -> Result<bool, PlanError> {
        match self.value(key) {
            None => Ok(false),
            Some((DeValue::Boolean(boolean), _)) => Ok(*boolean),
            Some(_) => Err(self.wrong(key, "true or false is wanted here", "without quotes")),
        }
    }

    pub(super) fn text(&self, key: &'static str) -> Result<&'a str, PlanError> {
        match self.required(key)?.0 {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.wrong(key, "a text is wanted here", "put it in quotes")),
        }
    }

    /// One of these words; the first where absent.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Result<T, PlanError> {
        if self.value(key).is_none() {
            return Ok(words[0].1);
        }
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text);
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            self.wrong(key, &format!("there is no such choice as `{text}`"), &suggest(text, &known))
        })
    }

    /// Refuses what was not asked for.
    pub(super) fn finish(&self) -> Result<(), PlanError> {
        let asked = self.asked.borrow();
        let strangers = self.table.keys().filter(|key| !asked.contains(&&**key.get_ref()));
        match strangers.min_by_key(|key| key.span().start) {
            Some(key) => Err(self.unknown(key.get_ref(), key.span(), &asked)),
            None => Ok(()),
        }
    }
}
