//! Test fixtures: builds journals and plans.

use serde_json::{Value, json};

use fsverdict_judgement::journal::{
    Event, Facts, Fold, Journal, Measurement, Observation, Record, Run, SCHEMA, Status, TrialId, Unit,
};
use fsverdict_judgement::plan::Plan;

/// A minimal plan with these keys, as JSON.
pub fn plan_value(keys: &Value) -> Value {
    let mut plan = json!({
        "title": "t", "lab": "auto", "device": { "source": { "image": 1024 } },
        "protocol": {
            "blocks": { "min": 1, "max": 3 }, "seed": 1, "tie": 0.03, "timeout": { "secs": 600, "nanos": 0 }
        },
        "goal": { "metric": "durable", "weights": {} }, "candidates": [], "phases": []
    });
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    plan
}

pub fn plan(keys: &Value) -> Plan {
    serde_json::from_value(plan_value(keys)).unwrap()
}

/// One event, of a trial or of the run.
pub type ToldEvent = (Option<TrialId>, Event);

pub fn id(block: u32, candidate: &str) -> TrialId {
    TrialId { block, candidate: candidate.to_owned(), attempt: 1 }
}

/// The start of a run with default values.
pub fn started() -> Event {
    Event::RunStarted {
        schema: SCHEMA,
        id: "x".to_owned(),
        title: "t".to_owned(),
        plan_digest: "d".to_owned(),
        lab: "native".to_owned(),
        lab_reason: "r".to_owned(),
        fidelity: "f".to_owned(),
        environment: Facts::new(),
        beginning: fsverdict_judgement::journal::Beginning::default(),
    }
}

pub fn block_started(block: u32, attempt: u32, order: &[&str]) -> Event {
    let order = order.iter().map(|name| (*name).to_owned()).collect();
    Event::BlockStarted { block, attempt, order, place: None }
}

/// The end of a trial, successful or failed for this reason.
pub fn ended(failed: Option<&str>, wall: f64) -> Event {
    let status = if failed.is_some() { Status::Failed } else { Status::Ok };
    let reason = failed.unwrap_or_default().to_owned();
    Event::TrialFinished { status, reason, hint: String::new(), wall }
}

pub fn measured(phase: &str, numbers: &[(&'static str, Unit, f64)]) -> Observation {
    let measurement = |(metric, unit, value): &(&'static str, _, _)| Measurement::new(*metric, *unit, *value);
    Observation {
        phase: phase.to_owned(),
        measurements: numbers.iter().map(measurement).collect(),
        histograms: Vec::new(),
        cache: "fresh".to_owned(),
        repetition: 0,
        unwritten: Vec::new(),
        course: None,
        computation: None,
    }
}

/// A phase that took this many seconds until its data were durable.
pub fn durable(phase: &str, seconds: f64) -> Event {
    Event::Observation(measured(phase, &[("durable", Unit::Seconds, seconds)]))
}

/// A journal with one event per second.
pub fn journal(events: impl IntoIterator<Item = ToldEvent>) -> Journal {
    let record =
        |((trial, event), second)| Record { at: jiff::Timestamp::new(second, 0).unwrap(), trial, event };
    let records = events.into_iter().zip(1_795_000_000..).map(record).collect();
    Journal { path: "j".into(), records, torn: false }
}

/// The run of such a journal.
pub fn run(plan: &Plan, events: impl IntoIterator<Item = ToldEvent>) -> Run {
    let mut fold = Fold::new(plan);
    journal(events).records.into_iter().for_each(|record| fold.add_record(record));
    fold.into_run().unwrap()
}
