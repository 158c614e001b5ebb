//! Reads the work of a phase: an operation, a command line, or a benchmark program; and the keys that only some
//! operations take.

use super::command_variables::{first_unknown, known_variables};
use super::read_dataset::{Datasets, may_be_called, variables};
use super::{Needs, Operation, PhaseWork, Vocabulary};
use fsverdict_text::value::{filled_text, text};
use fsverdict_text::{Placed, Problems, Section, TextSpan, TomlEntry, suggest};

pub(super) fn read_work(section: &Section<'_>, vocabulary: &Vocabulary<'_>) -> Option<Placed<PhaseWork>> {
    let problems = section.problems;
    let kinds = ["operation", "command", "adapter"];
    let mut present = kinds.iter().filter_map(|kind| section.entry(kind)).collect::<Vec<_>>();
    present.sort_by_key(|entry| entry.key_at);
    let hint =
        "a phase is one of operation (built in), command (a shell line) and adapter (a benchmark program)";
    if present.is_empty() {
        section.report_missing(section.at, "this phase does not say what is done", hint);
    }
    if let [first, second, ..] = present.as_slice() {
        let message = format!("this phase has both `{}` and `{}`", first.key, second.key);
        problems.add(second.key_at, message, hint);
    }
    if section.entry("adapter").is_none() {
        let hint = "options are for adapters; put them into the command line";
        section.forbid_keys(&["options"], "a phase without `adapter`", hint);
    }
    let operation = section.get_placed("operation", filled_text);
    let command = section.get_placed("command", filled_text);
    let adapter = section.get_placed("adapter", filled_text);
    let options = section.get("options", text).unwrap_or_default();
    if let Some(Placed { at, value }) = operation {
        let known: Vec<&str> = Operation::all().map(Operation::name).collect();
        problems.must_be_known(at, "operation", &value, &known);
        return Some(Placed { at, value: PhaseWork::Operation(value.try_into().ok()?) });
    }
    if let Some(Placed { at, value }) = command {
        return Some(Placed { at, value: PhaseWork::Command(value) });
    }
    let Placed { at, value } = adapter?;
    problems.must_be_known(at, "adapter", &value, vocabulary.adapters);
    if let (Err(reason), Some(entry)) =
        ((vocabulary.adapter_options)(&value, &options), section.entry("options"))
    {
        problems.add(entry.node.at, reason.what, reason.hint);
    }
    Some(Placed { at, value: PhaseWork::Adapter { name: value, options } })
}

/// Refuses variables in a command line, or in a program's options, that would not be set: with nothing in its place, a
/// command would copy nothing.
pub(super) fn check_variables(
    work: Option<&Placed<PhaseWork>>,
    options: Option<&TomlEntry>,
    datasets: &Datasets,
    problems: &Problems,
) {
    let (line, at) = match work {
        Some(Placed { at, value: PhaseWork::Command(line) }) => (line, *at),
        Some(Placed { at, value: PhaseWork::Adapter { options: line, .. } }) => {
            (line, options.map_or(*at, |entry| entry.node.at))
        }
        _ => return,
    };
    check_line(line, at, datasets, problems);
}

/// The same of one line for the shell.
pub(super) fn check_line(line: &str, at: TextSpan, datasets: &Datasets, problems: &Problems) {
    let known: Vec<String> = datasets.keys().flat_map(|name| variables(name)).collect();
    if let Some(name) = first_unknown(line, &known) {
        // A dataset with a forbidden name is reported, but not offered as a correction.
        let known: Vec<String> =
            datasets.keys().filter(|name| may_be_called(name)).flat_map(|name| variables(name)).collect();
        let hint = format!(
            "{}; a dataset is found in the variable of its name in capitals, and `${{{name}:-}}` is empty where nothing is set",
            suggest(&name, &known_variables(&known))
        );
        problems.add(at, format!("nothing sets the variable ${name}"), hint);
    }
}

/// The operation, where the work is one.
pub(super) fn operation_of(work: Option<&Placed<PhaseWork>>) -> Option<Operation> {
    work?.value.operation()
}

/// Refuses keys that have no meaning for this kind of work.
pub(super) fn check_work(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) {
    let Some(Placed { value: work, .. }) = work else { return };
    match work {
        PhaseWork::Operation(operation) => {
            section.forbid_keys(&["verify"], "an operation", "built-in operations verify their own data");
            section.forbid_keys(&["network"], "an operation", "built-in operations need none");
            let hint = "built-in operations compute next to nothing";
            section.forbid_keys(&["computing"], "an operation", hint);
            section.forbid_keys(&["metric"], "an operation", "built-in operations print nothing");
            if operation.needs() != Needs::Mounted {
                let keys = ["before", "beside", "after"];
                let hint = "these commands need the mounted filesystem";
                section.forbid_keys(&keys, "a phase without the mounted filesystem", hint);
            }
        }
        PhaseWork::Command(_) => {
            let hint = "write the folder into the command line, below \"$MOUNT\"";
            section.forbid_keys(&["into"], "`command`", hint);
        }
        PhaseWork::Adapter { .. } => {}
    }
    if !matches!(work, PhaseWork::Command(_)) {
        let hint = "what a `command` prints as `promised 1`, `promised 2` and so on is looked for by it";
        section.forbid_keys(&["recheck"], "anything but a command", hint);
    }
}

/// Refuses the keys of other operations than this one.
pub(super) fn forbid_what_is_not_taken(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) {
    for key in ["piece", "sync_every", "pause", "threads", "depth", "pace", "steps", "sequences"] {
        forbid_unless_taken(section, key, work);
    }
}

/// Refuses a key that only some operations take, and names those.
fn forbid_unless_taken(section: &Section<'_>, key: &'static str, work: Option<&Placed<PhaseWork>>) {
    let (Some(work), Some(entry)) = (work, section.entry(key)) else { return };
    let hint = match &work.value {
        PhaseWork::Operation(operation) if operation.takes(key) => return,
        PhaseWork::Operation(_) => format!("remove `{key}`"),
        PhaseWork::Command(_) => "write it into the command line, as that program takes it".to_owned(),
        PhaseWork::Adapter { name, .. } => format!("write it into `options`, as {name} takes it"),
    };
    let names: Vec<&str> =
        Operation::all().filter(|operation| operation.takes(key)).map(Operation::name).collect();
    section.problems.add(entry.key_at, format!("`{key}` goes only with {}", names.join(", ")), &hint);
}
