//! The keys of a plan's tables as rows. A row is one key: its name, its type as the reference writes it, how its value
//! is read and how it is written. The list of known keys, the reader and the writer of a table follow from its rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    ArrayState, Blocks, ClockChoice, Disturbance, LabChoice, Legacy, OwnMetric, Remake, SourceKind, Until,
    Verify,
};
use fsverdict_text::{Bytes, Section, duration_text};

/// A key of a table; its value belongs to a `T`.
pub(super) struct Key<T> {
    pub(super) name: &'static str,
    /// The type in the words of docs/reference/plan-format.md.
    pub(super) kind: &'static str,
    /// Reads the value into its place; `None` if it is required, and missing or wrong.
    pub(super) read: fn(&mut T, &Section<'_>) -> Option<()>,
    /// The value as the plan writes it; null and empty values are left out.
    pub(super) write: fn(&T) -> Value,
}

/// A row. The forms:
/// - `key!("seed", "whole number", seed, whole)`: the field, and the function that reads a value of it. Without the
///   key, and where its value is wrong, the field keeps its default.
/// - `key!("pace", "…", pace, read_pace, unless Pace::Unpaced)`: it is not written with this value.
/// - `key!("start", "string", start, filled_text, needed "start = …")`: it is required; an example for the hint.
/// - `key!("computing", "time", computing, read_computing, write |phase| …)`: the closure says how it is written.
/// - `key!("verify", "table", verify, elsewhere)`: the reader of the table reads it, since that depends on more than the
///   value.
/// - `key!("command", "string", write |phase| …)`: the same for a key that is no field.
macro_rules! key {
    ($name:expr, $kind:literal, write $write:expr) => {
        crate::plan::keys::key!($name, $kind, read |_, _| Some(()), write $write)
    };
    ($name:expr, $kind:literal, read $read:expr, write $write:expr) => {
        crate::plan::keys::Key { name: $name, kind: $kind, read: $read, write: $write }
    };
    ($name:expr, $kind:literal, $($field:ident).+, elsewhere) => {
        crate::plan::keys::key!($name, $kind, write |table| crate::plan::keys::PlanValue::to_plan(&table.$($field).+))
    };
    ($name:expr, $kind:literal, $($field:ident).+, $read:expr) => {
        crate::plan::keys::key!($name, $kind, $($field).+, $read,
            write |table| crate::plan::keys::PlanValue::to_plan(&table.$($field).+))
    };
    ($name:expr, $kind:literal, $($field:ident).+, $read:expr, unless $default:expr) => {
        crate::plan::keys::key!($name, $kind, $($field).+, $read, write |table| match table.$($field).+ {
            default if default == $default => serde_json::Value::Null,
            other => serde_json::json!(other),
        })
    };
    ($name:expr, $kind:literal, $($field:ident).+, $read:expr, write $write:expr) => {
        crate::plan::keys::key!($name, $kind, read |table, section| {
            if let Some(value) = section.get($name, $read) {
                table.$($field).+ = value.into();
            }
            Some(())
        }, write $write)
    };
    ($name:expr, $kind:literal, $field:ident, $read:expr, needed $example:literal) => {
        crate::plan::keys::key!($name, $kind, read |table, section| {
            table.$field = section.need($name, $example, $read)?;
            Some(())
        }, write |table| crate::plan::keys::PlanValue::to_plan(&table.$field))
    };
}
pub(super) use key;

/// The names of the keys, in the order of the rows.
pub(super) fn key_names<T>(keys: &[Key<T>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The names of the keys with their types, for the reference.
pub(super) fn keys_with_types<T>(keys: &[Key<T>]) -> Vec<(&'static str, &'static str)> {
    keys.iter().map(|key| (key.name, key.kind)).collect()
}

/// Reads every key of a section into a table; `None` if a required one is missing or wrong. The faults of all are
/// reported.
pub(super) fn fill_keys<T>(keys: &[Key<T>], section: &Section<'_>, table: &mut T) -> Option<()> {
    let mut is_complete = true;
    for key in keys {
        is_complete &= (key.read)(table, section).is_some();
    }
    is_complete.then_some(())
}

/// As [`fill_keys`], from a table of defaults.
pub(super) fn read_keys<T>(keys: &[Key<T>], section: &Section<'_>, mut table: T) -> Option<T> {
    fill_keys(keys, section, &mut table)?;
    Some(table)
}

impl PlanLines {
    /// Writes every key that does not have its default.
    pub(super) fn put_keys<T>(&mut self, keys: &[Key<T>], table: &T) {
        for key in keys {
            self.put(key.name, (key.write)(table));
        }
    }
}

/// A value in the notation of plans.
pub(super) trait PlanValue {
    fn to_plan(&self) -> Value;
}

macro_rules! written_as_json {
    ($($kind:ty)*) => {
        $(impl PlanValue for $kind {
            fn to_plan(&self) -> Value {
                json!(self)
            }
        })*
    };
}

written_as_json! {
    u32 u64 usize f64 String PathBuf Vec<u64> Vec<String> Vec<PathBuf> BTreeMap<String, OwnMetric>
    Vec<SourceKind> ArrayState Blocks ClockChoice Disturbance LabChoice Legacy Remake Until Verify
}

impl PlanValue for bool {
    fn to_plan(&self) -> Value {
        if *self { json!(true) } else { Value::Null }
    }
}

impl<T: PlanValue> PlanValue for Option<T> {
    fn to_plan(&self) -> Value {
        self.as_ref().map_or(Value::Null, PlanValue::to_plan)
    }
}

impl PlanValue for Bytes {
    /// A size so that just as many bytes are read back.
    fn to_plan(&self) -> Value {
        let shown = self.to_string();
        json!(if shown.parse() == Ok(*self) { shown } else { format!("{}B", self.0) })
    }
}

impl PlanValue for Duration {
    fn to_plan(&self) -> Value {
        json!(duration_text(*self))
    }
}

/// Keys and values as lines of TOML, without the keys that have their default.
#[derive(Default)]
pub(super) struct PlanLines {
    pub(super) text: String,
    /// The title of a section of which no key was written yet.
    section: Option<String>,
}

impl PlanLines {
    pub(super) fn section(&mut self, title: &str) {
        self.section = Some(title.to_owned());
    }

    /// Writes a key with its value, or nothing if the value is none or empty.
    pub(super) fn put(&mut self, key: &str, value: impl Serialize) {
        let value = json!(value);
        if !is_nothing(&value) {
            self.line(key, &in_toml(&value));
        }
    }

    pub(super) fn line(&mut self, key: &str, value: &str) {
        if let Some(title) = self.section.take() {
            self.text.push_str(&format!("\n{title}\n"));
        }
        self.text.push_str(&format!("{key} = {value}\n"));
    }
}

/// Whether the key is left out with this value: none, or empty.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(keys) => keys.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn in_toml(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(in_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(keys) => {
            let entry = |(key, value): (&String, &Value)| format!("{} = {}", quoted_key(key), in_toml(value));
            format!("{{ {} }}", keys.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        // JSON and TOML write these alike.
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn quoted_key(key: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

/// A string of TOML on one line; invisible and control characters become escapes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            ' ' => quoted.push(letter),
            _ if letter.is_alphanumeric() || letter.is_ascii_graphic() => quoted.push(letter),
            _ => quoted.push_str(&format!("\\U{:08X}", u32::from(letter))),
        }
    }
    quoted + "\""
}
