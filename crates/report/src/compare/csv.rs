//! The comparison as CSV: a row for each number and each pair of runs it was compared in.

use std::io;

use super::{ComparisonReport, word};
use crate::ReportError;
use crate::csv::{cell, or_empty, unwrapped};
use fsverdict_judgement::statistics::Estimate;

/// The columns, documented in docs/reference/output-formats.md.
const COLUMNS: &str = "from,to,candidate,phase,metric,unit,before,before_low,before_high,before_n,after,after_low,\
                       after_high,after_n,ratio,ratio_low,ratio_high,p,p_adjusted,outcome";

pub(super) fn render(report: ComparisonReport<'_>, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let mut rows = ::csv::Writer::from_writer(out);
    rows.write_record(COLUMNS.split(',')).map_err(unwrapped)?;
    let whole = (report.before, report.after, &report.found.whole);
    let three = |found: &Estimate| [found.point.to_string(), or_empty(found.low), or_empty(found.high)];
    for (from, to, found) in std::iter::once(whole).chain(report.steps()) {
        for change in found.judged.iter().chain(&found.costs) {
            let names = [&from.header.id, &to.header.id, &change.candidate];
            let what = [change.subject(), &change.metric, change.unit.sign()];
            let mut row: Vec<String> = names.map(|name| cell(name)).to_vec();
            row.extend(what.map(cell));
            for side in [&change.before, &change.after] {
                row.extend(three(side));
                row.push(side.n.to_string());
            }
            row.extend(three(&change.ratio));
            let judged = change.judged;
            row.extend([or_empty(judged.map(|one| one.p)), or_empty(judged.map(|one| one.p_adjusted))]);
            row.push(judged.map_or("", |one| word(one.outcome)).to_owned());
            rows.write_record(row).map_err(unwrapped)?;
        }
    }
    Ok(rows.flush()?)
}
