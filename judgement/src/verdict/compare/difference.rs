//! What differs between two runs that can be compared: what the change in the numbers may come from.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Side;
use crate::journal::Facts;
use crate::plan::{AXES, Candidate, Plan};

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The candidate it concerns; `None` where it concerns all.
    #[serde(skip)]
    pub candidate: Option<String>,
    /// What: a fact's dotted name, or `candidate: option`.
    pub what: String,
    /// Its value before; `None` where there was none.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Facts that differ from trial to trial, or follow from others, or were measured, and explain nothing.
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

/// Options of the common candidates first, then machine and tools, then what the trials found.
pub(super) fn differences(before: &Side<'_>, after: &Side<'_>, common: &[&str]) -> Vec<Difference> {
    let mut found = Vec::new();
    for name in common {
        let options = |plan: &Plan| {
            plan.candidates.iter().find(|candidate| candidate.name == *name).map(options).unwrap_or_default()
        };
        found.extend(of_facts(Some(name), &options(before.plan), &options(after.plan)));
    }
    found.extend(of_facts(None, &before.run.header.environment, &after.run.header.environment));
    let (one, other) = (&before.run.header.fidelity, &after.run.header.fidelity);
    if one != other {
        found.push(Difference {
            candidate: None,
            what: "fidelity".to_owned(),
            before: Some(one.clone()),
            after: Some(other.clone()),
        });
    }
    for name in common {
        found.extend(of_facts(Some(name), &steady_facts(before, name), &steady_facts(after, name)));
    }
    found
}

/// What was chosen for a candidate. Where it is worked, and what it is tried under, the facts of its trials tell.
fn options(candidate: &Candidate) -> Facts {
    let chosen = AXES.iter().filter(|axis| axis.is_chosen());
    let said = chosen.map(|axis| (axis, axis.level(candidate))).filter(|(_, level)| !level.is_nothing());
    said.map(|(axis, level)| (axis.key.to_owned(), level.text())).collect()
}

/// The facts about a candidate's trials that were the same in all of them.
fn steady_facts(side: &Side<'_>, candidate: &str) -> Facts {
    let mut trials = side.run.trials.iter().filter(|trial| trial.counts() && trial.id.candidate == candidate);
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
        })
        .collect()
}
