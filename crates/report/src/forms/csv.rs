//! `--format csv`: one row per observation and metric of every trial that ended; the raw data of a run.

use std::io;

use crate::forms::CsvRows;
use crate::wording::one_line;
use crate::{Report, ReportError};
use fsverdict_judgement::journal::{Run, Status, Trial, TrialStanding};
use fsverdict_judgement::plan::{Axis, AxisLevel, Candidate, Plan, csv_columns};
use fsverdict_judgement::statistics::Estimate;

/// The columns before those of the tried options; all are documented in docs/reference/output-formats.md.
const WHO: [&str; 4] = ["run", "block", "attempt", "candidate"];
/// The columns after those.
const WHAT: [&str; 7] = ["phase", "cache", "repetition", "metric", "unit", "value", "status"];

pub(crate) fn write_rows(report: &Report<'_>, rows: &mut CsvRows<'_>) -> Result<(), ::csv::Error> {
    let (plan, run) = (report.judged.plan, report.judged.run);
    write_trials(plan, run, &run.trials.iter().collect::<Vec<_>>(), rows)
}

/// The rows of these trials, below the header.
pub(crate) fn write_trials(
    plan: &Plan,
    run: &Run,
    trials: &[&Trial],
    rows: &mut CsvRows<'_>,
) -> Result<(), ::csv::Error> {
    let columns = csv_columns();
    let header = WHO.into_iter().chain(columns.iter().map(|axis| axis.key)).chain(WHAT);
    rows.write_record(header)?;
    let run = cell(&run.header.id);
    for trial in trials {
        let tried_candidate = plan.find_candidate(&trial.id.candidate);
        let candidate = cell(&trial.id.candidate);
        let value_of =
            |axis: &&Axis| tried_candidate.map_or_else(String::new, |candidate| tried(axis, plan, candidate));
        let configuration: Vec<String> = columns.iter().map(value_of).collect();
        let (block, attempt) = (trial.id.block.to_string(), trial.id.attempt.to_string());
        for observation in &trial.observations {
            let (phase, cache) = (cell(&observation.phase), cell(&observation.cache));
            let repetition = observation.repetition.to_string();
            for found in &observation.measurements {
                // Rust writes the shortest digits that read back as the same number.
                let value = found.value.to_string();
                let who = [run.as_str(), &block, &attempt, &candidate];
                let what = [
                    phase.as_str(),
                    &cache,
                    &repetition,
                    &cell(&found.metric),
                    found.unit.word(),
                    &value,
                    status(trial),
                ];
                let cells = who.into_iter().chain(configuration.iter().map(String::as_str)).chain(what);
                rows.write_record(cells)?;
            }
        }
    }
    Ok(())
}

/// Foreign text as a cell, without terminal control characters, and without anything that a spreadsheet takes for a
/// formula. A number stays one.
pub(crate) fn cell(text: &str) -> String {
    let text = one_line(text);
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    if formula { format!("'{text}") } else { text }
}

/// The value that was tried on an axis, with sizes in bytes: the candidate's own, or the plan's; empty if there is
/// none.
fn tried(axis: &Axis, plan: &Plan, candidate: &Candidate) -> String {
    match axis.tested_level(plan, candidate) {
        AxisLevel::Size(bytes) => bytes.0.to_string(),
        level => cell(&level.text()),
    }
}

/// One word for whether a row may be used, and why not.
fn status(trial: &Trial) -> &'static str {
    match (trial.standing, trial.status) {
        (TrialStanding::Discarded, _) => "discarded",
        (_, Status::Failed) if trial.is_from_outside() => "interrupted",
        (_, Status::Failed) => "failed",
        (TrialStanding::Open, Status::Ok) => "open",
        (TrialStanding::Counted, Status::Ok) => "ok",
    }
}

pub(crate) fn or_empty(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// An estimate as three cells: the number, and the ends of its interval where it has one.
pub(crate) fn estimate_cells(estimate: &Estimate) -> [String; 3] {
    [estimate.point.to_string(), or_empty(estimate.low), or_empty(estimate.high)]
}

/// A closed pipe must stay recognisable as one.
pub(crate) fn unwrapped(error: ::csv::Error) -> ReportError {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ReportError::Io(error),
        other => ReportError::Io(io::Error::other(format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::cell;
    use crate::Format;
    use crate::fixtures::{demo, page_of};
    use fsverdict_judgement::plan::{DeviceSource, Layers};
    use fsverdict_text::Bytes;

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

    #[test]
    fn a_row_says_with_what_options_and_under_what_it_was_tried() {
        let mut story = demo(1);
        story.plan.device.source = DeviceSource::Model { name: "usb-stick".to_owned(), size: Bytes(1 << 30) };
        let first = &mut story.plan.candidates[0];
        first.mkfs = vec!["-O".to_owned(), "^has_journal".to_owned()];
        first.mount = vec!["noatime".to_owned(), "nodiratime".to_owned()];
        first.layers = Layers::from_names(["luks1", "luks2"]).unwrap();
        first.scheduler = Some("none".to_owned());
        first.under.kernel = Some("/boot/vmlinuz".into());
        first.under.memory = Some(Bytes(4096));
        let name = first.name.clone();
        let shown = page_of(&story, None, Format::Csv);
        let mut reader = ::csv::Reader::from_reader(shown.as_bytes());
        let row = |row: Result<BTreeMap<String, String>, ::csv::Error>| row.unwrap();
        let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(row).collect();
        let row = rows.iter().find(|row| row["candidate"] == name).unwrap();
        let found = ["encryption", "mkfs", "mount", "scheduler", "model", "kernel", "memory"]
            .map(|column| row[column].as_str());
        let wanted = [
            "luks1+luks2",
            "'-O ^has_journal",
            "noatime,nodiratime",
            "none",
            "usb-stick",
            "/boot/vmlinuz",
            "4096",
        ];
        assert_eq!(found, wanted);
    }
}
