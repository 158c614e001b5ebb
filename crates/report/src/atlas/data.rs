//! The numbers of an atlas for other programs: JSON, CSV in long form, and OpenMetrics.

use std::fmt::Write;

use jiff::civil::Date;
use serde::Serialize;

use super::{Atlas, AtlasCell, SiteFile};
use crate::ReportError;
use crate::forms::csv::{cell, estimate_cells, unwrapped};
use crate::forms::foreign::describe_labels;
use fsverdict_judgement::verdict::{Answer, Estimate};

/// Version of the JSON form: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct AtlasDocument<'a> {
    schema: u32,
    cells: Vec<CellDocument<'a>>,
}

#[derive(Serialize)]
struct CellDocument<'a> {
    cell: &'a str,
    /// A digest of everything that the run depends on.
    identity: &'a str,
    question: String,
    work: &'a str,
    model: &'a str,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<Date>,
    answers: Vec<AnswerDocument<'a>>,
    candidates: Vec<CandidateDocument<'a>>,
    /// The answers of others' runs.
    others: Vec<&'a Answer>,
}

#[derive(Serialize)]
struct AnswerDocument<'a> {
    requirement: &'a str,
    #[serde(flatten)]
    answer: &'a Answer,
}

#[derive(Serialize)]
struct CandidateDocument<'a> {
    name: &'a str,
    filesystem: &'a str,
    protection: &'a str,
    times: Estimate,
}

/// The files with the numbers of an atlas.
pub(super) fn data_files(atlas: &Atlas) -> Result<Vec<SiteFile>, ReportError> {
    let document = AtlasDocument {
        schema: SCHEMA,
        cells: atlas.cells.iter().map(|cell| describe_cell(atlas, cell)).collect(),
    };
    let mut json = serde_json::to_vec_pretty(&document)?;
    json.push(b'\n');
    let file = |name: &str, content: Vec<u8>| SiteFile { folder: None, name: name.to_owned(), content };
    Ok(vec![
        file("atlas.json", json),
        file("atlas.csv", write_csv(atlas).map_err(unwrapped)?),
        file("atlas.prom", write_metrics(atlas).into_bytes()),
    ])
}

fn describe_cell<'a>(atlas: &'a Atlas, cell: &'a AtlasCell) -> CellDocument<'a> {
    let computed = cell.content.as_ref().ok();
    let (work, model) = atlas.names_of(cell);
    let answers = computed.map_or(&[][..], |computed| &computed.answers);
    let answers = atlas.filters.iter().zip(answers);
    let bars = computed.map_or(&[][..], |computed| &computed.bars);
    CellDocument {
        cell: &cell.slug,
        identity: &cell.identity,
        question: atlas.question(cell),
        work,
        model,
        empty: cell.content.as_ref().err().map(String::as_str),
        plan_digest: computed.map(|computed| computed.digest.as_str()),
        kernel: computed.map(|computed| computed.kernel.as_str()),
        day: computed.map(|computed| computed.day),
        answers: answers
            .filter_map(|(filter, answer)| {
                Some(AnswerDocument { requirement: filter.slug, answer: answer.as_ref()? })
            })
            .collect(),
        candidates: bars
            .iter()
            .map(|bar| CandidateDocument {
                name: &bar.name,
                filesystem: &bar.filesystem,
                protection: &bar.protection,
                times: bar.times,
            })
            .collect(),
        others: cell.strangers.iter().map(|one| &one.answer).collect(),
    }
}

/// One row for each candidate of each cell.
fn write_csv(atlas: &Atlas) -> Result<Vec<u8>, ::csv::Error> {
    let mut rows = ::csv::Writer::from_writer(Vec::new());
    rows.write_record([
        "work",
        "model",
        "kernel",
        "day",
        "candidate",
        "filesystem",
        "protection",
        "times",
        "low",
        "high",
        "blocks",
        "mark",
    ])?;
    for (at, computed) in atlas.computed() {
        let (work, model) = atlas.names_of(at);
        for bar in &computed.bars {
            let mark = computed.answer().filter(|answer| answer.first == bar.name);
            let mark = mark.map_or("", |answer| super::answers::mark_words(answer.mark).class);
            let [times, low, high] = estimate_cells(&bar.times);
            let day = computed.day.to_string();
            let blocks = bar.times.n.to_string();
            let texts =
                [work, model, &computed.kernel, &day, &bar.name, &bar.filesystem, &bar.protection].map(cell);
            rows.write_record(
                texts.iter().map(String::as_str).chain([&*times, &*low, &*high, &*blocks, mark]),
            )?;
        }
    }
    rows.into_inner().map_err(|error| error.into_error().into())
}

/// OpenMetrics: how many times as much as the recommended candidate each one takes.
fn write_metrics(atlas: &Atlas) -> String {
    const NAME: &str = "fsverdict_atlas_times";
    let mut text = format!(
        "# TYPE {NAME} gauge\n# HELP {NAME} How many times as much as the recommended candidate a candidate takes.\n"
    );
    for (at, computed) in atlas.computed() {
        let (work, model) = atlas.names_of(at);
        for bar in &computed.bars {
            let labels =
                [("work", work), ("model", model), ("candidate", &bar.name), ("kernel", &computed.kernel)];
            let _ = writeln!(text, "{NAME}{{{}}} {}", describe_labels(&labels), bar.times.point);
        }
    }
    text + "# EOF\n"
}
