//! The numbers of an atlas for other programs: JSON, CSV in long form, and OpenMetrics.

use std::fmt::Write;

use super::{Atlas, AtlasCell, SiteFile};
use crate::ReportError;
use crate::forms::csv::{cell, estimate_cells, unwrapped};
use crate::forms::foreign::describe_labels;
use crate::model::JsonObject;

/// Version of the JSON form: raised when a field changes its meaning or goes, not when one is added.
const SCHEMA: u32 = 1;

pub(super) fn data_files(atlas: &Atlas) -> Result<Vec<SiteFile>, ReportError> {
    let cells: Vec<JsonObject<'_>> = atlas.cells.iter().map(|cell| describe_cell(atlas, cell)).collect();
    let document = JsonObject::new("schema", SCHEMA).with("cells", cells);
    let mut json = serde_json::to_vec_pretty(&document)?;
    json.push(b'\n');
    let file = |name: &str, content: Vec<u8>| SiteFile { folder: None, name: name.to_owned(), content };
    Ok(vec![
        file("atlas.json", json),
        file("atlas.csv", write_csv(atlas).map_err(unwrapped)?),
        file("atlas.prom", write_metrics(atlas).into_bytes()),
    ])
}

fn describe_cell<'a>(atlas: &'a Atlas, cell: &'a AtlasCell) -> JsonObject<'a> {
    let computed = cell.content.as_ref().ok();
    let (work, model) = atlas.names_of(cell);
    let answers = atlas.filters.iter().zip(computed.into_iter().flat_map(|computed| &computed.answers));
    let answers = answers.filter_map(|(filter, answer)| {
        let requirement = JsonObject::new("requirement", filter.slug);
        Some(requirement.around(answer.as_ref()?, JsonObject::default()))
    });
    let bars = computed.into_iter().flat_map(|computed| &computed.bars);
    let candidates = bars.map(|bar| {
        JsonObject::new("name", &bar.name)
            .with("filesystem", &bar.filesystem)
            .with("protection", &bar.protection)
            .with("times", bar.times)
    });
    let others = cell.strangers.iter().map(|stranger| &stranger.answer);
    // The identity is a digest of everything that the run depends on; an empty cell says why it has no answer.
    JsonObject::new("cell", &cell.slug)
        .with("identity", &cell.identity)
        .with("question", atlas.question(cell))
        .with("work", work)
        .with("model", model)
        .with_some("empty", cell.content.as_ref().err())
        .with_some("plan_digest", computed.map(|computed| &computed.digest))
        .with_some("kernel", computed.map(|computed| &computed.kernel))
        .with_some("day", computed.map(|computed| computed.day))
        .with("answers", answers.collect::<Vec<_>>())
        .with("candidates", candidates.collect::<Vec<_>>())
        .with("others", others.collect::<Vec<_>>())
}

/// The columns of the CSV.
const COLUMNS: &str = "work,model,kernel,day,candidate,filesystem,protection,times,low,high,blocks,mark";

fn write_csv(atlas: &Atlas) -> Result<Vec<u8>, ::csv::Error> {
    let mut rows = ::csv::Writer::from_writer(Vec::new());
    rows.write_record(COLUMNS.split(','))?;
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
