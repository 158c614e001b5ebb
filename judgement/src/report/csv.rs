//! `--format csv`: one row per observation and metric of every trial that ended; the raw data of a run.

use std::io;

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
    for trial in trials {
        let plan = report.plan.candidates.iter().find(|candidate| candidate.name == trial.id.candidate);
        let (block, attempt) = (trial.id.block.to_string(), trial.id.attempt.to_string());
        for observation in &trial.observations {
            let repetition = observation.repetition.to_string();
            for found in &observation.measurements {
                // Rust writes the shortest digits that read back as the same number.
                let value = found.value.to_string();
                rows.write_record([
                    report.run.header.id.as_str(),
                    &block,
                    &attempt,
                    &trial.id.candidate,
                    plan.map_or("", |plan| &plan.filesystem),
                    plan.map_or("", |plan| &plan.encryption),
                    &observation.phase,
                    &observation.cache,
                    &repetition,
                    &found.metric,
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
