//! The comparison as data: versioned like the report's own JSON. docs/comparing-runs.md describes every field.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::{ComparisonReport, word};
use crate::journal::{Run, Unit};
use crate::report::ReportError;
use crate::statistics::Estimate;
use crate::verdict::{ALPHA, Change, Subject};

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    before: RunPart<'a>,
    after: RunPart<'a>,
    regression: bool,
    goal: GoalPart<'a>,
    alpha: f64,
    tie: f64,
    comparisons: Vec<ChangePart<'a>>,
    information: Vec<ChangePart<'a>>,
    broken: Vec<LeftOutPart<'a>>,
    left_out: Vec<LeftOutPart<'a>>,
    differences: Vec<DifferencePart<'a>>,
    cautions: &'a [String],
}

#[derive(Serialize)]
struct RunPart<'a> {
    id: &'a str,
    title: &'a str,
    started: jiff::Timestamp,
    lab: &'a str,
    fidelity: &'a str,
    plan_digest: &'a str,
    blocks: usize,
}

#[derive(Serialize)]
struct GoalPart<'a> {
    metric: &'a str,
    weights: &'a BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct ChangePart<'a> {
    candidate: &'a str,
    /// `None`: the goal as a whole.
    phase: Option<&'a str>,
    metric: &'a str,
    unit: Unit,
    before: Estimate,
    after: Estimate,
    ratio: Estimate,
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p_adjusted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

#[derive(Serialize)]
struct LeftOutPart<'a> {
    candidate: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct DifferencePart<'a> {
    what: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

/// Writes the comparison as one JSON document.
pub(super) fn render(report: ComparisonReport<'_>, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let text = serde_json::to_string_pretty(&document(&report))?;
    Ok(writeln!(out, "{text}")?)
}

fn document<'a>(report: &'a ComparisonReport<'a>) -> Document<'a> {
    let found = report.found;
    Document {
        schema: SCHEMA,
        before: run(report.before),
        after: run(report.after),
        regression: found.has_regression(),
        goal: GoalPart { metric: &found.metric, weights: &found.weights },
        alpha: ALPHA,
        tie: found.tie,
        comparisons: found.judged.iter().map(change).collect(),
        information: found.costs.iter().map(change).collect(),
        broken: found.broken.iter().map(left_out).collect(),
        left_out: found.left_out.iter().map(left_out).collect(),
        differences: found
            .differences
            .iter()
            .map(|difference| DifferencePart {
                what: &difference.what,
                before: difference.before.as_deref(),
                after: difference.after.as_deref(),
            })
            .collect(),
        cautions: &found.cautions,
    }
}

fn run(run: &Run) -> RunPart<'_> {
    let header = &run.header;
    RunPart {
        id: &header.id,
        title: &header.title,
        started: header.started,
        lab: &header.lab,
        fidelity: &header.fidelity,
        plan_digest: &header.plan_digest,
        blocks: run.complete_blocks(),
    }
}

fn change(change: &Change) -> ChangePart<'_> {
    ChangePart {
        candidate: &change.candidate,
        phase: match &change.subject {
            Subject::Goal => None,
            Subject::Phase(name) => Some(name),
        },
        metric: &change.metric,
        unit: change.unit,
        before: change.before,
        after: change.after,
        ratio: change.ratio,
        p: change.outcome.map(|_| change.p),
        p_adjusted: change.adjusted_p,
        outcome: change.outcome.map(word),
    }
}

fn left_out((candidate, reason): &(String, String)) -> LeftOutPart<'_> {
    LeftOutPart { candidate, reason }
}
