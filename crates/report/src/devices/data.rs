//! The table of devices as data: JSON and CSV.

use serde::Serialize;

use crate::devices::{DeviceReport, page};
use crate::forms::csv::{cell, estimate_cells};
use crate::forms::{CsvRows, Forms};
use crate::model::JsonObject;
use crate::page::ReportPage;
use fsverdict_judgement::verdict::OnDevice;

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "device,source,identity,kernel,lab,candidate,recommended,behind,low,high,n";

impl Forms for DeviceReport {
    fn build_page(&self) -> ReportPage<'_> {
        page::build_page(self)
    }

    fn build_document(&self) -> impl Serialize + '_ {
        let devices = self.rows().map(|(row, sentence)| describe_row(row, sentence));
        JsonObject::new("schema", SCHEMA)
            .with("title", &self.found.title)
            .with("sentence", self.write_sentence())
            .with("n", self.found.devices)
            .with("devices", devices.collect::<Vec<_>>())
            .with("like_these", &self.found.sites)
            .with("cautions", &self.cautions)
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        rows.write_record(COLUMNS.split(','))?;
        for row in &self.found.rows {
            for (candidate, behind) in &row.result.behind {
                let taken = row.result.verdict.recommended.as_ref() == Some(candidate);
                let names = [&row.device, &row.source, &row.identity, &row.kernel, &row.lab, candidate];
                let numbers = estimate_cells(behind).into_iter().chain([behind.n.to_string()]);
                let all = names.into_iter().map(|name| cell(name)).chain([taken.to_string()]).chain(numbers);
                rows.write_record(all)?;
            }
        }
        Ok(())
    }
}

fn describe_row<'a>(row: &'a OnDevice, sentence: &'a str) -> impl Serialize + 'a {
    let verdict = &row.result.verdict;
    let candidates = row.result.behind.iter();
    let candidates =
        candidates.map(|(name, behind)| JsonObject::new("candidate", name).with("behind", behind));
    let rest = JsonObject::new("outcome", verdict.outcome)
        .with("recommended", &verdict.recommended)
        .with("tied", &verdict.tied)
        .with("sentence", sentence)
        .with("candidates", candidates.collect::<Vec<_>>());
    JsonObject::default().around(row, rest)
}
