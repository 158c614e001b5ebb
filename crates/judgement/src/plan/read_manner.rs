//! Reads how a phase does its work: its pace, how full it makes the filesystem, its sequences, and its devices.

use super::read_work::operation_of;
use super::value::{read_repetitions, read_sync_interval};
use super::{ArrayState, Needs, Operation, Pace, PhaseWork};
use fsverdict_text::value::{share, text};
use fsverdict_text::{Node, Placed, Reason, Section};

/// How often it is done again within a trial.
pub(super) fn read_repeat(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> Option<u32> {
    if !operation_of(work).is_some_and(Operation::leaves_all_as_it_was) {
        let hint = "only what reads or checks can be done again on the same files";
        section.forbid_keys(&["repeat"], "a phase that changes something, or may", hint);
    }
    section.get("repeat", read_repetitions)
}

/// The share of the files that changes.
pub(super) fn read_changed(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> Option<f64> {
    if !operation_of(work).is_some_and(|operation| operation.takes("changed")) {
        let but = anything_but([Operation::RotationNext, Operation::RotationClone, Operation::AgePull]);
        section.forbid_keys(&["changed"], &but, "only there a part of the files changes");
    }
    section.get("changed", share)
}

/// How full the filesystem is in the end, as a share.
pub(super) fn read_to(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> Option<f64> {
    match work {
        Some(Placed { value: PhaseWork::Operation(operation), at }) if operation.takes("to") => {
            if section.entry("to").is_none() {
                let hint = "for example to = 0.95, as a share of the space that df(1) shows for ordinary users; 1 fills it completely";
                section.report_missing(*at, &format!("`{operation}` needs to know how full"), hint);
            }
        }
        _ => {
            let but = anything_but([Operation::SpaceFill, Operation::SpaceFree, Operation::AgeChurn]);
            section.forbid_keys(&["to"], &but, "only they go on until so much of the filesystem is in use");
        }
    }
    section.get("to", share)
}

fn anything_but([first, second, third]: [Operation; 3]) -> String {
    format!("anything but `{first}`, `{second}` and `{third}`")
}

/// How long sequences are, and how many of them are done.
pub(super) fn read_sequences(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
) -> (Option<u32>, Option<u32>) {
    /// Sequences of three calls are more than a million.
    const MOST: u32 = 200_000;
    let steps = section.get_placed("steps", read_sync_interval);
    let sequences = section.get("sequences", read_sync_interval);
    let Some(Placed { value: PhaseWork::Operation(Operation::Sequences), at }) = work else {
        return (None, None);
    };
    let hint = "steps = 2: of one call, two, or, drawn by the seed, three";
    match &steps {
        None if section.entry("steps").is_none() => {
            section.report_missing(*at, "`sequences` needs to know how many calls each has", hint);
        }
        Some(steps) if !(1..=3).contains(&steps.value) => {
            section.problems.add(steps.at, format!("sequences have 1 to 3 calls, not {}", steps.value), hint);
        }
        Some(steps) if steps.value == 3 && section.entry("sequences").is_none() => {
            let message = "sequences of three calls are too many to try";
            section.problems.add(steps.at, message, "sequences = 5000: so many, drawn by the seed");
        }
        _ => {}
    }
    if let Some(entry) = section.entry("sequences")
        && sequences.is_some_and(|count| count == 0 || count > MOST)
    {
        let message = format!("1 to {MOST} sequences can be done");
        section.problems.add(entry.node.at, message, "leave it out for all of one or two calls");
    }
    (steps.map(|steps| steps.value), sequences)
}

pub(super) fn read_pace(node: &Node) -> Result<Pace, Reason> {
    match text(node)?.as_str() {
        "unpaced" => Ok(Pace::Unpaced),
        "recorded" => Ok(Pace::Recorded),
        other => Err(Reason::new(
            format!("there is no pace `{}`", other.escape_debug()),
            "`recorded` keeps the pauses between calls, `unpaced` makes each call as soon as the one before has returned",
        )),
    }
}

/// Reads the state of the array of devices during the phase.
pub(super) fn read_state(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> Option<ArrayState> {
    let state = section.get("state", |node| text(node)?.parse());
    if operation_of(work).is_some_and(|operation| operation.needs() != Needs::Mounted) {
        let hint = "only a mounted one can lose a device";
        section.forbid_keys(&["state"], "a phase without the mounted filesystem", hint);
    }
    state
}
