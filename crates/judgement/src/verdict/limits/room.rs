//! The bytes that filesystems hold until they are full, and whether room comes back where files are removed.

use super::Limit;
use crate::journal::Run;
use crate::plan::{Operation, Phase, PhaseWork, Plan};
use crate::statistics;
use fsverdict_text::Bytes;

const MIB: f64 = 1_048_576.0;
/// The least share of the files that should be left, of what the wanted fullness leaves room for.
const LEAST_LEFT: f64 = 0.5;

/// The bytes that each candidate holds, where the plan fills the filesystems completely: speed does not show capacity.
pub(super) fn bytes_held(plan: &Plan, run: &Run) -> Option<Limit> {
    let is_full = |phase: &&Phase| phase.to == Some(1.0) && is_of(phase, Operation::SpaceFill);
    let phase = &plan.phases.iter().rfind(is_full)?.name;
    let whole = |bytes: f64| Bytes(libm::round(bytes / MIB) as u64 * MIB as u64);
    let of = |name: &String| Some((name.clone(), whole(mean_held(run, name, phase)?)));
    let mut held: Vec<_> = run.candidates.iter().filter_map(|state| of(&state.name)).collect();
    held.sort_by_key(|candidate| std::cmp::Reverse(candidate.1.0));
    (!held.is_empty()).then(|| Limit::Held { phase: phase.clone(), held })
}

/// Candidates that had to remove far more files than others to be less full, since removed files give no room back at once.
pub(super) fn room_not_returned(plan: &Plan, run: &Run) -> Option<Limit> {
    let (at, phase) = plan.phases.iter().enumerate().find(|(_, phase)| is_of(phase, Operation::SpaceFree))?;
    let to = phase.to?;
    let full = plan.phases.get(..at)?.iter().rfind(|phase| is_of(phase, Operation::SpaceFill))?;
    let removed = |name: &String| {
        let left = mean_held(run, name, &phase.name)? / mean_held(run, name, &full.name)?;
        (left < LEAST_LEFT * to).then(|| (name.clone(), 1.0 - left))
    };
    let removed: Vec<_> = run.candidates.iter().filter_map(|state| removed(&state.name)).collect();
    (!removed.is_empty()).then(|| Limit::RoomNotReturned { phase: phase.name.clone(), to, removed })
}

fn is_of(phase: &Phase, operation: Operation) -> bool {
    phase.work == PhaseWork::Operation(operation)
}

/// The mean bytes of files that a candidate held at the end of a phase.
fn mean_held(run: &Run, candidate: &str, phase: &str) -> Option<f64> {
    let values = run.counted_values(candidate, phase, "held").into_iter();
    statistics::mean(&values.map(|(_, value)| value).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::room_not_returned;
    use crate::journal::{Event, Unit, made};
    use serde_json::json;

    #[test]
    fn a_filesystem_that_gives_no_room_back_is_named_with_what_it_had_to_remove() {
        let phase = |name: &str, operation: &str, to: f64| json!({ "name": name, "work": { "operation": operation }, "cold": false, "to": to });
        let plan = made::plan(&json!({
            "candidates": [
                { "name": "ext4", "filesystem": "ext4", "encryption": "none" },
                { "name": "nilfs2", "filesystem": "nilfs2", "encryption": "none" },
            ],
            "phases": [phase("fill", "space.fill", 1.0), phase("make-room", "space.free", 0.8)],
        }));
        let said = |nilfs2: f64| {
            let mut events =
                vec![(None, made::started()), (None, made::block_started(1, 1, &["ext4", "nilfs2"]))];
            for (name, left) in [("ext4", 0.8), ("nilfs2", nilfs2)] {
                let id = Some(made::id(1, name));
                events.push((id.clone(), Event::TrialStarted {}));
                for (phase, held) in [("fill", 1.0), ("make-room", left)] {
                    let numbers = [("held", Unit::Bytes, held * 1e9), ("durable", Unit::Seconds, 1.0)];
                    events.push((id.clone(), Event::Observation(made::measured(phase, &numbers))));
                }
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block: 1, attempt: 1, invalid: None }));
            room_not_returned(&plan, &made::run(&plan, events)).map(|limit| limit.to_string())
        };
        assert_eq!(
            said(0.0).unwrap(),
            "nilfs2 gives no room back at once: `make-room` removed all of its files, and it was still more than 80 % full"
        );
        assert!(said(0.03).unwrap().contains("had to remove 97 % of its files to come down to 80 % full"));
        assert!(said(0.75).is_none());
    }
}
