//! Whether a candidate that could be recommended was evaluated in all that the plan asks about: power cuts, corrupted
//! blocks, and bounds on measured values. Speed alone is no answer to a question about lost data.

use std::fmt;

use serde::Serialize;

use crate::journal::Run;
use crate::plan::Plan;
use crate::verdict::{RequirementRelation, RequirementStanding};

/// A property that the plan asks about and that is not known of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingEvaluation {
    /// No state after a power cut was examined.
    PowerCuts,
    /// No corrupted block was examined.
    Rot,
    /// The samples do not show whether the candidate meets this requirement: `commit.p99 <= 10ms`.
    Requirement(String),
}

/// A candidate that could be recommended by the goal, with its unknown properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unevaluated {
    pub candidate: String,
    pub lacks: Vec<MissingEvaluation>,
}

impl fmt::Display for MissingEvaluation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerCuts => formatter.write_str("what it keeps after power cuts"),
            Self::Rot => formatter.write_str("what it makes of rotten blocks"),
            Self::Requirement(requirement) => write!(formatter, "whether it keeps {requirement}"),
        }
    }
}

/// The candidates that have to be evaluated before `leader` can be recommended, and are not: the leader in everything,
/// and `close`, which are not shown to be slower, under faults.
pub(crate) fn unevaluated(
    plan: &Plan,
    run: &Run,
    required: &[RequirementStanding],
    leader: &str,
    close: &[String],
) -> Vec<Unevaluated> {
    let names = std::iter::once(leader).chain(close.iter().map(String::as_str));
    let each = names.map(|name| {
        let mut lacks = missing_faults(plan, run, name);
        if name == leader {
            lacks.extend(open_requirements(required, name));
        }
        Unevaluated { candidate: name.to_owned(), lacks }
    });
    each.filter(|unevaluated| !unevaluated.lacks.is_empty()).collect()
}

/// The faults of the plan that were not examined for a candidate.
fn missing_faults(plan: &Plan, run: &Run, name: &str) -> Vec<MissingEvaluation> {
    let Some(faults) = plan.faults else { return Vec::new() };
    let is_cut = run.power_cuts.iter().any(|cuts| cuts.candidate == name);
    let is_rotten = run.rotten.iter().any(|rotten| rotten.candidate == name);
    let cuts = (faults.power_cuts > 0 && !is_cut).then_some(MissingEvaluation::PowerCuts);
    let rot = (faults.rot > 0 && !is_rotten).then_some(MissingEvaluation::Rot);
    cuts.into_iter().chain(rot).collect()
}

/// The requirements that a candidate is neither shown to meet nor to miss.
fn open_requirements<'a>(
    required: &'a [RequirementStanding],
    name: &'a str,
) -> impl Iterator<Item = MissingEvaluation> + 'a {
    let is_open = |standing: &&RequirementStanding| {
        matches!(standing.relation, RequirementRelation::Open | RequirementRelation::NotMeasured)
    };
    let own = required.iter().filter(move |standing| standing.candidate == name);
    own.filter(is_open).map(|standing| MissingEvaluation::Requirement(standing.requirement.clone()))
}

#[cfg(test)]
mod tests {
    use super::{MissingEvaluation, unevaluated};
    use crate::journal::{Event, PowerCuts, made};
    use serde_json::json;

    #[test]
    fn a_leader_and_its_equals_are_examined_for_all_faults_before_one_is_taken() {
        let plan = made::plan(&json!({
            "candidates": [
                { "name": "a", "filesystem": "ext4", "encryption": "none" },
                { "name": "b", "filesystem": "xfs", "encryption": "none" },
            ],
            "faults": { "power_cuts": 100, "rot": 10 },
        }));
        let cuts: PowerCuts = serde_json::from_value(json!({
            "candidate": "a", "states": 100, "outcomes": {}, "broken": {}, "first": [], "back_s": [0.0, 0.0], "trace": "",
        }))
        .unwrap();
        let events = vec![(None, made::started()), (None, Event::PowerCut(cuts))];
        let run = &made::run(&plan, events);
        let found = unevaluated(&plan, run, &[], "a", &["b".to_owned()]);
        assert_eq!(found[0].lacks, [MissingEvaluation::Rot]);
        assert_eq!(found[1].lacks, [MissingEvaluation::PowerCuts, MissingEvaluation::Rot]);
        let without = made::plan(&json!({}));
        assert!(unevaluated(&without, run, &[], "a", &["b".to_owned()]).is_empty());
    }
}
