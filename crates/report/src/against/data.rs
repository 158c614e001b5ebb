//! A model against a trace as data.

use std::io;

use serde::Serialize;

use super::{AgainstReport, Shares};
use crate::ReportError;
use crate::csv::{cell, unwrapped};

/// Version of the JSON: raised when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct AgainstDocument<'a> {
    schema: u32,
    model: &'a str,
    trace: &'a str,
    fitted: Vec<FittedPart<'a>>,
    parts: Vec<PartPart<'a>>,
    /// Why the fitted model may not describe the drive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct FittedPart<'a> {
    number: &'a str,
    before: &'a str,
    fitted: &'a str,
}

#[derive(Serialize)]
struct PartPart<'a> {
    of: &'a str,
    #[serde(flatten)]
    all: Shares,
    /// As `within`, of reads and of writes.
    operations: f64,
    /// The root mean square of the demerits of the kinds, each counted as often as it came.
    within: f64,
    kinds: Vec<KindPart<'a>>,
}

#[derive(Serialize)]
struct KindPart<'a> {
    kind: &'a str,
    #[serde(flatten)]
    found: Shares,
}

pub(super) fn write_json(report: &AgainstReport, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let fitted = report.fitted.iter().map(|[number, before, fitted]| FittedPart { number, before, fitted });
    let parts = report.parts.iter().map(|part| PartPart {
        of: &part.of,
        all: part.all,
        operations: part.operations,
        within: part.within,
        kinds: part.kinds.iter().map(|(kind, found)| KindPart { kind, found: *found }).collect(),
    });
    let text = serde_json::to_string_pretty(&AgainstDocument {
        schema: SCHEMA,
        model: &report.model,
        trace: &report.trace,
        fitted: fitted.collect(),
        parts: parts.collect(),
        warnings: report.warnings(),
    })?;
    Ok(writeln!(out, "{text}")?)
}

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "of,kind,n,measured_ns,predicted_ns,demerit,bias,error,constant";

pub(super) fn write_csv(report: &AgainstReport, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let mut rows = ::csv::Writer::from_writer(out);
    rows.write_record(COLUMNS.split(',')).map_err(unwrapped)?;
    for part in &report.parts {
        let all = ("all".to_owned(), part.all);
        for (kind, found) in part.kinds.iter().chain([&all]) {
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
            rows.write_record(row).map_err(unwrapped)?;
        }
    }
    Ok(rows.flush()?)
}
