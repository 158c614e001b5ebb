//! The table of devices as data: JSON and CSV.

use serde::Serialize;

use crate::devices::DeviceReport;
use crate::forms::CsvRows;
use crate::forms::csv::{cell, estimate_cells};
use fsverdict_judgement::verdict::{Estimate, OnDevice, Outcome, SiteRatios};

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct DevicesDocument<'a> {
    schema: u32,
    title: &'a str,
    sentence: String,
    n: usize,
    devices: Vec<RowPart<'a>>,
    like_these: Option<&'a SiteRatios>,
    cautions: &'a [String],
}

/// The part of a verdict that is exported.
#[derive(Serialize)]
struct Taken<'a> {
    outcome: Outcome,
    recommended: Option<&'a str>,
    tied: &'a [String],
}

#[derive(Serialize)]
struct DeviceCandidateJson<'a> {
    candidate: &'a str,
    behind: &'a Estimate,
}

/// A device, in the order in which its fields stand.
#[derive(Serialize)]
struct RowPart<'a> {
    #[serde(flatten)]
    row: &'a OnDevice,
    #[serde(flatten)]
    verdict: Taken<'a>,
    sentence: &'a str,
    candidates: Vec<DeviceCandidateJson<'a>>,
}

fn row_part<'a>(row: &'a OnDevice, sentence: &'a str) -> RowPart<'a> {
    let verdict = &row.verdict;
    let recommended = verdict.recommended.as_deref();
    let candidates = row.behind.iter().map(|(candidate, behind)| DeviceCandidateJson { candidate, behind });
    RowPart {
        row,
        verdict: Taken { outcome: verdict.outcome, recommended, tied: &verdict.tied },
        sentence,
        candidates: candidates.collect(),
    }
}

pub(super) fn build_document(report: &DeviceReport) -> DevicesDocument<'_> {
    DevicesDocument {
        schema: SCHEMA,
        title: &report.found.title,
        sentence: report.write_sentence(),
        n: report.found.devices,
        devices: report.rows().map(|(row, sentence)| row_part(row, sentence)).collect(),
        like_these: report.found.sites.as_ref(),
        cautions: &report.cautions,
    }
}

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "device,source,identity,kernel,lab,candidate,recommended,behind,low,high,n";

pub(super) fn write_rows(report: &DeviceReport, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
    rows.write_record(COLUMNS.split(','))?;
    for row in &report.found.rows {
        for (candidate, behind) in &row.behind {
            let taken = row.verdict.recommended.as_ref() == Some(candidate);
            let names = [&row.device, &row.source, &row.identity, &row.kernel, &row.lab, candidate];
            let numbers = estimate_cells(behind).into_iter().chain([behind.n.to_string()]);
            let all = names.into_iter().map(|name| cell(name)).chain([taken.to_string()]).chain(numbers);
            rows.write_record(all)?;
        }
    }
    Ok(())
}
