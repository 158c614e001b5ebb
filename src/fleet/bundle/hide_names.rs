//! Decides which words of a plan and a journal may name a person or machine, and removes those from a bundle.

use serde_json::{Map, Value};

use fsverdict_judgement::journal::DATASET_FACT;

use super::hidden_kind::HiddenKind;
use super::name_patterns::is_public;
use super::names::NameReplacer;
use fsverdict_judgement::plan::{Disclosure, find_axis};

/// Words of the schemas besides those of axes: fixed words, which no user chose.
const OURS: [&str; 16] = [
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
    "staging",
    "clock",
    "operation",
    "profile",
    "until",
    "plan_digest",
];
/// Names that the plan gives and the journal repeats: registered names are replaced in them, but nothing that only
/// looks like a name.
const CHOSEN: [&str; 9] =
    ["candidate", "name", "phase", "step", "order", "dataset", "into", "weights", "under"];
/// Keys of a plan with command lines as values.
const COMMANDS: [&str; 2] = ["command", "options"];
/// Keys of a plan with paths as values, besides those of axes.
const PATHS: [&str; 2] = ["folder", "reads"];
/// Keys in which a plan cites published work.
const CITED: [&str; 2] = ["finding", "source"];
/// The prefix of facts that state the path of a folder and, in brackets, the source of the mount: for a network
/// filesystem, the server's name.
const LOCATION_PREFIX: &str = "folder.";
/// Prefixes of facts with versions and numbers as values.
const VERSIONS: [&str; 6] = ["cpu.", "kernel.", "memory.", "tool.", "fsverdict.", "lab.kernel_release"];
/// The key under which a trial records the content of its datasets.
const HELD: &str = "held";
/// The key of the names of a run's sites.
const SITES: &str = "sites";
/// Last parts of the names of facts that hold a private name and nothing else, with its kind.
const NAMING: [(&str, HiddenKind); 16] = [
    ("label", HiddenKind::Other),
    ("partlabel", HiddenKind::Other),
    ("uuid", HiddenKind::Uuid),
    ("partuuid", HiddenKind::Uuid),
    ("wwn", HiddenKind::Device),
    ("nguid", HiddenKind::Device),
    ("eui", HiddenKind::Device),
    ("hostname", HiddenKind::Host),
    ("user", HiddenKind::User),
    ("identity", HiddenKind::Device),
    ("serial", HiddenKind::Device),
    ("wwid", HiddenKind::Device),
    ("backing_file", HiddenKind::Path),
    ("path", HiddenKind::Path),
    ("folder", HiddenKind::Path),
    ("site", HiddenKind::Site),
];

/// The kind of private name that a fact holds, by the last part of the fact's name.
fn named_by(fact: &str) -> Option<HiddenKind> {
    let last = fact.rsplit('.').next().unwrap_or(fact);
    NAMING.iter().find(|(known, _)| *known == last).map(|(_, kind)| *kind)
}

/// The kind of information that a candidate's axis of this key gives.
fn disclosure_of(key: &str) -> Option<Disclosure> {
    find_axis(key).map(|axis| axis.disclosure)
}

/// Registers the names that a plan or a record gives explicitly.
pub(super) fn register_names(value: &Value, names: &mut NameReplacer) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(text) if key == fsverdict_judgement::journal::MERGED_FACT => {
                        text.split(", ").for_each(|site| names.register(site, HiddenKind::Site));
                    }
                    Some(text) if key != "path" || !text.starts_with("/dev/") => {
                        if let Some(kind) = named_by(key) {
                            names.register(text.trim_start_matches("/dev/disk/by-id/"), kind);
                        }
                        if let Some((_, source)) = split_location(key, text) {
                            names.register(source, HiddenKind::Address);
                        }
                        names.register_homes(text);
                        // Cautions quote the digest, and it looks like the name of a device.
                        if let Some((_, digest)) = split_digest(text) {
                            names.register(digest, HiddenKind::Content);
                        }
                        if COMMANDS.contains(&key.as_str()) {
                            names.register_words(&text.split_whitespace().collect::<Vec<_>>());
                        }
                    }
                    _ => register_names(value, names),
                }
                let sites = value.as_array().filter(|_| key == SITES).into_iter().flatten();
                sites.filter_map(Value::as_str).for_each(|site| names.register(site, HiddenKind::Site));
            }
        }
        Value::Array(values) => {
            let words: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            names.register_words(&words);
            values.iter().for_each(|value| register_names(value, names));
        }
        Value::String(text) => {
            names.register_homes(text);
        }
        _ => {}
    }
}

/// Replaces all names in `value`, in place. `key` is the value's key.
pub(super) fn hide_names(key: &str, value: &mut Value, names: &mut NameReplacer) {
    match value {
        // The content of each dataset is written as in the facts.
        Value::Object(map) if key == HELD => {
            for (dataset, mut value) in std::mem::take(map) {
                hide_names(&format!("{DATASET_FACT}{dataset}"), &mut value, names);
                map.insert(names.without_known(&dataset), value);
            }
        }
        Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                hide_names(&key, &mut value, names);
                map.insert(names.without_known(&key), value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide_names(key, value, names)),
        Value::String(_) if OURS.contains(&key) || disclosure_of(key) == Some(Disclosure::Nothing) => {}
        Value::String(text) if CHOSEN.contains(&key) || VERSIONS.iter().any(|known| key.contains(known)) => {
            *text = names.without_known(text);
        }
        Value::String(text) if key.starts_with(DATASET_FACT) => {
            *text = hide_digest(text, names);
        }
        Value::String(text) if CITED.contains(&key) => {
            names.cites = true;
            *text = names.without_any(text);
            names.cites = false;
        }
        // A path may contain anything, so the whole path is replaced.
        Value::String(text)
            if (PATHS.contains(&key) || disclosure_of(key) == Some(Disclosure::Path))
                && text.starts_with('/')
                && !is_public(text) =>
        {
            *text = names.pseudonym(text, HiddenKind::Path);
        }
        Value::String(text) if key.starts_with(LOCATION_PREFIX) => *text = without_source(text, names),
        Value::String(text) => {
            *text = match named_by(key) {
                Some(HiddenKind::Device) => names.pseudonym(text, HiddenKind::Device),
                _ => names.without_any(text),
            };
        }
        _ => {}
    }
}

/// Splits the value of a folder's fact into the folder's path and the source of the mount: a server's share, a pool.
fn split_location<'a>(fact: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let (before, rest) = text.rsplit_once(" (").filter(|_| fact.starts_with(LOCATION_PREFIX))?;
    Some((before, rest.strip_suffix(')')?))
}

/// Replaces the source of the mount (a server, a share, a pool) in the value of a folder's fact.
fn without_source(text: &str, names: &mut NameReplacer) -> String {
    match split_location(LOCATION_PREFIX, text) {
        Some((before, source)) => {
            let before = names.without_any(before);
            format!("{before} ({})", names.pseudonym(source, HiddenKind::Address))
        }
        None => names.without_any(text),
    }
}

/// Replaces the digest of a folder's content: a true digest would show whether two folders hold the same files.
fn hide_digest(text: &str, names: &mut NameReplacer) -> String {
    match split_digest(text) {
        Some((before, digest)) => {
            format!("{before}(digest {})", names.pseudonym(digest, HiddenKind::Content))
        }
        None => names.without_any(text),
    }
}

/// Splits a folder's content description into the text and the digest.
fn split_digest(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once("(digest ")?;
    Some((before, rest.strip_suffix(')')?))
}

/// Removes the output of commands, except of failed ones if it is wanted, and the reasons of failed trials, which
/// quote it. Returns the kind of text that was removed, as a plural noun.
pub(super) fn leave_out(record: &mut Map<String, Value>, names: &NameReplacer) -> Option<&'static str> {
    let went_well = record.get("exit").and_then(Value::as_i64) == Some(0);
    let text_of =
        |record: &Map<String, Value>, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    // Output may mention the user's files, and their names look like ordinary words.
    let quoted = names.failed_output && !names.own_files;
    match text_of(record, "event").as_deref() {
        Some("command") if went_well || !quoted => {
            let removed = ["stdout", "stderr"].map(|key| record.remove(key).is_some());
            removed.contains(&true).then_some("outputs of commands")
        }
        Some("trial_finished") if !quoted && text_of(record, "status").as_deref() == Some("failed") => {
            let why = "left out: it may quote what a command said";
            record.insert("reason".to_owned(), why.into());
            record.remove("hint");
            Some("reasons of failed trials")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HiddenKind, NameReplacer, hide_names};

    #[test]
    fn a_shipped_models_name_stays_where_a_host_is_called_like_a_part_of_it() {
        let mut names = NameReplacer::new([7; 16]).unwrap();
        names.register("vm", HiddenKind::Host);
        let mut value = json!({
            "cpu": "epyc-vm",
            "model": "sata-ssd:filled",
            "basis": "priced as on epyc-vm (2 processors)",
            "title": "a night on vm",
        });
        let before = value.clone();
        hide_names("", &mut value, &mut names);
        for key in ["cpu", "model", "basis"] {
            assert_eq!(value[key], before[key]);
        }
        assert!(value["title"].as_str().unwrap().starts_with("a night on host-"), "{value}");
    }
}
