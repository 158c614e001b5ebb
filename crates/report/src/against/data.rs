//! A model against a trace as data.

use serde::Serialize;

use crate::against::{AgainstReport, FittedNumber, KindShares, TracePart};
use crate::forms::CsvRows;
use crate::forms::csv::cell;

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct AgainstDocument<'a> {
    schema: u32,
    model: &'a str,
    trace: &'a str,
    fitted: &'a [FittedNumber],
    parts: &'a [TracePart],
    /// Why the fitted model may not describe the drive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub(super) fn build_document(report: &AgainstReport) -> AgainstDocument<'_> {
    AgainstDocument {
        schema: SCHEMA,
        model: &report.model,
        trace: &report.trace,
        fitted: &report.fitted,
        parts: &report.parts,
        warnings: report.warnings(),
    }
}

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "of,kind,n,measured_ns,predicted_ns,demerit,bias,error,constant";

pub(super) fn write_rows(report: &AgainstReport, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
    rows.write_record(COLUMNS.split(','))?;
    for part in &report.parts {
        let all = KindShares { kind: "all".to_owned(), shares: part.all };
        for KindShares { kind, shares: found } in part.kinds.iter().chain([&all]) {
            let numbers = [
                found.measured_ns,
                found.predicted_ns,
                found.demerit,
                found.bias,
                found.error,
                found.constant,
            ];
            let row = [cell(&part.of), cell(kind), found.n.to_string()];
            let row = row.into_iter().chain(numbers.map(|number| number.to_string()));
            rows.write_record(row)?;
        }
    }
    Ok(())
}
