//! `--format csv`: one row per observation and metric of every trial that ended; the raw data of a run.

use std::io;

use super::text::one_line;
use super::{Report, ReportError};
use crate::journal::{Status, Trial, TrialStanding};

/// The columns, documented in docs/output-formats.md.
const COLUMNS: &str =
    "run,block,attempt,candidate,filesystem,encryption,phase,cache,repetition,metric,unit,value,status";

pub(super) fn render(report: &Report<'_>, out: &mut dyn io::Write) -> Result<(), ReportError> {
    rows(report, &report.run.trials.iter().collect::<Vec<_>>(), out)
}

/// The rows of these trials, below the header.
pub(super) fn rows(
    report: &Report<'_>,
    trials: &[&Trial],
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let mut rows = ::csv::Writer::from_writer(out);
    rows.write_record(COLUMNS.split(',')).map_err(unwrapped)?;
    let run = cell(&report.run.header.id);
    for trial in trials {
        let plan = report.plan.candidates.iter().find(|candidate| candidate.name == trial.id.candidate);
        let filesystem = plan.map_or(String::new(), |plan| cell(&plan.filesystem));
        let encryption = plan.map_or(String::new(), |plan| cell(&plan.encryption));
        let candidate = cell(&trial.id.candidate);
        let (block, attempt) = (trial.id.block.to_string(), trial.id.attempt.to_string());
        for observation in &trial.observations {
            let (phase, cache) = (cell(&observation.phase), cell(&observation.cache));
            let repetition = observation.repetition.to_string();
            for found in &observation.measurements {
                // Rust writes the shortest digits that read back as the same number.
                let value = found.value.to_string();
                rows.write_record([
                    run.as_str(),
                    &block,
                    &attempt,
                    &candidate,
                    &filesystem,
                    &encryption,
                    &phase,
                    &cache,
                    &repetition,
                    &cell(&found.metric),
                    found.unit.sign(),
                    &value,
                    status(trial),
                ])
                .map_err(unwrapped)?;
            }
        }
    }
    Ok(rows.flush()?)
}

/// Foreign text as a cell: nothing that steers a terminal, and nothing that a spreadsheet takes for a formula. What is a number
/// stays one.
pub(super) fn cell(text: &str) -> String {
    let text = one_line(text);
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    if formula { format!("'{text}") } else { text }
}

/// One word for whether a row may be used, and why not.
fn status(trial: &Trial) -> &'static str {
    match (trial.standing, trial.status) {
        (TrialStanding::Discarded, _) => "discarded",
        (_, Status::Failed) => "failed",
        (TrialStanding::Open, Status::Ok) => "open",
        (TrialStanding::Counted, Status::Ok) => "ok",
    }
}

pub(super) fn or_empty(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// A closed pipe must stay recognisable as one.
pub(super) fn unwrapped(error: ::csv::Error) -> ReportError {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ReportError::Io(error),
        other => ReportError::Io(io::Error::other(format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        for formula in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r\n=1", "\u{1b}[1m=1"] {
            assert!(cell(formula).starts_with('\''), "{formula:?} → {:?}", cell(formula));
        }
        for text in ["-1.5", "+2", "-1e-3", "ext4", "a=b", "6.1-rc1"] {
            assert_eq!(cell(text), text);
        }
        assert_eq!(cell("a\0b\u{202e}c\u{2069}\nd"), "ab·c· d");
    }
}
