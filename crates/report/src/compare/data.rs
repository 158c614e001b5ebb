//! The comparison as data: JSON that is versioned like the report's own, and CSV with a row for each number and each pair
//! of runs it was compared in. docs/reference/output-formats.md describes every field.

use serde::Serialize;

use crate::compare::{ComparisonReport, page};
use crate::forms::csv::{cell, estimate_cells, or_empty};
use crate::forms::{CsvRows, Forms};
use crate::model::JsonObject;
use crate::page::ReportPage;
use fsverdict_judgement::journal::Run;

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 1;

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "from,to,candidate,phase,metric,unit,before,before_low,before_high,before_n,after,after_low,\
                       after_high,after_n,ratio,ratio_low,ratio_high,p,p_adjusted,outcome";

impl Forms for ComparisonReport<'_> {
    fn build_page(&self) -> ReportPage<'_> {
        page::build_page(self)
    }

    fn build_document(&self) -> impl Serialize + '_ {
        let steps = self.steps().map(|(from, to, found)| {
            pair(JsonObject::default(), from, to).around(found, JsonObject::default())
        });
        let steps = steps.collect::<Vec<_>>();
        let ends = pair(JsonObject::new("schema", SCHEMA), self.before, self.after);
        let rest = JsonObject::default().with_some("steps", Some(steps).filter(|steps| !steps.is_empty()));
        ends.with("regression", self.found.has_regression()).around(&self.found.whole, rest)
    }

    fn write_csv(&self, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
        rows.write_record(COLUMNS.split(','))?;
        let whole = (self.before, self.after, &self.found.whole);
        for (from, to, found) in std::iter::once(whole).chain(self.steps()) {
            for change in found.judged.iter().chain(&found.costs) {
                let names = [&from.header.id, &to.header.id, &change.candidate];
                let what = [change.subject(), &change.metric, change.unit.word()];
                let mut row: Vec<String> = names.map(|name| cell(name)).to_vec();
                row.extend(what.map(cell));
                for side in [&change.before, &change.after] {
                    row.extend(estimate_cells(side));
                    row.push(side.n.to_string());
                }
                row.extend(estimate_cells(&change.ratio));
                let judged = change.judged;
                let p_values = [judged.map(|test| test.p), judged.map(|test| test.p_adjusted)];
                row.extend(p_values.map(or_empty));
                row.push(judged.map_or("", |test| test.outcome.as_change()).to_owned());
                rows.write_record(row)?;
            }
        }
        Ok(())
    }
}

fn pair<'a>(object: JsonObject<'a>, before: &'a Run, after: &'a Run) -> JsonObject<'a> {
    object.with("before", describe_run(before)).with("after", describe_run(after))
}

fn describe_run(run: &Run) -> JsonObject<'_> {
    let header = &run.header;
    JsonObject::new("id", &header.id)
        .with("title", &header.title)
        .with("started", header.started)
        .with("lab", &header.lab)
        .with("fidelity", &header.fidelity)
        .with("plan_digest", &header.plan_digest)
        .with("blocks", run.complete_blocks())
}
