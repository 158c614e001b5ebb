//! Reads the data of a phase: its dataset, the folder where that lies, and the files that it is compared with.

use std::path::Path;

use super::read_dataset::Datasets;
use super::read_work::operation_of;
use super::value::inside_path;
use super::{Dataset, Operation, OperationEffect, OperationKind, PhaseWork, Verify};
use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Placed, Problems, Section, suggest};

pub(super) const VERIFY: &[&str] = &["dataset", "at"];

pub(super) fn read_dataset_name(section: &Section<'_>, datasets: &Datasets) -> Option<Placed<String>> {
    let chosen = section.get_placed("dataset", filled_text)?;
    if datasets.contains_key(&chosen.value) {
        return Some(chosen);
    }
    let names: Vec<&str> = datasets.keys().map(String::as_str).collect();
    let hint = if names.is_empty() {
        format!("define it: [dataset.{}]", chosen.value)
    } else {
        suggest(&chosen.value, &names)
    };
    section.problems.add(chosen.at, format!("there is no dataset `{}`", chosen.value), hint);
    None
}

/// An operation has a dataset that it can work on, or none where it works on the whole filesystem.
pub(super) fn check_dataset(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&Placed<String>>,
    datasets: &Datasets,
) {
    let Some(Placed { value: PhaseWork::Operation(operation), at }) = work else { return };
    if operation.dataset_kinds().is_empty() {
        let hint = "it works on the whole filesystem";
        section.forbid_keys(&["dataset", "into"], &format!("`{operation}`"), hint);
    } else if let Some(chosen) = dataset {
        check_kind(*operation, chosen, datasets, section.problems);
    } else if section.entry("dataset").is_none() {
        section.report_missing(
            *at,
            &format!("`{operation}` needs a dataset"),
            &describe_needed_kinds(*operation, datasets),
        );
    }
}

fn check_kind(operation: Operation, chosen: &Placed<String>, datasets: &Datasets, problems: &Problems) {
    // A dataset with something wrong in it has no kind; that is reported at the dataset.
    let Some(Some(dataset)) = datasets.get(&chosen.value) else { return };
    if !is_suited(operation, dataset) {
        let is = dataset.kind().describe_kind();
        let message = format!("`{operation}` cannot work on `{}`, which is {is}", chosen.value);
        problems.add(chosen.at, message, describe_needed_kinds(operation, datasets));
    }
    let linked = matches!(dataset, Dataset::Tree(shape)
        if shape.linked().is_some_and(|share| share > 0.0) || shape.form.symlinks.is_some());
    if operation.effect() == OperationEffect::Ages && linked {
        let message =
            format!("`{operation}` cannot work on `{}`, some of whose files are links", chosen.value);
        problems.add(
            chosen.at,
            message,
            "take `hard_links`, `links` and `symlinks` out of it: a file that changes would change under another name",
        );
    }
}

/// Names the kinds of dataset that an operation needs, and the plan's datasets that would do.
fn describe_needed_kinds(operation: Operation, datasets: &Datasets) -> String {
    // The description of a tree covers real folders.
    let kinds = operation.dataset_kinds().iter().filter(|kind| **kind != OperationKind::Folder);
    let wanted: Vec<&str> = kinds.map(|kind| kind.describe_kind()).collect();
    let fitting: Vec<String> = datasets
        .iter()
        .filter(|(_, dataset)| dataset.as_ref().is_some_and(|dataset| is_suited(operation, dataset)))
        .map(|(name, _)| format!("dataset = \"{name}\""))
        .collect();
    let offer = if fitting.is_empty() {
        "this plan has none".to_owned()
    } else {
        format!("write {}", fitting.join(" or "))
    };
    format!("it needs {}; {offer}", wanted.join(" or "))
}

fn is_suited(operation: Operation, dataset: &Dataset) -> bool {
    operation.dataset_kinds().contains(&dataset.kind())
}

pub(super) fn read_verify(node: &Node, datasets: &Datasets, problems: &Problems) -> Option<Verify> {
    let section = Section::new("verify", node, VERIFY, problems)?;
    let example = "verify = { dataset = \"usr\", at = \"usr\" }";
    if section.entry("dataset").is_none() {
        section.need("dataset", example, filled_text);
    }
    let dataset = read_dataset_name(&section, datasets);
    let at = section.need("at", example, inside_path);
    Some(Verify { dataset: dataset?.value, at: at? })
}

/// The folder that an operation works in: its dataset's own, or beside that where it makes another.
pub(super) fn folder_of(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&str>,
    into: Option<String>,
) -> Option<String> {
    let Some(operation) = operation_of(work) else { return into };
    if operation.effect() != OperationEffect::Clones {
        return into.or_else(|| dataset.map(str::to_owned));
    }
    if let (Some(dataset), Some(into), Some(entry)) = (dataset, &into, section.entry("into"))
        && Path::new(into).starts_with(dataset)
    {
        let message = format!("`{operation}` cannot copy `{dataset}` into itself");
        let hint = format!("name a folder beside it: into = \"{dataset}-clone\", or leave `into` out");
        section.problems.add(entry.node.at, message, hint);
    }
    into.or_else(|| Some(format!("{}-clone", dataset?)))
}

/// Refuses to append to one file from several threads: a file has only one end.
pub(super) fn one_file_one_thread(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&Placed<String>>,
    datasets: &Datasets,
) {
    let appends = operation_of(work) == Some(Operation::AppendFsync);
    let Some(Some(Dataset::File { .. })) = dataset.and_then(|name| datasets.get(&name.value)) else { return };
    if appends {
        let hint =
            "give it a directory of files, of which each thread has its own: flat = 4, file_size = \"16MiB\"";
        section.forbid_keys(&["threads"], "`append.fsync` on one big file", hint);
    }
}

/// Calls on names keep their order, which several threads would not; and a bare device has no names.
pub(super) fn check_replay(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    dataset: Option<&Placed<String>>,
    datasets: &Datasets,
) {
    let Some(Placed { value: PhaseWork::Operation(operation), at }) = work else { return };
    let Some(Some(Dataset::Trace { calls })) = dataset.and_then(|name| datasets.get(&name.value)) else {
        return;
    };
    if *operation == Operation::DeviceReplay && !calls.suits_a_device() {
        let hint = "take `trace.replay`, after a phase of `tree.write`; a device has what a log of fio's or of blkparse tells: one file that is there, read and written";
        section.problems.add(*at, "`device.replay` cannot make calls on several files or names", hint);
    }
    if !calls.only_moves_bytes() {
        let hint = "files come and go in it, so that its calls have an order";
        section.forbid_keys(
            &["threads"],
            "a trace that does more than read, write and sync open files",
            hint,
        );
    }
}
