//! Reads the keys of a phase about age: the length of the history that it goes through, and whether it begins on a
//! fresh filesystem.

use super::read_work::operation_of;
use super::value::read_pulls;
use super::{Operation, Phase, PhaseWork, Remake};
use fsverdict_text::value::{boolean, filled_text};
use fsverdict_text::{Node, Placed, Reason, Section, TomlValue, suggest};

/// How long a history is.
#[derive(Default)]
pub(super) struct AgeSpan {
    pub(super) pulls: Option<u32>,
    pub(super) rounds: Option<u32>,
}

pub(super) fn read_age(section: &Section<'_>, work: Option<&Placed<PhaseWork>>) -> AgeSpan {
    let operation = operation_of(work);
    let read = |key: &'static str, of: Operation, example: &str| {
        let count = section.get(key, read_pulls);
        match work {
            Some(work) if operation == Some(of) => {
                if section.entry(key).is_none() {
                    section.report_missing(
                        work.at,
                        &format!("`{of}` needs to know how long a history"),
                        example,
                    );
                }
            }
            _ => section.forbid_keys(&[key], &format!("anything but `{of}`"), "only there it is a length"),
        }
        count
    };
    let pulls =
        read("pulls", Operation::AgePull, "pulls = 100, with changed = 0.01: a hundredth of the files each");
    let rounds =
        read("rounds", Operation::AgeChurn, "rounds = 5: five times as much as then lies there is written");
    if let (Some(work), Some(Operation::AgePull)) = (work, operation)
        && section.entry("changed").is_none()
    {
        let hint = "changed = 0.01: a hundredth of the files with each pull";
        section.report_missing(
            work.at,
            &format!("`{}` needs to know how much changes", Operation::AgePull),
            hint,
        );
    }
    AgeSpan { pulls, rounds }
}

/// Reads which files are copied onto a fresh filesystem before the phase: those in its folder, or those that lay there
/// after one of the earlier phases.
pub(super) fn read_remake(
    section: &Section<'_>,
    work: Option<&Placed<PhaseWork>>,
    earlier: &[Phase],
    into: Option<&str>,
) -> Option<Remake> {
    if !operation_of(work).is_some_and(|operation| operation.takes("remake")) {
        let but = format!("anything but `{}` and `{}`", Operation::TreeRead, Operation::DirectoryList);
        section.forbid_keys(
            &["remake"],
            &but,
            "`remake` is for reading the same data twice: from the aged filesystem, and from a fresh copy",
        );
        return None;
    }
    if let (Some(_), Some(entry)) = (section.entry("remake"), section.entry("state")) {
        let hint = "a fresh filesystem is made with all devices present";
        section.problems.add(entry.key_at, "a phase with `remake` has no `state`", hint);
    }
    let there =
        |phase: &&Phase| phase.into.as_deref() == into && matches!(phase.work, PhaseWork::Operation(_));
    let names: Vec<&str> = earlier.iter().filter(there).map(|phase| phase.name.as_str()).collect();
    section.get("remake", |node| read_value(node, &names)).flatten()
}

fn read_value(node: &Node, names: &[&str]) -> Result<Option<Remake>, Reason> {
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
