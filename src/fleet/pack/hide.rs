//! Which words of a plan and a journal may name somebody, and which are our own.

use serde_json::{Map, Value};

use super::names::{Kind, Names};

/// Words of the schemas: whatever they are, nobody chose them.
const OURS: [&str; 19] = [
    "at",
    "event",
    "status",
    "metric",
    "unit",
    "cache",
    "lab",
    "ending",
    "kind",
    "call",
    "filesystem",
    "encryption",
    "scheduler",
    "staging",
    "clock",
    "operation",
    "profile",
    "until",
    "plan_digest",
];
/// Names that the plan gives and the journal repeats: they lose known names, but nothing that only looks like one.
const CHOSEN: [&str; 12] = [
    "candidate",
    "name",
    "phase",
    "step",
    "order",
    "dataset",
    "into",
    "title",
    "weights",
    "finding",
    "source",
    "under",
];
/// How facts begin whose values are versions and numbers.
const VERSIONS: [&str; 6] = ["cpu.", "kernel.", "memory.", "tool.", "fsverdict.", "lab.kernel_release"];
/// How facts end that are nothing but a name.
const NAMING: [(&str, Kind); 7] = [
    ("identity", Kind::Device),
    ("serial", Kind::Device),
    ("wwid", Kind::Device),
    ("backing_file", Kind::Path),
    ("path", Kind::Path),
    ("folder", Kind::Path),
    ("site", Kind::Site),
];

/// What a fact names, by its own name; below `folder.` are folders of the user's.
fn named_by(fact: &str) -> Option<Kind> {
    let last = fact.rsplit('.').next().unwrap_or(fact);
    NAMING.iter().find(|(known, _)| *known == last).map(|(_, kind)| *kind)
}

/// Makes known what a plan or a record names in so many words.
pub(super) fn learn(value: &Value, names: &mut Names) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(text) if key == crate::journal::MERGED_FACT => {
                        text.split(", ").for_each(|site| names.know(site, Kind::Site));
                    }
                    Some(text) if key != "path" || !text.starts_with("/dev/") => {
                        if let Some(kind) = named_by(key) {
                            names.know(text.trim_start_matches("/dev/disk/by-id/"), kind);
                        }
                        names.know_homes(text);
                    }
                    _ => learn(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| learn(value, names)),
        Value::String(text) => names.know_homes(text),
        _ => {}
    }
}

/// Takes all names out, in place. `key` is that of the value.
pub(super) fn hide(key: &str, value: &mut Value, names: &mut Names) {
    match value {
        Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                hide(&key, &mut value, names);
                map.insert(names.without_known(&key), value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(key, value, names)),
        Value::String(_) if OURS.contains(&key) => {}
        Value::String(text) if CHOSEN.contains(&key) || VERSIONS.iter().any(|known| key.contains(known)) => {
            *text = names.without_known(text);
        }
        Value::String(text) if names.own_files && key.starts_with(crate::journal::DATASET_FACT) => {
            *text = content(text, names);
        }
        Value::String(text) => {
            *text = match named_by(key) {
                Some(Kind::Device) => names.pseudonym(text, Kind::Device),
                _ => names.without_any(text),
            };
        }
        _ => {}
    }
}

/// What a folder held, with another digest: the digest says whether two have the same files.
fn content(held: &str, names: &mut Names) -> String {
    match held.split_once("(digest ").and_then(|(before, rest)| Some((before, rest.strip_suffix(')')?))) {
        Some((before, digest)) => format!("{before}(digest {})", names.pseudonym(digest, Kind::Content)),
        None => names.without_any(held),
    }
}

/// Takes out the output of a command that went well, and, where files of the user's are worked with, what failed and might
/// name one of them. What was left out, in the plural.
pub(super) fn leave_out(record: &mut Map<String, Value>, own_files: bool) -> Option<&'static str> {
    let went_well = record.get("exit").and_then(Value::as_i64) == Some(0);
    let of =
        |record: &Map<String, Value>, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    match of(record, "event").as_deref() {
        Some("command") if went_well || own_files => {
            let said = ["stdout", "stderr"].map(|key| record.remove(key).is_some());
            said.contains(&true).then_some("outputs of commands")
        }
        Some("trial_finished") if own_files && of(record, "status").as_deref() == Some("failed") => {
            let why = "left out: it may name files of the user's";
            record.insert("reason".to_owned(), why.into());
            record.remove("hint");
            Some("reasons of failed trials")
        }
        _ => None,
    }
}
