//! Cautions about the comparison of two runs.

use crate::verdict::{ContrastOutcome, Slice};

use super::{FEWEST_TO_TEST, MetricChange, RunComparison, is_simulated};

pub(crate) fn list_cautions(before: &Slice, after: &Slice, found: &RunComparison) -> Vec<String> {
    let mut cautions = Vec::new();
    let sizes = found.judged.iter().map(|change| (change.before.n, change.after.n));
    if let Some((one, other)) = sizes.min_by_key(|(one, other)| one.min(other).to_owned())
        && one.min(other) < FEWEST_TO_TEST
    {
        cautions.push(format!(
            "too few blocks: with {one} before and {other} after nothing can be tested; {FEWEST_TO_TEST} in each run are needed"
        ));
    }
    let weights = &found.goal.weights;
    let is_goal = |change: &&MetricChange| {
        change.phase.as_ref().is_none_or(|name| weights.len() == 1 && weights.contains_key(name))
    };
    let goals: Vec<Option<ContrastOutcome>> =
        found.judged.iter().filter(is_goal).map(MetricChange::outcome).collect();
    for (outcome, word) in [(ContrastOutcome::Behind, "worse"), (ContrastOutcome::Better, "better")] {
        if goals.len() > 1 && goals.iter().all(|goal| *goal == Some(outcome)) {
            cautions.push(format!(
                "every candidate got {word}: that speaks of machine, kernel or device rather than of a filesystem"
            ));
        }
    }
    for name in moved_without_cause(found) {
        cautions.push(format!(
            "{name} changed, and nothing that is recorded differs for it: suspect the machine (other load, heat, neighbours) before anything else"
        ));
    }
    if !found.paired {
        cautions.push(
            "the runs are not randomised against each other: whatever else changed between them is in the numbers too"
                .to_owned(),
        );
    }
    if found.between_runs <= 0.0 && !(is_simulated(&before.run) && is_simulated(&after.run)) {
        cautions.push("two runs cannot tell a change from an offset that one of them has as a whole, and none is allowed for".to_owned());
    }
    if before.plan.goal != after.plan.goal
        || before.plan.protocol.tie.to_bits() != after.plan.protocol.tie.to_bits()
    {
        cautions.push("goal or tie differ between the plans: those of the run before are used".to_owned());
    }
    for (side, name) in [(before, "before"), (after, "after")] {
        if side.run.finished.is_none() {
            cautions.push(format!("the run {name} is not finished"));
        }
    }
    cautions
}

/// Candidates with changed results that no recorded difference in candidate or environment explains.
fn moved_without_cause(found: &RunComparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for change in &found.judged {
        let caused = found.differences.iter().any(|difference| {
            difference.explains
                && difference.candidate.as_deref().is_none_or(|candidate| candidate == change.candidate)
        });
        let moved = change.outcome().is_some_and(ContrastOutcome::is_difference);
        if moved && !caused && !names.contains(&change.candidate.as_str()) {
            names.push(&change.candidate);
        }
    }
    names
}
