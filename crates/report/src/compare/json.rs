//! The comparison as data: versioned like the report's own JSON. docs/reference/output-formats.md describes every field.

use std::io;

use serde::Serialize;

use super::ComparisonReport;
use crate::ReportError;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::verdict::RunComparison;

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct CompareDocument<'a> {
    schema: u32,
    before: ComparedRunJson<'a>,
    after: ComparedRunJson<'a>,
    regression: bool,
    #[serde(flatten)]
    found: &'a RunComparison,
    /// Each run against the one before it, where there are more than two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepPart<'a>>,
}

#[derive(Serialize)]
struct StepPart<'a> {
    before: ComparedRunJson<'a>,
    after: ComparedRunJson<'a>,
    #[serde(flatten)]
    found: &'a RunComparison,
}

#[derive(Serialize)]
struct ComparedRunJson<'a> {
    id: &'a str,
    title: &'a str,
    started: jiff::Timestamp,
    lab: &'a str,
    fidelity: &'a str,
    plan_digest: &'a str,
    blocks: usize,
}

pub(super) fn render(report: ComparisonReport<'_>, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let steps = report.steps().map(|(from, to, found)| StepPart { before: run(from), after: run(to), found });
    let text = serde_json::to_string_pretty(&CompareDocument {
        schema: SCHEMA,
        before: run(report.before),
        after: run(report.after),
        regression: report.found.has_regression(),
        found: &report.found.whole,
        steps: steps.collect(),
    })?;
    Ok(writeln!(out, "{text}")?)
}

fn run(run: &Run) -> ComparedRunJson<'_> {
    let header = &run.header;
    ComparedRunJson {
        id: &header.id,
        title: &header.title,
        started: header.started,
        lab: &header.lab,
        fidelity: &header.fidelity,
        plan_digest: &header.plan_digest,
        blocks: run.complete_blocks(),
    }
}
