//! Lists the differences between two comparable runs (kernel, options, tools), which may explain changes in the
//! numbers.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use crate::journal::Facts;
use crate::plan::{AXES, Aggregation, Axis, Blocks, Candidate, Plan};
use crate::verdict::{Objective, Slice};
use fsverdict_text::duration_text;

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The candidate it concerns; `None` where it concerns all.
    #[serde(skip)]
    pub candidate: Option<String>,
    /// The subject of the difference: a fact's dotted name, or `candidate: option`.
    pub what: String,
    /// The value in the earlier run; `None` where there was none.
    pub before: Option<String>,
    pub after: Option<String>,
    /// Whether it can change the numbers; the length of a run and the rules that judge its numbers cannot.
    #[serde(skip)]
    pub(crate) explains: bool,
}

/// Keys of a plan's protocol and goal that affect only how the numbers are judged.
const JUDGES: [&str; 8] = [
    "protocol.blocks",
    "protocol.until",
    "protocol.tie",
    "protocol.for",
    "protocol.disturbed",
    "goal.metric",
    "goal.by",
    "goal.weights",
];

/// Facts that explain nothing: they vary from trial to trial, follow from others, or were measured.
const ACCIDENTAL: [&str; 8] = [
    "device.name",
    "device.loop.backing_file",
    "device.erases",
    "device.held",
    "device.medium_written",
    "device.requests",
    "device.seconds",
    "order.seed",
];

/// All differences: options of the common candidates, then the plan's protocol and goal, machine and tools, and the
/// trials' facts.
pub(crate) fn list_differences<'a>(before: &'a Slice, after: &'a Slice, common: &[&str]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for name in common {
        if let Some((one, other)) = before.plan.find_candidate(name).zip(after.plan.find_candidate(name)) {
            differences.extend(of_facts(
                Some(name),
                &differing_options(one, other),
                &differing_options(other, one),
            ));
        }
    }
    differences.extend(of_facts(None, &protocol_facts(&before.plan), &protocol_facts(&after.plan)));
    differences.extend(of_facts(None, &before.run.header.environment, &after.run.header.environment));
    let (one, other) = (&before.run.header.fidelity, &after.run.header.fidelity);
    if one != other {
        differences.push(Difference {
            candidate: None,
            what: "fidelity".to_owned(),
            before: Some(one.clone()),
            after: Some(other.clone()),
            explains: true,
        });
    }
    for name in common {
        differences.extend(of_facts(Some(name), &steady_facts(before, name), &steady_facts(after, name)));
    }
    differences
}

/// The options of a candidate, by the keys that both candidates can have. Paths and environments are left out, because
/// the facts of the trials have them.
fn differing_options(candidate: &Candidate, other: &Candidate) -> Facts {
    let key = |axis: &Axis| {
        let mut keys = [candidate, other]
            .map(|candidate_of_pair| axis.key_of(&axis.level(candidate_of_pair).text()))
            .into_iter();
        keys.find(|key| *key != axis.key).unwrap_or(axis.key)
    };
    let chosen = AXES.iter().filter(|axis| axis.is_chosen());
    let set_levels =
        chosen.map(|axis| (axis, axis.level(candidate))).filter(|(_, level)| !level.is_nothing());
    set_levels.map(|(axis, level)| (key(axis).to_owned(), level.text())).collect()
}

/// The protocol and goal, by the keys of the plan. Of the order only the plan's setting is included, because a random
/// order is different in every run.
fn protocol_facts(plan: &Plan) -> Facts {
    let protocol = &plan.protocol;
    let word = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let blocks = match protocol.blocks {
        Blocks { min, max } if min == max => min.to_string(),
        Blocks { min, max } => format!("{min} to {max}"),
    };
    let values = [
        ("protocol.blocks", Some(blocks)),
        ("protocol.seed", Some(protocol.seed.to_string())),
        ("protocol.order", protocol.order.map(|seed| seed.to_string())),
        ("protocol.until", Some(word(json!(protocol.until)))),
        ("protocol.tie", Some(protocol.tie.to_string())),
        ("protocol.timeout", Some(duration_text(protocol.timeout))),
        ("protocol.for", protocol.budget.map(duration_text)),
        ("protocol.disturbed", protocol.disturbed.map(|limits| word(json!(limits)))),
        ("protocol.circumstances", Some(word(json!(protocol.circumstances)))),
        ("goal.metric", Some(plan.goal.metric.clone())),
        ("goal.by", (plan.goal.by != Aggregation::Ratios).then(|| plan.goal.by.word().to_owned())),
        ("goal.weights", Some(word(json!(Objective::from_plan(plan).weights)))),
        ("cpu", plan.cpu.clone()),
        ("memory", plan.memory.map(|size| size.to_string())),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The facts about a candidate's trials that are the same in all of them.
fn steady_facts(side: &Slice, candidate: &str) -> Facts {
    let mut trials = side.run.counted_trials_of(candidate);
    let Some(first) = trials.next() else { return Facts::new() };
    let mut facts = first.facts.clone();
    for trial in trials {
        facts.retain(|name, value| trial.facts.get(name) == Some(value));
    }
    facts
}

fn of_facts(candidate: Option<&str>, before: &Facts, after: &Facts) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|name| !ACCIDENTAL.contains(&name.as_str()) && before.get(*name) != after.get(*name))
        .map(|name| Difference {
            candidate: candidate.map(str::to_owned),
            what: candidate.map_or_else(|| name.clone(), |candidate| format!("{candidate}: {name}")),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
            explains: !JUDGES.contains(&name.as_str()),
        })
        .collect()
}
