//! `[[candidate]]` and `[matrix]`: the configurations under test, spelled out.

use super::axes::AXES;
use super::axis::{Axis, AxisRole, Setting, Spelling};
use super::candidate_name::name_all;
use super::layers::{LIST, split_layer};
use super::limits::{CANDIDATES, check_length};
use super::value::name;
use super::{Candidate, DIRECTORY, Vocabulary};
use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Placed, Problems, Section, TextSpan, TomlValue};

/// Keys of `[[candidate]]`.
pub(super) fn candidate_keys() -> Vec<&'static str> {
    AXES.iter().flat_map(keys_of).chain(["name"]).collect()
}

/// Keys of `[matrix]`.
pub(super) fn matrix_keys() -> Vec<&'static str> {
    in_matrix().flat_map(keys_of).collect()
}

fn keys_of(axis: &Axis) -> impl Iterator<Item = &'static str> {
    axis.spellings().map(|spelling| spelling.key)
}

fn in_matrix() -> impl Iterator<Item = &'static Axis> {
    AXES.iter().filter(|axis| !matches!(axis.role, AxisRole::Place))
}

/// Keys that concern a device, and so have no meaning for a folder.
fn keys_of_no_folder() -> Vec<&'static str> {
    let chosen = in_matrix().filter(|axis| !matches!(axis.role, AxisRole::Filesystem));
    chosen.flat_map(keys_of).collect()
}

/// Filesystem types that lie on another machine, or on another filesystem.
const MOUNTED: [&str; 12] = [
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

const EXAMPLE: &str = "for example: [matrix] filesystem = [\"ext4\", \"xfs\"]";

/// Reads the single candidates, then every combination of the matrix; all get unique names.
pub(super) fn read_candidates(top: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Vec<Candidate> {
    let (problems, before) = (top.problems, top.problems.count());
    let mut drafts: Vec<Placed<Candidate>> = Vec::new();
    if let Some((entry, nodes)) = top.list_of_tables("candidate", "candidates") {
        problems.record_error(entry.key_at, check_length("candidates", Some(nodes.len()), CANDIDATES));
        drafts.extend(nodes.iter().filter_map(|node| read_candidate(node, vocabulary, problems)));
    }
    if let Some(entry) = top.entry("matrix") {
        let combined = read_matrix(&entry.node, vocabulary, problems).unwrap_or_default();
        drafts.extend(combined.into_iter().map(|value| Placed { at: entry.node.at, value }));
    }
    // A fault in a candidate may be the reason that there is none, or that two are alike.
    if problems.count() == before {
        if drafts.is_empty() {
            top.report_missing(top.at, "the plan has no candidate, so there is nothing to compare", EXAMPLE);
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
    let section = Section::new("[[candidate]]", node, &candidate_keys(), problems)?;
    let filesystem = section.need_placed("filesystem", "filesystem = \"ext4\"", filled_text);
    match &filesystem {
        Some(filesystem) if filesystem.value == DIRECTORY => {
            if section.entry("path").is_none() {
                section.report_missing(
                    filesystem.at,
                    "this directory has no path",
                    "for example: path = \"/mnt/share\"",
                );
            }
            let hint = "a folder is worked in as it is: nothing is made, mounted or set there";
            section.forbid_keys(&keys_of_no_folder(), &format!("filesystem = \"{DIRECTORY}\""), hint);
        }
        Some(filesystem) => {
            let known = [vocabulary.filesystems, &[DIRECTORY]].concat();
            known_filesystem(filesystem.at, &filesystem.value, &known, problems);
            let hint = format!(
                "a folder to work in goes with filesystem = \"{DIRECTORY}\"; a device is named in [device]"
            );
            section.forbid_keys(&["path"], &format!("filesystem = \"{}\"", filesystem.value), &hint);
        }
        None => {}
    }
    let mut value = Candidate::with_defaults("");
    for axis in AXES.iter().filter(|axis| !matches!(axis.role, AxisRole::Filesystem)) {
        let Some((spelling, node)) = find_setting(&section, axis) else { continue };
        if let Some(read) = section.get_placed(spelling.key, spelling.read) {
            (read.value)(&mut value);
            must_be_known(spelling, node, vocabulary, problems);
        }
    }
    let own_name = section.get_placed("name", name);
    let at = own_name.as_ref().map_or(section.at, |name| name.at);
    value.name = own_name.map(|name| name.value).unwrap_or_default();
    value.filesystem = filesystem?.value;
    Some(Placed { at, value })
}

/// The value that a section gives on an axis, and the key that it uses. Notes a problem if several keys are used.
fn find_setting<'a>(section: &Section<'a>, axis: &Axis) -> Option<(Spelling, &'a Node)> {
    let mut settings =
        axis.spellings().filter_map(|spelling| Some((spelling, &section.entry(spelling.key)?.node)));
    let first = settings.next()?;
    for (other, _) in settings {
        let (short, list) = (first.0.key, other.key);
        let hint = format!("`{short}` is the short form of `{list}`, for one of them: write either");
        section.forbid_keys(&[list], &format!("`{short}`"), &hint);
    }
    Some(first)
}

/// Notes words that are not known where an axis takes known ones only, each in its place. Those of filesystems are looked at
/// by themselves: a folder may stand in the place of one.
fn must_be_known(spelling: Spelling, node: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) {
    let nodes =
        if let TomlValue::Array(nodes) = &node.value { nodes.as_slice() } else { std::slice::from_ref(node) };
    for node in nodes {
        let TomlValue::Text(word) = &node.value else { continue };
        let (name, options) = if spelling.key == LIST { split_layer(word) } else { (word.as_str(), "") };
        let is_known = spelling
            .known
            .is_none_or(|known| problems.must_be_known(node.at, spelling.noun, name, &known(vocabulary)));
        if spelling.key == LIST && is_known {
            problems.record_error(node.at, (vocabulary.layer)(name, options));
        }
        if spelling.key == "model" {
            problems.record_error(node.at, (vocabulary.model)(word, None));
        }
    }
}

/// Notes a filesystem that is not known; of one that no mkfs makes on a device, how it is compared all the same.
fn known_filesystem(at: TextSpan, name: &str, known: &[&str], problems: &Problems) {
    if MOUNTED.contains(&name) && !known.contains(&name) {
        let hint = format!(
            "mount it, and compare it by a folder on it: [[candidate]] filesystem = \"{DIRECTORY}\" path = \"/where/it/is\""
        );
        problems.add(at, format!("`{name}` is not one of the filesystems that fsverdict makes"), hint);
    } else {
        problems.must_be_known(at, "filesystem", name, known);
    }
}

fn read_matrix(node: &Node, vocabulary: &Vocabulary<'_>, problems: &Problems) -> Option<Vec<Candidate>> {
    let section = Section::new("[matrix]", node, &matrix_keys(), problems)?;
    if section.entry("filesystem").is_none() {
        section.report_missing(section.at, "[matrix] lacks `filesystem`", EXAMPLE);
    }
    let mut axes: Vec<(&Axis, Vec<MatrixValue<'_>>)> = Vec::new();
    for axis in in_matrix() {
        let Some((spelling, node)) = find_setting(&section, axis) else { continue };
        let Some(choices) = read_axis(&section, spelling, node) else { continue };
        for choice in choices.iter().filter(|_| matches!(axis.role, AxisRole::Filesystem)) {
            if choice.alone.filesystem == DIRECTORY {
                let hint =
                    "write, for each folder: [[candidate]] filesystem = \"directory\" path = \"/mnt/share\"";
                problems.add(
                    choice.node.at,
                    "a directory needs a path, so that it is no value of [matrix]",
                    hint,
                );
                return None;
            }
            known_filesystem(choice.node.at, &choice.alone.filesystem, vocabulary.filesystems, problems);
        }
        for choice in &choices {
            must_be_known(spelling, choice.node, vocabulary, problems);
        }
        axes.push((axis, choices));
    }
    axes.iter().find(|(axis, _)| matches!(axis.role, AxisRole::Filesystem))?;
    let lengths = || axes.iter().map(|(_, choices)| choices.len());
    let product = lengths().try_fold(1_usize, usize::checked_mul);
    problems.record_error(section.at, check_length("candidates", product, CANDIDATES))?;
    let every = |candidates: Vec<Candidate>, (_, choices): &(&Axis, Vec<MatrixValue<'_>>)| {
        candidates
            .iter()
            .flat_map(|candidate| choices.iter().map(|choice| choice.given_to(candidate)))
            .collect()
    };
    Some(axes.iter().fold(vec![Candidate::with_defaults("")], every))
}

/// A value of a key of the matrix.
struct MatrixValue<'a> {
    node: &'a Node,
    set: Setting,
    /// A candidate with nothing but this.
    alone: Candidate,
}

impl MatrixValue<'_> {
    fn given_to(&self, candidate: &Candidate) -> Candidate {
        let mut candidate = candidate.clone();
        (self.set)(&mut candidate);
        candidate
    }
}

/// The values of one key of the matrix, which stand in this node.
fn read_axis<'a>(section: &Section<'_>, spelling: Spelling, list: &'a Node) -> Option<Vec<MatrixValue<'a>>> {
    let Spelling { key, read, .. } = spelling;
    let problems = section.problems;
    let TomlValue::Array(nodes) = &list.value else {
        let type_name = list.value.type_name();
        let hint = "every combination is tried, so each key lists its values: [\"…\", \"…\"]";
        problems.add(list.at, format!("in [matrix], `{key}` must be an array, not {type_name}"), hint);
        return None;
    };
    if nodes.is_empty() {
        let message = format!("`{key}` is empty, so [matrix] has no combination");
        problems.add(list.at, message, "list at least one value, or take the key out");
    }
    problems
        .record_error(list.at, check_length(&format!("values of `{key}`"), Some(nodes.len()), CANDIDATES))?;
    let mut choices: Vec<MatrixValue<'_>> = Vec::new();
    for node in nodes {
        let result = read(node).map_err(|error| error.after(format!("`{key}`: ")));
        let Some(set) = problems.record_error(node.at, result) else { continue };
        let mut alone = Candidate::with_defaults("");
        set(&mut alone);
        if choices.iter().any(|earlier| earlier.alone == alone) {
            problems.add(
                node.at,
                format!("`{key}` lists this value twice"),
                "each combination is tried once",
            );
        }
        choices.push(MatrixValue { node, set, alone });
    }
    Some(choices)
}
