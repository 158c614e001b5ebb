//! Which keys of a phase go with which work: a row for each key that only some operations take, or need.

use super::read_work::operation_of;
use super::{Needs, Operation, OperationEffect, Phase, PhaseWork, Remake};
use fsverdict_text::value::{boolean, filled_text};
use fsverdict_text::{Node, Placed, Reason, Section, TomlValue, join_names, suggest};

/// Keys that only some operations take, and why others do not.
const TAKEN_BY_SOME: [(&str, &str); 5] = [
    ("changed", "only there a part of the files changes"),
    ("to", "only they go on until so much of the filesystem is in use"),
    ("pulls", "only there it is a length"),
    ("rounds", "only there it is a length"),
    (
        "remake",
        "`remake` is for reading the same data twice: from the aged filesystem, and from a fresh copy",
    ),
];

/// Keys that the operations which take them need, the thing that such an operation has to know, and an example.
const NEEDED: [(&str, &str, &str); 5] = [
    ("steps", "how many calls each has", "steps = 2: of one call, two, or, drawn by the seed, three"),
    (
        "to",
        "how full",
        "for example to = 0.95, as a share of the space that df(1) shows for ordinary users; 1 fills it completely",
    ),
    ("pulls", "how long a history", "pulls = 100, with changed = 0.01: a hundredth of the files each"),
    ("rounds", "how long a history", "rounds = 5: five times as much as then lies there is written"),
    ("changed", "how much changes", "changed = 0.01: a hundredth of the files with each pull"),
];

/// Sequences of three calls are more than a million.
const MOST_SEQUENCES: u32 = 200_000;

/// Refuses keys that the work does not take, and reports those that it needs.
pub(super) fn check_keys(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) {
    let operation = operation_of(work);
    if !operation.is_some_and(|operation| operation.takes("repeat")) {
        let hint = "only what reads or checks can be done again on the same files, and `trace.replay` on files written again";
        section.forbid_keys(&["repeat"], "a phase that changes something, or may", hint);
    }
    for (key, hint) in TAKEN_BY_SOME {
        if !operation.is_some_and(|operation| operation.takes(key)) {
            let takers = Operation::all().filter(|operation| operation.takes(key));
            let names: Vec<String> = takers.map(|operation| format!("`{operation}`")).collect();
            section.forbid_keys(
                &[key],
                &format!("anything but {}", join_names(&names, names.len(), "and")),
                hint,
            );
        }
    }
    if operation.is_some_and(|operation| operation.needs() != Needs::Mounted) {
        let hint = "only a mounted one can lose a device";
        section.forbid_keys(&["state"], "a phase without the mounted filesystem", hint);
    }
    if let (Some(work), Some(operation)) = (work, operation) {
        for (key, what, example) in NEEDED {
            // Of a rotation, no file may change; of a pull, some do.
            let is_needed =
                operation.takes(key) && (key != "changed" || operation.effect() == OperationEffect::Ages);
            if is_needed && !section.has_key(key) {
                section.report_missing(work.at, &format!("`{operation}` needs to know {what}"), example);
            }
        }
    }
}

/// Checks how long sequences are, and how many of them are done.
pub(super) fn check_sequences(section: &Section<'_>, phase: &Phase, work: Option<&Placed<PhaseWork>>) {
    if operation_of(work) != Some(Operation::Sequences) {
        return;
    }
    if let (Some(steps), Some(entry)) = (phase.steps, section.entry("steps")) {
        if !(1..=3).contains(&steps) {
            let hint = "steps = 2: of one call, two, or, drawn by the seed, three";
            section.problems.add(entry.node.at, format!("sequences have 1 to 3 calls, not {steps}"), hint);
        } else if steps == 3 && !section.has_key("sequences") {
            let message = "sequences of three calls are too many to try";
            section.problems.add(entry.node.at, message, "sequences = 5000: so many, drawn by the seed");
        }
    }
    if let (Some(count), Some(entry)) = (phase.sequences, section.entry("sequences"))
        && !(1..=MOST_SEQUENCES).contains(&count)
    {
        let message = format!("1 to {MOST_SEQUENCES} sequences can be done");
        section.problems.add(entry.node.at, message, "leave it out for all of one or two calls");
    }
}

/// Reads which files are copied onto a fresh filesystem before the phase: those in its folder, or those that lay there
/// after one of the earlier phases.
pub(super) fn read_remake(
    section: &Section<'_>,
    operation: Option<Operation>,
    earlier: &[Phase],
    into: Option<&str>,
) -> Option<Remake> {
    if !operation?.takes("remake") {
        return None;
    }
    if let (Some(_), Some(entry)) = (section.entry("remake"), section.entry("state")) {
        let hint = "a fresh filesystem is made with all devices present";
        section.problems.add(entry.key_at, "a phase with `remake` has no `state`", hint);
    }
    let there =
        |phase: &&Phase| phase.into.as_deref() == into && matches!(phase.work, PhaseWork::Operation(_));
    let names: Vec<&str> = earlier.iter().filter(there).map(|phase| phase.name.as_str()).collect();
    section.get("remake", |node| parse_remake(node, &names)).flatten()
}

fn parse_remake(node: &Node, names: &[&str]) -> Result<Option<Remake>, Reason> {
    if matches!(node.value, TomlValue::Boolean(_)) {
        return Ok(boolean(node)?.then_some(Remake::Now(true)));
    }
    let name = filled_text(node)?;
    if names.contains(&name.as_str()) {
        return Ok(Some(Remake::After(name)));
    }
    let hint = match names {
        [] => "remake = true copies what lies there".to_owned(),
        names => suggest(&name, names),
    };
    Err(Reason::new(format!("no phase `{name}` before this one works in its folder"), hint))
}
