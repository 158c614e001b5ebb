//! `[[phase]]`: the timed steps of the workload.

use super::limits::{PHASES, check_length};
use super::read_dataset::Datasets;
use super::section::{Placed, Problems, Section, boolean, filled_text, inside_path, name, share, text};
use super::source::{Node, Value};
use super::suggest::suggest;
use super::{Dataset, Kind, Needs, Operation, Phase, Verify, Vocabulary, Work};

pub(super) const PHASE: &[&str] = &[
    "name",
    "operation",
    "command",
    "adapter",
    "options",
    "dataset",
    "into",
    "cold",
    "changed",
    "network",
    "verify",
];
pub(super) const VERIFY: &[&str] = &["dataset", "at"];

/// What a trial itself reports under these names; a phase of the same name would be confused with it.
const TAKEN: &[&str] = &["mkfs", "mount", "umount", "unmount", "fsck"];

const EXAMPLE: &str = "for example: [[phase]] name = \"write\" operation = \"tree.write\" dataset = \"tree\"";

/// Reads all `[[phase]]` tables, in order.
pub(super) fn read_phases(
    top: &Section<'_>,
    datasets: &Datasets,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Vec<Phase> {
    let Some(entry) = top.entry("phase") else {
        top.lacks(top.at, "the plan has no phase, so there is nothing to time", EXAMPLE);
        return Vec::new();
    };
    let Value::Array(nodes) = &entry.node.value else {
        problems.add(entry.key_at, "phases are a list", "write [[phase]], with two brackets on each side");
        return Vec::new();
    };
    if nodes.is_empty() {
        problems.add(entry.node.at, "the plan has no phase, so there is nothing to time", EXAMPLE);
    }
    if problems.note(entry.key_at, check_length("phases", Some(nodes.len()), PHASES)).is_none() {
        return Vec::new();
    }
    let mut phases: Vec<Phase> = Vec::new();
    for node in nodes {
        let names: Vec<String> = phases.iter().map(|phase| phase.name.clone()).collect();
        let Some(phase) = read_phase(node, &names, datasets, vocabulary, problems) else { continue };
        if on_bare_device(&phase) && !phases.iter().all(on_bare_device) {
            let hint = "put it before all others: mkfs comes after it";
            problems.add(
                node.at,
                format!("`{}` needs the bare device, but comes after other phases", phase.name),
                hint,
            );
        }
        phases.push(phase);
    }
    phases
}

/// Whether the phase comes before mkfs.
fn on_bare_device(phase: &Phase) -> bool {
    matches!(phase.work, Work::Operation(operation) if operation.needs() == Needs::BareDevice)
}

fn read_phase(
    node: &Node,
    earlier: &[String],
    datasets: &Datasets,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Phase> {
    let section = Section::new("[[phase]]", node, PHASE, problems)?;
    let name = section.required("name", "name = \"write\"", name);
    if let Some(name) = &name {
        if earlier.contains(&name.value) {
            problems.add(
                name.at,
                format!("there are two phases `{}`", name.value),
                "names of phases are unique",
            );
        }
        if TAKEN.contains(&name.value.as_str()) {
            let message = format!("a phase may not be called `{}`", name.value);
            problems.add(
                name.at,
                message,
                "every trial reports a step of that name by itself; choose another",
            );
        }
    }
    let cold = section.optional("cold", boolean).is_some_and(|cold| cold.value);
    let network = section.optional("network", boolean).is_some_and(|network| network.value);
    let into = section.optional("into", inside_path);
    let dataset = read_dataset_name(&section, datasets, problems);
    let verify = section.entry("verify").and_then(|entry| read_verify(&entry.node, datasets, problems));
    let work = read_work(&section, vocabulary, problems);
    if let Some(Placed { value: Work::Operation(operation), at }) = &work {
        section.forbid(&["verify"], "an operation", "built-in operations verify their own data");
        section.forbid(&["network"], "an operation", "built-in operations need none");
        if operation.takes().is_empty() {
            let hint = "it works on the whole filesystem";
            section.forbid(&["dataset", "into"], &format!("`{operation}`"), hint);
        } else if let Some(chosen) = &dataset {
            check_kind(*operation, chosen, datasets, problems);
        } else if section.entry("dataset").is_none() {
            section.lacks(*at, &format!("`{operation}` needs a dataset"), &needs(*operation, datasets));
        }
    }
    if let Some(Placed { value: Work::Command(_), .. }) = &work {
        section.forbid(&["into"], "`command`", "write the folder into the command line, below \"$MOUNT\"");
    }
    let changed = section.optional("changed", share).map(|share| share.value);
    let rotates =
        |work: &Placed<Work>| matches!(work.value, Work::Operation(operation) if operation.takes_changed());
    if !work.as_ref().is_some_and(rotates) {
        section.forbid(
            &["changed"],
            &format!("anything but `{}`", Operation::RotationNext),
            "only there a part of the files changes",
        );
    }
    let dataset = dataset.map(|dataset| dataset.value);
    let work = work?.value;
    let default_into = if matches!(work, Work::Operation(_)) { dataset.clone() } else { None };
    let into = into.map(|into| into.value).or(default_into);
    Some(Phase { name: name?.value, work, dataset, into, cold, changed, network, verify })
}

fn read_work(
    section: &Section<'_>,
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Placed<Work>> {
    let kinds = ["operation", "command", "adapter"];
    let mut present = kinds.iter().filter_map(|kind| section.entry(kind)).collect::<Vec<_>>();
    present.sort_by_key(|entry| entry.key_at);
    let hint =
        "a phase is one of operation (built in), command (a shell line) and adapter (a benchmark program)";
    if present.is_empty() {
        section.lacks(section.at, "this phase does not say what is done", hint);
    }
    if let [first, second, ..] = present.as_slice() {
        problems.add(
            second.key_at,
            format!("this phase has both `{}` and `{}`", first.key, second.key),
            hint,
        );
    }
    if section.entry("adapter").is_none() {
        section.forbid(
            &["options"],
            "a phase without `adapter`",
            "options are for adapters; put them into the command line",
        );
    }
    let operation = section.optional("operation", filled_text);
    let command = section.optional("command", filled_text);
    let adapter = section.optional("adapter", filled_text);
    let options = section.optional("options", text).map(|options| options.value).unwrap_or_default();
    if let Some(Placed { at, value }) = operation {
        let known: Vec<&str> = Operation::all().map(Operation::name).collect();
        problems.must_be_known(at, "operation", &value, &known);
        return Some(Placed { at, value: Work::Operation(value.try_into().ok()?) });
    }
    if let Some(Placed { at, value }) = command {
        return Some(Placed { at, value: Work::Command(value) });
    }
    let Placed { at, value } = adapter?;
    problems.must_be_known(at, "adapter", &value, vocabulary.adapters);
    Some(Placed { at, value: Work::Adapter { name: value, options } })
}

fn read_dataset_name(
    section: &Section<'_>,
    datasets: &Datasets,
    problems: &Problems,
) -> Option<Placed<String>> {
    let chosen = section.optional("dataset", filled_text)?;
    if datasets.contains_key(&chosen.value) {
        return Some(chosen);
    }
    let names: Vec<&str> = datasets.keys().map(String::as_str).collect();
    let hint = if names.is_empty() {
        format!("define it: [dataset.{}]", chosen.value)
    } else {
        suggest(&chosen.value, &names)
    };
    problems.add(chosen.at, format!("there is no dataset `{}`", chosen.value), hint);
    None
}

fn check_kind(operation: Operation, chosen: &Placed<String>, datasets: &Datasets, problems: &Problems) {
    // A dataset with something wrong in it has no kind; that is reported at the dataset.
    let Some(Some(dataset)) = datasets.get(&chosen.value) else { return };
    if !suits(operation, &dataset.value) {
        let is = dataset.value.kind().described();
        let message = format!("`{operation}` cannot work on `{}`, which is {is}", chosen.value);
        problems.add(chosen.at, message, needs(operation, datasets));
    }
}

/// What an operation needs, and which datasets of the plan would do.
fn needs(operation: Operation, datasets: &Datasets) -> String {
    // What is said of a tree covers real folders.
    let kinds = operation.takes().iter().filter(|kind| **kind != Kind::Folder);
    let wanted: Vec<&str> = kinds.map(|kind| kind.described()).collect();
    let fitting: Vec<String> = datasets
        .iter()
        .filter(|(_, dataset)| dataset.as_ref().is_some_and(|dataset| suits(operation, &dataset.value)))
        .map(|(name, _)| format!("dataset = \"{name}\""))
        .collect();
    let offer = if fitting.is_empty() {
        "this plan has none".to_owned()
    } else {
        format!("write {}", fitting.join(" or "))
    };
    format!("it needs {}; {offer}", wanted.join(" or "))
}

fn suits(operation: Operation, dataset: &Dataset) -> bool {
    operation.takes().contains(&dataset.kind())
}

fn read_verify(node: &Node, datasets: &Datasets, problems: &Problems) -> Option<Verify> {
    let section = Section::new("verify", node, VERIFY, problems)?;
    let example = "verify = { dataset = \"usr\", at = \"usr\" }";
    section.required("dataset", example, filled_text);
    let dataset = read_dataset_name(&section, datasets, problems);
    let at = section.required("at", example, inside_path);
    Some(Verify { dataset: dataset?.value, at: at?.value })
}
