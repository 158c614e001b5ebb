//! `[dataset.NAME]`: what phases work on. Which keys stand there says which kind of dataset it is.

use std::collections::BTreeMap;

use super::section::{Placed, Problems, Section, absolute_path, count, filled_text, share, size};
use super::source::{Entry, Place, Value};
use super::{Bytes, Dataset, TreeShape, Vocabulary};

/// Keys of all kinds of dataset.
pub(super) const KEYS: &[&str] = &[
    "profile",
    "files",
    "directories",
    "size",
    "compressible",
    "duplicates",
    "hard_links",
    "path",
    "file",
    "flat",
    "file_size",
];

/// Names that would hide a variable a command line depends on.
const TAKEN: &[&str] = &[
    "mount", "device", "path", "home", "ifs", "pwd", "oldpwd", "shell", "user", "lang", "term", "tmpdir",
    "env", "ps1", "ps2", "ps4", "optind", "optarg", "ppid", "cdpath", "mail", "lineno",
];

/// The datasets by name; `None` stands for one in which something is wrong.
pub(super) type Datasets = BTreeMap<String, Option<Placed<Dataset>>>;

/// The name of the environment variable in which a command line finds a dataset.
pub fn variable(dataset: &str) -> String {
    dataset.to_ascii_uppercase()
}

/// What command lines are told of a dataset besides where it is: `$ISO_BYTES`, `$ISO_MIB` and `$ISO_FILES` for `iso`.
const MEASURES: [&str; 3] = ["bytes", "mib", "files"];

/// The name of the environment variable in which a command line finds one of the [`MEASURES`] of a dataset.
pub fn measure_variable(dataset: &str, measure: &str) -> String {
    variable(&format!("{dataset}_{measure}"))
}

/// Reads `[dataset.…]`.
pub(super) fn read_datasets(top: &Section<'_>, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Datasets {
    let mut datasets = Datasets::new();
    let Some(entry) = top.entry("dataset") else { return datasets };
    let Value::Table(table) = &entry.node.value else {
        problems.add(entry.key_at, "a dataset has a name", "write [dataset.tree], with single brackets");
        return datasets;
    };
    for entry in &table.entries {
        check_name(entry, problems);
        let dataset = read_dataset(entry, vocabulary, problems);
        datasets.insert(entry.key.clone(), dataset.map(|value| Placed { at: entry.key_at, value }));
    }
    datasets
}

fn check_name(entry: &Entry, problems: &Problems) {
    let name = entry.key.as_str();
    let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if !name.chars().all(letters) || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        problems.add(
            entry.key_at,
            format!("\"{}\" cannot be the name of a dataset", name.escape_debug()),
            "command lines find a dataset in the variable of its name ($TREE for `tree`), \
             so use lower-case letters a-z, digits and _, a letter first",
        );
    } else if TAKEN.contains(&name) {
        problems.add(
            entry.key_at,
            format!("a dataset may not be called `{name}`"),
            format!("command lines need ${} for something else; choose another name", variable(name)),
        );
    } else if MEASURES
        .iter()
        .any(|measure| name.strip_suffix(measure).is_some_and(|rest| rest.ends_with('_')))
    {
        problems.add(
            entry.key_at,
            format!("a dataset may not be called `{name}`"),
            format!("${} is how large another dataset is; choose another name", variable(name)),
        );
    }
}

fn read_dataset(entry: &Entry, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Dataset> {
    let title = format!("[dataset.{}]", entry.key);
    let section = Section::new(&title, &entry.node, KEYS, problems)?;
    let has = |key: &str| section.entry(key).is_some();
    if has("path") {
        only(&section, &["path", "size"], "`path` (a real directory)");
        let path = section.required("path", "path = \"/usr/share/doc\"", absolute_path);
        let size = section.optional("size", size).map(|size| size.value);
        Some(Dataset::Folder { path: path?.value, size })
    } else if has("file") {
        only(&section, &["file", "compressible"], "`file` (one big file)");
        let size = section.required("file", "file = \"2GiB\"", size);
        let compressible = section.optional("compressible", share).map_or(0.0, |share| share.value);
        Some(Dataset::File { size: size?.value, compressible })
    } else if has("flat") || has("file_size") {
        only(&section, &["flat", "file_size"], "`flat` (one directory of small files)");
        let files = section.required("flat", "flat = 60000", count);
        let file_size = section.required("file_size", "file_size = \"1KiB\"", size);
        let (files, file_size) = (files?, file_size?.value);
        total_fits(files.at, files.value.checked_mul(file_size.0), problems);
        Some(Dataset::Flat { files: files.value, file_size })
    } else if has("profile") || has("files") || has("directories") {
        read_tree(&section, vocabulary, problems)
    } else {
        section.lacks(
            section.at,
            &format!("{title} does not say what it is"),
            "give it profile, files, directories and size (a generated tree), path (a real directory), \
             file (one big file) or flat and file_size (one directory of small files)",
        );
        None
    }
}

fn read_tree(section: &Section<'_>, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Dataset> {
    let profile = section.required("profile", "profile = \"mixed\"", filled_text);
    if let Some(profile) = &profile {
        problems.must_be_known(profile.at, "tree profile", &profile.value, vocabulary.profiles);
    }
    let files = section.required("files", "files = 5000", count);
    let directories = section.required("directories", "directories = 400", count);
    let size: Option<Placed<Bytes>> = section.required("size", "size = \"200MiB\"", size);
    let compressible = section.optional("compressible", share).map(|share| share.value);
    let duplicates = section.optional("duplicates", share);
    let hard_links = section.optional("hard_links", share);
    if let (Some(duplicates), Some(hard_links)) = (&duplicates, &hard_links)
        && duplicates.value + hard_links.value > 1.0
    {
        problems.add(
            hard_links.at,
            "`duplicates` and `hard_links` together are more than all files",
            "both are shares of the files, and their sum may be 1 at most",
        );
    }
    Some(Dataset::Tree(TreeShape {
        profile: profile?.value,
        files: files?.value,
        directories: directories?.value,
        size: size?.value,
        compressible,
        duplicates: duplicates.map(|share| share.value),
        hard_links: hard_links.map(|share| share.value),
    }))
}

/// Notes every key that belongs to another kind of dataset.
fn only(section: &Section<'_>, allowed: &[&str], with: &str) {
    let others: Vec<&str> = KEYS.iter().copied().filter(|key| !allowed.contains(key)).collect();
    section.forbid(&others, with, &format!("beside it may stand: {}", allowed[1..].join(", ")));
}

fn total_fits(at: Place, total: Option<u64>, problems: &Problems) {
    if total.is_none() {
        problems.add(at, "so many files of that size are more than 16 EiB", "");
    }
}
