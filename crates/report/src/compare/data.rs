//! The comparison as data: JSON that is versioned like the report's own, and CSV with a row for each number and each pair
//! of runs it was compared in. docs/reference/output-formats.md describes every field.

use serde::Serialize;

use crate::compare::{ComparisonReport, word};
use crate::forms::CsvRows;
use crate::forms::csv::{cell, estimate_cells, or_empty};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::verdict::RunComparison;

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct CompareDocument<'a> {
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

pub(super) fn build_document<'a>(report: &ComparisonReport<'a>) -> CompareDocument<'a> {
    let steps = report.steps().map(|(from, to, found)| StepPart { before: run(from), after: run(to), found });
    CompareDocument {
        schema: SCHEMA,
        before: run(report.before),
        after: run(report.after),
        regression: report.found.has_regression(),
        found: &report.found.whole,
        steps: steps.collect(),
    }
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

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "from,to,candidate,phase,metric,unit,before,before_low,before_high,before_n,after,after_low,\
                       after_high,after_n,ratio,ratio_low,ratio_high,p,p_adjusted,outcome";

pub(super) fn write_rows(report: &ComparisonReport<'_>, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
    rows.write_record(COLUMNS.split(','))?;
    let whole = (report.before, report.after, &report.found.whole);
    for (from, to, found) in std::iter::once(whole).chain(report.steps()) {
        for change in found.judged.iter().chain(&found.costs) {
            let names = [&from.header.id, &to.header.id, &change.candidate];
            let what = [change.subject(), &change.metric, change.unit.sign()];
            let mut row: Vec<String> = names.map(|name| cell(name)).to_vec();
            row.extend(what.map(cell));
            for side in [&change.before, &change.after] {
                row.extend(estimate_cells(side));
                row.push(side.n.to_string());
            }
            row.extend(estimate_cells(&change.ratio));
            let judged = change.judged;
            row.extend([or_empty(judged.map(|test| test.p)), or_empty(judged.map(|test| test.p_adjusted))]);
            row.push(judged.map_or("", |test| word(test.outcome)).to_owned());
            rows.write_record(row)?;
        }
    }
    Ok(())
}
