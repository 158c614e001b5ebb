//! Tests of the work that is too little to decide by.

use super::{TooLittle, list_too_little};
use crate::journal::{Event, Measurement, Observation, Unit, made};
use crate::plan::Plan;
use crate::verdict::{ByBlock, FreeComputation, Objective, Rank, VerdictEvidence};
use serde_json::{Value, json};

/// A plan of two candidates with these phases of its goal.
fn plan(goal: &Value, phases: &Value) -> Plan {
    made::plan(&json!({
        "candidates": [
            { "name": "a", "filesystem": "ext4", "encryption": "none" },
            { "name": "b", "filesystem": "xfs", "encryption": "none" },
        ],
        "phases": phases,
        "goal": goal,
    }))
}

/// The reasons for two candidates that both made these observations.
fn list_reasons(plan: &Plan, observations: &[Observation]) -> Vec<String> {
    list_reasons_of(plan, [observations, observations])
}

/// The reasons for two candidates with observations of their own.
fn list_reasons_of(plan: &Plan, observations: [&[Observation]; 2]) -> Vec<String> {
    let mut events = vec![(None, made::started()), (None, made::block_started(1, 1, &["a", "b"]))];
    for (name, observations) in ["a", "b"].into_iter().zip(observations) {
        let id = Some(made::id(1, name));
        events.push((id.clone(), Event::TrialStarted {}));
        let own = observations.iter().map(|one| (id.clone(), Event::Observation(one.clone())));
        events.extend(own);
        events.push((id, made::ended(None, 1.0)));
    }
    events.push((None, Event::BlockFinished { block: 1, attempt: 1, invalid: None }));
    let run = &made::run(plan, events);
    let objective = Objective::from_run(plan, run);
    let trials = ByBlock::of_run(run, &run.trials);
    let free = FreeComputation::default();
    let evidence = VerdictEvidence { plan, run, objective: &objective, trials: &trials, free: &free };
    let rank = |name: &str| Rank { candidate: name.to_owned(), behind: None, total: None };
    list_too_little(&evidence, &[rank("a"), rank("b")]).iter().map(TooLittle::to_string).collect()
}

fn took(phase: &str, seconds: f64) -> Observation {
    made::measured(phase, &[("durable", Unit::Seconds, seconds)])
}

#[test]
fn a_job_below_a_second_is_too_short_unless_it_is_repeated() {
    let plan = plan(&json!({ "metric": "durable", "by": "total", "weights": { "replay": 1.0 } }), &json!([]));
    assert_eq!(
        list_reasons(&plan, &[took("replay", 0.0053)]),
        ["all of the work, done once, takes 5.3 ms: too little to decide about a day's work"]
    );
    let repeated: Vec<Observation> =
        (0..200).map(|repetition| Observation { repetition, ..took("replay", 0.0053) }).collect();
    assert!(list_reasons(&plan, &repeated).is_empty());
    // A slow rival does not make the work of the other one more.
    let slow = [took("replay", 5.0)];
    assert_eq!(list_reasons_of(&plan, [&[took("replay", 0.33)], &slow]).len(), 1);
    // The only phase is all of the goal by design.
    assert!(list_reasons(&plan, &[took("replay", 5.0)]).is_empty());
}

#[test]
fn one_of_several_phases_that_is_nearly_all_of_a_total_is_named() {
    let phases = [took("boot", 2.0), took("commit", 0.5)];
    let total = |times: f64| {
        let weights = json!({ "boot": 1.0, "commit": times });
        list_reasons(
            &plan(&json!({ "metric": "durable", "by": "total", "weights": weights }), &json!([])),
            &phases,
        )
    };
    assert_eq!(total(46.0), ["the phase `commit` is 92 % of the goal: the verdict is about it alone"]);
    assert!(total(10.0).is_empty());
    // Each ratio has the plan's weight.
    let ratios = json!({ "metric": "durable", "weights": { "boot": 1.0, "commit": 46.0 } });
    assert!(list_reasons(&plan(&ratios, &json!([])), &phases).is_empty());
    // A published study has the work that it has.
    let mut study = plan(
        &json!({ "metric": "durable", "by": "total", "weights": { "boot": 1.0, "commit": 46.0 } }),
        &json!([]),
    );
    study.protocol.legacy = Some(crate::plan::Legacy::Mean);
    assert!(list_reasons(&study, &phases).is_empty());
}

#[test]
fn a_warm_phase_whose_bytes_the_device_was_not_asked_for_came_from_memory() {
    let work = json!([
        { "name": "write", "work": { "operation": "tree.write" }, "cold": false },
        { "name": "read", "work": { "operation": "tree.read" }, "cold": false },
    ]);
    let weights = json!({ "write": 1.0, "read": 1.0 });
    let plan = plan(&json!({ "metric": "durable", "by": "total", "weights": weights }), &work);
    let read = |cache: &str, asked: f64, seconds: f64| {
        let mut found = took("read", seconds);
        found.cache = cache.to_owned();
        let bytes = |(name, value)| Measurement::new(name, Unit::Bytes, value);
        found.measurements.extend([("logical_bytes", 4e7), ("device_read", asked)].map(bytes));
        list_reasons(&plan, &[took("write", 5.0), found])
    };
    assert!(read("warm", 1e6, 2.0)[0].starts_with("the phase `read` got its data from memory"));
    assert!(read("warm", 2e7, 2.0).is_empty() && read("cold", 1e6, 2.0).is_empty());
    // Too small a part of the goal to matter.
    assert!(!read("warm", 0.0, 0.5)[0].contains("memory"));
}
