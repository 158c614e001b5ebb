//! What a plan that repeats a study has in the data format.

use serde_json::json;

use crate::fixtures::{Story, data_of, id};
use fsverdict_judgement::plan::{Assertion, Denominator, Legacy, Operation, PhaseWork, Published};

fn published(phase: &str, claim: Assertion) -> Published {
    Published {
        finding: "a finding".to_owned(),
        source: "somewhere, table 1".to_owned(),
        phase: phase.to_owned(),
        metric: "durable".to_owned(),
        about_cpu: false,
        figures: [("xfs".to_owned(), 20.0)].into(),
        unit: "s".to_owned(),
        claim,
    }
}

/// A run whose plan holds two published findings, and a way to combine runs.
pub(super) fn study() -> Story {
    let mut story = Story::new(&["ext4", "xfs"], &["raw", "read", "write"]);
    for (phase, operation) in
        story.plan.phases.iter_mut().zip([Operation::DeviceRead, Operation::TreeRead, Operation::TreeWrite])
    {
        phase.work = PhaseWork::Operation(operation);
    }
    story.plan.protocol.legacy = Some(Legacy::TrimmedMean);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let better = Assertion::Better {
        better: names(&["ext4"]),
        than: names(&["xfs"]),
        by: 1.5,
        than_phase: None,
        of: Denominator::default(),
    };
    let reach = Assertion::Reach {
        reach: names(&["xfs", "jfs"]),
        share: 0.9,
        of_metric: Some("returned".to_owned()),
        of_phase: None,
    };
    story.plan.published = vec![published("write", better), published("read", reach)];
    for block in 1..=4 {
        story.open_block(block, 1, &["ext4", "xfs"]);
        story.trial(&id(block, "ext4"), &[("raw", 1.0), ("read", 2.0), ("write", f64::from(block))]);
        story.trial(&id(block, "xfs"), &[("raw", 1.0), ("read", 2.0), ("write", 10.0)]);
        story.close_block(block, 1, None);
    }
    story.finish();
    story
}

#[test]
fn a_study_is_there_for_programs_too() {
    let document = data_of(&study());
    let first = &document["findings"][0];
    assert_eq!((&first["now"], &first["claim"]["by"]), (&json!("holds"), &json!(1.5)), "{first}");
    assert_eq!((&first["figures"]["xfs"], &first["source"]), (&json!(20.0), &json!("somewhere, table 1")));
    assert_eq!((&first["because"]["kind"], &first["because"]["limit"]), (&json!("pair"), &json!(1.5)));
    let mean = 24.0_f64.powf(0.25);
    assert!((first["measured"][0]["point"].as_f64().unwrap() - mean).abs() < 1e-9, "{first}");
    let second = &document["findings"][1];
    assert_eq!((&second["now"], &second["missing"]), (&json!("holds"), &json!(["jfs"])), "{second}");
    assert_eq!(second["because"]["kind"], "share");
    let legacy = &document["legacy"];
    assert_eq!((&legacy["estimator"], &legacy["unit"]), (&json!("trimmed-mean"), &json!("s")));
    let combined = legacy["estimates"].as_array().unwrap();
    let of = |phase| combined.iter().find(|one| one["candidate"] == "ext4" && one["phase"] == phase);
    assert_eq!((&of("write").unwrap()["point"], &of("write").unwrap()["n"]), (&json!(2.5), &json!(4)));
    let shares = document["raw_shares"].as_array().unwrap();
    let share = shares.iter().find(|one| one["candidate"] == "xfs" && one["phase"] == "read").unwrap();
    let near = (share["share"].as_f64().unwrap() - 0.5).abs() < 1e-9;
    assert!(near && share["metric"] == "throughput", "{shares:?}");
}
