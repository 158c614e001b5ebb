//! Writes keys and values as lines of TOML, without the keys that have their default.

use serde::Serialize;
use serde_json::{Value, json};

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
            let one = |(key, value): (&String, &Value)| format!("{} = {}", quoted_key(key), in_toml(value));
            format!("{{ {} }}", keys.iter().map(one).collect::<Vec<_>>().join(", "))
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
