//! `[[candidate]]` and `[matrix]`: the configurations under test, spelled out one by one.

use super::candidate_name::name_all;
use super::circumstances::{known_model, memory};
use super::error::ValueError;
use super::limits::{CANDIDATES, check_length};
use super::section::{Placed, Problems, Section};
use super::source::{Node, Value};
use super::value::{absolute_path, filled_text, kernel, name, text};
use super::words::split_words;
use super::{Candidate, Circumstances, DIRECTORY, Vocabulary};

pub(super) const CANDIDATE: &[&str] =
    &["filesystem", "path", "mkfs", "mount", "encryption", "scheduler", "model", "kernel", "memory", "name"];
pub(super) const MATRIX: &[&str] =
    &["filesystem", "mkfs", "mount", "encryption", "scheduler", "model", "kernel", "memory"];

/// What lies on several devices, in a pool of the machine's own, or on another machine.
const MOUNTED: [&str; 13] = [
    "zfs",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "cephfs",
    "lustre",
    "glusterfs",
    "9p",
    "fuse",
    "sshfs",
    "overlay",
];

/// What is done to a device, or chosen for one.
const IN_NO_FOLDER: [&str; 7] = ["mkfs", "mount", "encryption", "scheduler", "model", "kernel", "memory"];

const EXAMPLE: &str = "for example: [matrix] filesystem = [\"ext4\", \"xfs\"]";

/// Reads the single candidates, then every combination of the matrix; all get unique names.
pub(super) fn read_candidates(top: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Vec<Candidate> {
    let (problems, before) = (top.problems, top.problems.count());
    let mut drafts: Vec<Placed<Candidate>> = Vec::new();
    if let Some((entry, nodes)) = top.list("candidate", "candidates") {
        problems.note(entry.key_at, check_length("candidates", Some(nodes.len()), CANDIDATES));
        drafts.extend(nodes.iter().filter_map(|node| read_candidate(node, vocabulary, problems)));
    }
    if let Some(entry) = top.entry("matrix") {
        let combined = read_matrix(&entry.node, vocabulary, problems).unwrap_or_default();
        drafts.extend(combined.into_iter().map(|value| Placed { at: entry.node.at, value }));
    }
    // What is wrong with candidates may be why there is none, or why two are alike.
    if problems.count() == before {
        if drafts.is_empty() {
            top.lacks(top.at, "the plan has no candidate, so there is nothing to compare", EXAMPLE);
        }
        name_all(&mut drafts, problems);
    }
    drafts.into_iter().map(|draft| draft.value).collect()
}

fn read_candidate(
    node: &Node,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Placed<Candidate>> {
    let section = Section::new("[[candidate]]", node, CANDIDATE, problems)?;
    let filesystem = section.needed("filesystem", "filesystem = \"ext4\"", filled_text);
    let path = section.get("path", absolute_path);
    match &filesystem {
        Some(filesystem) if filesystem.value == DIRECTORY => {
            if section.entry("path").is_none() {
                section.lacks(
                    filesystem.at,
                    "this directory has no path",
                    "for example: path = \"/mnt/share\"",
                );
            }
            let hint = "a folder is worked in as it is: nothing is made, mounted or set there";
            section.forbid(&IN_NO_FOLDER, &format!("filesystem = \"{DIRECTORY}\""), hint);
        }
        Some(filesystem) => {
            known_filesystem(filesystem, &[vocabulary.filesystems, &[DIRECTORY]].concat(), problems);
            let hint = format!(
                "a folder to work in goes with filesystem = \"{DIRECTORY}\"; a device is named in [device]"
            );
            section.forbid(&["path"], &format!("filesystem = \"{}\"", filesystem.value), &hint);
        }
        None => {}
    }
    let encryption = section.word("encryption", "encryption", vocabulary.encryptions);
    let mkfs = section.get("mkfs", words).unwrap_or_default();
    let mount = section.get("mount", options).unwrap_or_default();
    let scheduler = section.get("scheduler", scheduler).flatten();
    let under = Circumstances {
        model: section.get("model", known_model(vocabulary.model)),
        kernel: section.get("kernel", kernel),
        memory: section.get("memory", memory),
    };
    let own_name = section.placed("name", name);
    let at = own_name.as_ref().map_or(section.at, |name| name.at);
    let value = Candidate {
        name: own_name.map(|name| name.value).unwrap_or_default(),
        filesystem: filesystem?.value,
        path,
        mkfs,
        mount,
        encryption: encryption.unwrap_or_else(|| "none".to_owned()),
        scheduler,
        under,
    };
    Some(Placed { at, value })
}

/// Notes a filesystem that is not known; of one that no mkfs makes on a device, how it is compared all the same.
fn known_filesystem(word: &Placed<String>, known: &[&str], problems: &Problems) {
    let name = word.value.as_str();
    if MOUNTED.contains(&name) && !known.contains(&name) {
        let hint = format!(
            "mount it, and compare it by a folder on it: [[candidate]] filesystem = \"{DIRECTORY}\" path = \"/where/it/is\""
        );
        problems.add(word.at, format!("`{name}` is not made anew on one device"), hint);
    } else {
        problems.must_be_known(word.at, "filesystem", name, known);
    }
}

fn read_matrix(node: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Vec<Candidate>> {
    let section = Section::new("[matrix]", node, MATRIX, problems)?;
    if section.entry("filesystem").is_none() {
        section.lacks(section.at, "[matrix] lacks `filesystem`", EXAMPLE);
    }
    let known = |what: &str, axis: &Option<Vec<Placed<String>>>, words: &[&str]| {
        for word in axis.iter().flatten() {
            problems.must_be_known(word.at, what, &word.value, words);
        }
    };
    let filesystems = read_axis(&section, "filesystem", filled_text);
    if let Some(folder) = filesystems.iter().flatten().find(|word| word.value == DIRECTORY) {
        let hint = "write, for each folder: [[candidate]] filesystem = \"directory\" path = \"/mnt/share\"";
        problems.add(folder.at, "a directory needs a path, so that it is no value of [matrix]", hint);
        return None;
    }
    for word in filesystems.iter().flatten() {
        known_filesystem(word, vocabulary.filesystems, problems);
    }
    let encryptions = read_axis(&section, "encryption", filled_text);
    known("encryption", &encryptions, vocabulary.encryptions);
    let mkfs = read_axis(&section, "mkfs", words);
    let mounts = read_axis(&section, "mount", options);
    let schedulers = read_axis(&section, "scheduler", scheduler);
    let models = read_axis(&section, "model", known_model(vocabulary.model));
    let kernels = read_axis(&section, "kernel", kernel);
    let memories = read_axis(&section, "memory", memory);
    let filesystems = filesystems?;
    let lengths = [
        filesystems.len(),
        length(&mkfs),
        length(&mounts),
        length(&encryptions),
        length(&schedulers),
        length(&models),
        length(&kernels),
        length(&memories),
    ];
    let product = lengths.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
    problems.note(section.at, check_length("candidates", product, CANDIDATES))?;
    let all = each(vec![Candidate::plain("")], Some(filesystems), |one, value| one.filesystem = value);
    let all = each(all, mkfs, |one, value| one.mkfs = value);
    let all = each(all, mounts, |one, value| one.mount = value);
    let all = each(all, encryptions, |one, value| one.encryption = value);
    let all = each(all, schedulers, |one, value| one.scheduler = value);
    let all = each(all, models, |one, value| one.under.model = Some(value));
    let all = each(all, kernels, |one, value| one.under.kernel = Some(value));
    Some(each(all, memories, |one, value| one.under.memory = Some(value)))
}

/// How many times as many candidates a key makes.
fn length<T>(axis: &Option<Vec<Placed<T>>>) -> usize {
    axis.as_ref().map_or(1, Vec::len)
}

/// Every candidate with every value of a key, or as it is where the key is absent.
fn each<T: Clone>(
    all: Vec<Candidate>,
    axis: Option<Vec<Placed<T>>>,
    set: fn(&mut Candidate, T),
) -> Vec<Candidate> {
    let Some(axis) = axis else { return all };
    let with = |candidate: &Candidate, placed: &Placed<T>| {
        let mut candidate = candidate.clone();
        set(&mut candidate, placed.value.clone());
        candidate
    };
    all.iter().flat_map(|candidate| axis.iter().map(move |placed| with(candidate, placed))).collect()
}

/// The values of one key of the matrix; `None` when the key is absent.
fn read_axis<T: PartialEq>(
    section: &Section<'_>,
    key: &str,
    read: impl Fn(&Node) -> Result<T, ValueError>,
) -> Option<Vec<Placed<T>>> {
    let (problems, entry) = (section.problems, section.entry(key)?);
    let Value::Array(nodes) = &entry.node.value else {
        let found = entry.node.value.kind();
        let hint = "every combination is tried, so each key lists its values: [\"…\", \"…\"]";
        problems.add(entry.node.at, format!("in [matrix], `{key}` must be an array, not {found}"), hint);
        return None;
    };
    if nodes.is_empty() {
        let message = format!("`{key}` is empty, so [matrix] has no combination");
        problems.add(entry.node.at, message, "list at least one value, or take the key out");
    }
    problems
        .note(entry.node.at, check_length(&format!("values of `{key}`"), Some(nodes.len()), CANDIDATES))?;
    let mut axis: Vec<Placed<T>> = Vec::new();
    for node in nodes {
        let result =
            read(node).map_err(|error| ValueError::new(format!("`{key}`: {}", error.message), error.hint));
        let Some(value) = problems.note(node.at, result) else { continue };
        if axis.iter().any(|earlier| earlier.value == value) {
            problems.add(
                node.at,
                format!("`{key}` lists this value twice"),
                "each combination is tried once",
            );
        }
        axis.push(Placed { at: node.at, value });
    }
    Some(axis)
}

/// mkfs options: a string that is split as a shell does, or the words themselves.
fn words(node: &Node) -> Result<Vec<String>, ValueError> {
    let words = match &node.value {
        Value::Text(line) => split_words(line),
        Value::Array(nodes) => nodes.iter().map(text).collect(),
        other => Err(ValueError::new(
            format!("a string or an array of strings is wanted here, not {}", other.kind()),
            "as in \"-O ^dir_index\" or [\"-O\", \"^dir_index\"]",
        )),
    }?;
    no_other_device(words)
}

/// A trial reaches no device but its own, whatever its options say; this only says so before anything has run.
fn no_other_device(words: Vec<String>) -> Result<Vec<String>, ValueError> {
    match words.iter().find(|word| word.contains("/dev/")) {
        None => Ok(words),
        Some(word) => Err(ValueError::new(
            format!("`{word}` names another device"),
            "a trial has no device but the one under test: a journal or log on a device of its own cannot be tried",
        )),
    }
}

/// Mount options, separated by commas.
fn options(node: &Node) -> Result<Vec<String>, ValueError> {
    let line = text(node)?;
    if line.trim().is_empty() {
        return Ok(Vec::new());
    }
    let options: Vec<String> = line.split(',').map(|option| option.trim().to_owned()).collect();
    if options.iter().any(|option| option.is_empty() || option.contains(char::is_whitespace)) {
        return Err(ValueError::new(
            format!("\"{line}\" is not a list of mount options"),
            "mount options are separated by commas, without `-o`, as in \"noatime,compress=zstd\"",
        ));
    }
    no_other_device(options)
}

/// An I/O scheduler; the empty string leaves the device's own.
fn scheduler(node: &Node) -> Result<Option<String>, ValueError> {
    match text(node)? {
        empty if empty.is_empty() => Ok(None),
        _ => name(node).map(Some),
    }
}
