//! What the JSON form tells of a plan that repeats a study: its findings then and now, its own way to combine runs, and
//! rates as shares of the bare device's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;
use super::extra::combined;
use crate::journal::Unit;
use crate::plan::{Claim, Legacy};
use crate::verdict::{Because, Now, ThenAndNow, raw_shares, then_and_now};

/// A finding of the study, held against this run.
#[derive(Serialize)]
pub(super) struct FindingPart {
    finding: String,
    source: String,
    phase: String,
    metric: String,
    figures: BTreeMap<String, f64>,
    unit: String,
    claim: Claim,
    now: &'static str,
    because: BecausePart,
    measured: Vec<MeasuredPart>,
    missing: Vec<String>,
}

/// What a judgement rests on.
#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum BecausePart {
    Pair {
        one: String,
        other: String,
        ratio: f64,
        low: Option<f64>,
        high: Option<f64>,
        limit: f64,
    },
    Share {
        candidate: String,
        of_metric: String,
        of_phase: String,
        share: f64,
        low: Option<f64>,
        high: Option<f64>,
        limit: f64,
    },
    NotMeasured,
    NoDirection,
}

#[derive(Serialize)]
struct MeasuredPart {
    candidate: String,
    unit: Unit,
    point: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
}

/// Runs combined as the study did.
#[derive(Serialize)]
pub(super) struct LegacyPart {
    estimator: Legacy,
    metric: &'static str,
    unit: Unit,
    estimates: Vec<CombinedPart>,
}

#[derive(Serialize)]
struct CombinedPart {
    candidate: String,
    phase: String,
    /// None where the runs are too few for it.
    point: Option<f64>,
    n: usize,
}

/// A rate beside that of the bare device.
#[derive(Serialize)]
pub(super) struct SharePart {
    candidate: String,
    phase: String,
    metric: String,
    share: f64,
}

/// Every published finding.
pub(super) fn findings(report: &Report<'_>) -> Vec<FindingPart> {
    then_and_now(report.plan, &report.estimates).into_iter().map(finding).collect()
}

fn finding(judged: ThenAndNow<'_>) -> FindingPart {
    let published = judged.published.clone();
    let measured = judged.measured.iter().map(|found| MeasuredPart {
        candidate: found.candidate.clone(),
        unit: found.unit,
        point: found.estimate.point,
        low: found.estimate.low,
        high: found.estimate.high,
        n: found.estimate.n,
    });
    FindingPart {
        finding: published.finding,
        source: published.source,
        phase: published.phase,
        metric: published.metric,
        figures: published.figures,
        unit: published.unit,
        claim: published.claim,
        now: match judged.now {
            Now::Holds => "holds",
            Now::NoLonger => "no_longer_holds",
            Now::CannotTell => "cannot_tell",
        },
        because: because(judged.because),
        measured: measured.collect(),
        missing: judged.missing,
    }
}

fn because(because: Because) -> BecausePart {
    match because {
        Because::Pair { one, other, ratio, bounds, limit } => {
            let (low, high) = bounds.unzip();
            BecausePart::Pair { one, other, ratio, low, high, limit }
        }
        Because::Share { candidate, of_metric, of_phase, share, bounds, limit } => {
            let (low, high) = bounds.unzip();
            BecausePart::Share { candidate, of_metric, of_phase, share, low, high, limit }
        }
        Because::NotMeasured(_) => BecausePart::NotMeasured,
        Because::NoDirection => BecausePart::NoDirection,
    }
}

/// The study's own estimator over this run; none where the plan names none.
pub(super) fn legacy(report: &Report<'_>) -> Option<LegacyPart> {
    let estimates = combined(report).into_iter().map(|found| CombinedPart {
        candidate: found.candidate,
        phase: found.phase,
        point: found.value,
        n: found.n,
    });
    Some(LegacyPart {
        estimator: report.plan.protocol.legacy?,
        metric: "durable",
        unit: Unit::Seconds,
        estimates: estimates.collect(),
    })
}

/// Rates as shares of the bare device's; none where that was not measured.
pub(super) fn shares(report: &Report<'_>) -> Vec<SharePart> {
    let part = |found: crate::verdict::RawShare| SharePart {
        candidate: found.candidate,
        phase: found.phase,
        metric: found.metric,
        share: found.share,
    };
    raw_shares(report.plan, &report.estimates).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::plan::{Claim, Legacy, Published, Work};
    use crate::report::fixtures::{Story, id};
    use crate::report::{Format, Report, write};

    fn published(phase: &str, claim: Claim) -> Published {
        Published {
            finding: "a finding".to_owned(),
            source: "somewhere, table 1".to_owned(),
            phase: phase.to_owned(),
            metric: "durable".to_owned(),
            figures: [("xfs".to_owned(), 20.0)].into(),
            unit: "s".to_owned(),
            claim,
        }
    }

    #[test]
    fn a_study_is_told_to_programs_too() {
        let mut story = Story::new(&["ext4", "xfs"], &["raw", "read", "write"]);
        for (phase, operation) in story.plan.phases.iter_mut().zip(["device.read", "tree.read", "tree.write"])
        {
            phase.work = Work::Operation(operation.to_owned());
        }
        story.plan.protocol.legacy = Some(Legacy::TrimmedMean);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let better =
            Claim::Better { better: names(&["ext4"]), than: names(&["xfs"]), by: 1.5, than_phase: None };
        let reach = Claim::Reach {
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
        let run = story.finish().run();
        let report = Report::new(&story.plan, &run, None);
        let mut bytes = Vec::new();
        write(&report, Format::Json, &mut bytes).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let first = &document["findings"][0];
        assert_eq!((&first["now"], &first["claim"]["by"]), (&json!("holds"), &json!(1.5)), "{first}");
        assert_eq!(
            (&first["figures"]["xfs"], &first["source"]),
            (&json!(20.0), &json!("somewhere, table 1"))
        );
        assert_eq!((&first["because"]["kind"], &first["because"]["limit"]), (&json!("pair"), &json!(1.5)));
        assert_eq!(first["measured"][0]["point"], 2.5, "{first}");
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
        assert_eq!((&share["metric"], &share["share"]), (&json!("throughput"), &json!(0.5)), "{shares:?}");
    }
}
