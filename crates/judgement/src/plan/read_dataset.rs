//! Reads `[dataset.NAME]`, the data that phases work on. The keys present decide the kind of dataset.

use std::collections::BTreeMap;

use fsverdict_calls::CallTrace;

use super::keys::{PlanLines, PlanValue, fill_keys, key_names};
use super::tree_form::TREE;
use super::{Dataset, TreeShape, Vocabulary};
use fsverdict_text::value::{absolute_path, count, share, size, text};
use fsverdict_text::{Node, Problems, Reason, Section, TomlEntry, TomlValue};

/// The keys of all kinds of datasets.
pub(super) fn dataset_keys() -> Vec<&'static str> {
    [&key_names(TREE)[..], &["path", "file", "flat", "file_size", "calls"]].concat()
}

/// Files for each directory of a tree without `directories` in its plan, as in sources of programs.
const FILES_IN_DIRECTORY: u64 = 12;
/// Names that would hide a variable a command line depends on.
const TAKEN: &[&str] = &[
    "mount", "device", "path", "home", "ifs", "pwd", "oldpwd", "shell", "user", "lang", "term", "tmpdir",
    "env", "ps1", "ps2", "ps4", "optind", "optarg", "ppid", "cdpath", "lineno",
];

/// The datasets by name; `None` stands for one in which something is wrong.
pub(super) type Datasets = BTreeMap<String, Option<Dataset>>;

/// The name of the environment variable in which a command line finds a dataset.
pub fn variable(dataset: &str) -> String {
    dataset.to_ascii_uppercase()
}

/// The variables that command lines get of a dataset besides its place: `$ISO_BYTES`, `$ISO_MIB` and `$ISO_FILES` for
/// `iso`.
const MEASURES: [&str; 3] = ["bytes", "mib", "files"];

/// The name of the environment variable in which a command line finds one of the `MEASURES` of a dataset.
pub fn measure_variable(dataset: &str, measure: &str) -> String {
    variable(&format!("{dataset}_{measure}"))
}

/// Every variable that a dataset gives command lines.
pub(super) fn variables(dataset: &str) -> Vec<String> {
    let measures = MEASURES.iter().map(|measure| measure_variable(dataset, measure));
    std::iter::once(variable(dataset)).chain(measures).collect()
}

pub(super) fn read_datasets(top: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Datasets {
    let Some(entry) = top.entry("dataset") else { return Datasets::new() };
    let TomlValue::Table(table) = &entry.node.value else {
        let hint = "write [dataset.tree], with single brackets";
        top.problems.add(entry.key_at, "a dataset has a name", hint);
        return Datasets::new();
    };
    let read = |entry: &TomlEntry| {
        check_name(entry, top.problems);
        (entry.key.clone(), read_dataset(entry, vocabulary, top.problems))
    };
    table.entries.iter().map(read).collect()
}

/// Whether a dataset of this name would hide nothing that command lines need.
pub(super) fn may_be_called(name: &str) -> bool {
    !TAKEN.contains(&name)
}

fn check_name(entry: &TomlEntry, problems: &Problems) {
    if let Err(Reason { what, hint, .. }) = check_dataset_name(&entry.key) {
        problems.add(entry.key_at, what, hint);
    }
}

/// Whether a dataset may have this name.
///
/// # Errors
/// Where command lines could not find it.
pub fn check_dataset_name(name: &str) -> Result<(), Reason> {
    let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if !name.chars().all(letters) || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(Reason::new(
            format!("\"{}\" cannot be the name of a dataset", name.escape_debug()),
            "command lines find a dataset in the variable of its name ($TREE for `tree`), \
             so use lower-case letters a-z, digits and _, a letter first",
        ));
    }
    let other = if !may_be_called(name) {
        format!("command lines need ${} for something else; choose another name", variable(name))
    } else if MEASURES
        .iter()
        .any(|measure| name.strip_suffix(measure).is_some_and(|rest| rest.ends_with('_')))
    {
        format!("${} is how large another dataset is; choose another name", variable(name))
    } else {
        return Ok(());
    };
    Err(Reason::new(format!("a dataset may not be called `{name}`"), other))
}

fn read_dataset(entry: &TomlEntry, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Dataset> {
    let title = format!("[dataset.{}]", entry.key);
    let section = Section::new(&title, &entry.node, &dataset_keys(), problems)?;
    let has = |key: &str| section.entry(key).is_some();
    if has("path") {
        forbid_other_keys(&section, &["path", "size"], "`path` (a real directory)");
        let path = section.need("path", "path = \"/usr/share/doc\"", absolute_path);
        let size = section.get("size", size);
        Some(Dataset::Folder { path: path?, size })
    } else if has("file") {
        forbid_other_keys(&section, &["file", "compressible"], "`file` (one big file)");
        let size = section.need("file", "file = \"2GiB\"", size);
        let compressible = section.get("compressible", share).unwrap_or(0.0);
        Some(Dataset::File { size: size?, compressible })
    } else if has("calls") {
        forbid_other_keys(&section, &["calls"], "`calls` (a trace of calls)");
        let calls = section.need(
            "calls",
            "calls = '''…''', as `fsverdict capture --trace FILE` writes them",
            read_calls,
        );
        Some(Dataset::Trace { calls: calls? })
    } else if has("flat") || has("file_size") {
        forbid_other_keys(&section, &["flat", "file_size"], "`flat` (one directory of small files)");
        let files = section.need_placed("flat", "flat = 60000", count);
        let file_size = section.need("file_size", "file_size = \"1KiB\"", size);
        let (files, file_size) = (files?, file_size?);
        if files.value.checked_mul(file_size.0).is_none() {
            problems.add(files.at, "so many files of that size are more than 16 EiB", "");
        }
        Some(Dataset::Flat { files: files.value, file_size })
    } else if has("profile") || has("files") || has("directories") {
        read_tree(&section, vocabulary)
    } else {
        section.report_missing(
            section.at,
            &format!("{title} does not say what it is"),
            "give it profile, files, directories and size (a generated tree), path (a real directory), \
             file (one big file), calls (a trace of calls) or flat and file_size (one directory of small files)",
        );
        None
    }
}

fn read_tree(section: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Option<Dataset> {
    let mut shape = TreeShape::default();
    let complete = fill_keys(TREE, section, &mut shape);
    if !section.has_key("directories") {
        shape.directories = (shape.files / FILES_IN_DIRECTORY).max(1);
    }
    if let Some(entry) = section.entry("profile").filter(|_| !shape.profile.is_empty()) {
        section.problems.must_be_known(entry.node.at, "tree profile", &shape.profile, vocabulary.profiles);
    }
    if let (Some(duplicates), Some(hard_links)) = (shape.duplicates, shape.hard_links)
        && let Some(entry) = section.entry("hard_links")
        && duplicates + hard_links > 1.0
    {
        section.problems.add(
            entry.node.at,
            "`duplicates` and `hard_links` together are more than all files",
            "both are shares of the files, and their sum may be 1 at most",
        );
    }
    if section.has_key("links") {
        section.forbid_keys(&["hard_links"], "`links`", "`links` already sets how many names each file has");
    }
    if !section.has_key("symlinks") {
        let hint = "symlinks = 0.05: how many there are";
        section.forbid_keys(&["target_lengths"], "a tree without `symlinks`", hint);
    }
    complete.map(|()| Dataset::Tree(shape))
}

impl Dataset {
    pub(super) fn write_keys(&self, lines: &mut PlanLines) {
        match self {
            Dataset::Tree(shape) => lines.put_keys(TREE, shape),
            Dataset::Flat { files, file_size } => {
                lines.put("flat", files);
                lines.put("file_size", file_size.to_plan());
            }
            Dataset::Trace { calls } => lines.line("calls", &format!("'''\n{calls}'''")),
            Dataset::File { size, compressible } => {
                lines.put("file", size.to_plan());
                lines.put("compressible", compressible);
            }
            Dataset::Folder { path, size } => {
                lines.put("path", path);
                lines.put("size", size.to_plan());
            }
        }
    }
}

/// The lines of a trace.
fn read_calls(node: &Node) -> Result<CallTrace, Reason> {
    text(node)?.parse()
}

/// Notes every key that belongs to another kind of dataset.
fn forbid_other_keys(section: &Section<'_>, allowed: &[&str], with: &str) {
    let others: Vec<&str> = dataset_keys().into_iter().filter(|key| !allowed.contains(key)).collect();
    section.forbid_keys(&others, with, &format!("beside it may stand: {}", allowed[1..].join(", ")));
}
