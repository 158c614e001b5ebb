//! What it cost: CPU, device traffic, flushes, space, memory, for the whole workload of each candidate and, folded,
//! phase by phase.

use maud::{Markup, html};

use super::figures::{bar, in_scale};
use super::index::Index;
use crate::journal::{Trial, Unit, metric};
use crate::report::Report;
use crate::report::matrix::{Mark, Matrix};
use crate::report::number::{Scale, fixed};
use crate::report::text::one_line;
use crate::statistics::median;

/// How a cost of the phases becomes one of the trial.
#[derive(Clone, Copy)]
enum Total {
    /// The phases add up.
    Sum(&'static str),
    /// The largest of the phases.
    Most(&'static str),
    /// Bytes written to the device by the phases that write, per logical byte of theirs.
    Amplification,
}

/// A column: heading, unit, what it is made of, the metrics it explains.
const COSTS: [(&str, Unit, Total, &str); 8] = [
    ("CPU, tool", Unit::Seconds, Total::Sum("cpu"), "CPU time of the tools that did the work"),
    (
        "CPU, kernel",
        Unit::Seconds,
        Total::Sum("cpu_kernel"),
        "CPU time beyond the tools', less the idle baseline: kernel threads working on their behalf",
    ),
    ("written", Unit::Bytes, Total::Sum("device_written"), "bytes the device was asked to write"),
    (
        "× logical",
        Unit::Ratio,
        Total::Amplification,
        "write amplification: bytes written to the device per logical byte, over the phases that write",
    ),
    ("read", Unit::Bytes, Total::Sum("device_read"), "bytes the device was asked to read"),
    ("flushes", Unit::Count, Total::Sum("device_flushes"), "cache flushes completed by the device"),
    ("space", Unit::Bytes, Total::Most("space_used"), "most blocks in use on the filesystem after a phase"),
    ("memory", Unit::Bytes, Total::Most("memory_peak"), "largest resident set of a tool"),
];

/// Metrics shown phase by phase, where they were measured.
const BY_PHASE: [&str; 9] = [
    "cpu",
    "cpu_kernel",
    "device_written",
    "write_amplification",
    "device_read",
    "device_flushes",
    "space_used",
    "dirty_peak",
    "memory_peak",
];

/// The section.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let mut columns: Vec<Column> = COSTS.iter().filter_map(|cost| column(report, index, *cost)).collect();
    // Tool and kernel stand side by side to be added up.
    if let [tool, kernel, ..] = columns.as_mut_slice()
        && tool.title.starts_with("CPU")
        && kernel.title.starts_with("CPU")
    {
        let most = tool.most.max(kernel.most);
        let scale = Scale::suited(Unit::Seconds, std::iter::once(most));
        (tool.scale, tool.most, kernel.scale, kernel.most) = (scale, most, scale, most);
    }
    html! {
        section #costs aria-labelledby="costs-title" {
            h2 #costs-title { "What it cost" }
            @if columns.is_empty() {
                p.lead { "No costs were measured." }
            } @else {
                p.lead { "Medians over the trials, each trial's phases taken together. Shorter bars are better." }
                div.scroll { (table(index, &columns)) }
                (by_phase(report, index))
            }
        }
    }
}

struct Column {
    title: &'static str,
    meaning: &'static str,
    scale: Scale,
    most: f64,
    /// In the order of the measured candidates.
    values: Vec<Option<f64>>,
}

fn column(
    report: &Report<'_>,
    index: &Index<'_>,
    (title, unit, total, meaning): (&'static str, Unit, Total, &'static str),
) -> Option<Column> {
    let values: Vec<Option<f64>> = index
        .measured
        .iter()
        .map(|candidate| {
            let trials = report.used_trials().filter(|trial| trial.id.candidate == *candidate);
            median(&trials.filter_map(|trial| of_trial(report, trial, total)).collect::<Vec<f64>>())
        })
        .collect();
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    // A cost nobody had is no column: flushes where the device cannot count them.
    (most > 0.0).then(|| Column {
        title,
        meaning,
        scale: Scale::suited(unit, std::iter::once(most)),
        most,
        values,
    })
}

fn of_trial(report: &Report<'_>, trial: &Trial, total: Total) -> Option<f64> {
    let phases = || report.phases.iter().filter(|phase| report.is_headline(phase));
    let values = |metric: &'static str| phases().filter_map(move |phase| trial.value(&phase.name, metric));
    match total {
        Total::Sum(metric) => values(metric).reduce(|sum, value| sum + value),
        Total::Most(metric) => values(metric).reduce(f64::max),
        Total::Amplification => {
            let writing =
                || phases().filter(|phase| trial.value(&phase.name, "write_amplification").is_some());
            let sum = |metric| writing().filter_map(|phase| trial.value(&phase.name, metric)).sum::<f64>();
            let logical = sum("logical_bytes");
            (logical > 0.0).then(|| sum("device_written") / logical)
        }
    }
}

fn table(index: &Index<'_>, columns: &[Column]) -> Markup {
    html! {
        table.costs {
            caption.unseen { "Costs of the workload by candidate" }
            thead { tr {
                th scope="col" { "candidate" }
                @for column in columns {
                    th scope="col" title=(column.meaning) {
                        (column.title) @if !column.scale.label.is_empty() { small { (column.scale.label) } }
                    }
                }
            } }
            tbody {
                @for (at, candidate) in index.measured.iter().enumerate() {
                    tr data-candidate=[index.number(candidate)] {
                        th scope="row" { (one_line(candidate)) }
                        @for column in columns { td { (cell(column, at)) } }
                    }
                }
            }
        }
    }
}

fn cell(column: &Column, at: usize) -> Markup {
    html! {
        @match column.values[at] {
            Some(value) => { (told(value, column)) (bar(value / column.most)) }
            None => { "–" }
        }
    }
}

/// Next to the largest of its column; what is lost beside that is nothing (CPU time less a baseline is never exactly 0).
fn told(value: f64, column: &Column) -> String {
    if value.abs() < column.most / 2000.0 {
        return "0".to_owned();
    }
    in_scale(value, column.scale, Some(if value < column.most / 10.0 { 0.1 } else { 0.02 }))
}

fn by_phase(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let tables: Vec<(&str, Matrix)> = BY_PHASE
        .into_iter()
        .filter_map(|metric| Some((metric, Matrix::of(report, metric, |phase| report.is_headline(phase))?)))
        .filter(|(_, matrix)| {
            matrix.rows.iter().any(|row| row.cells.iter().flatten().any(|cell| cell.value != 0.0))
        })
        .collect();
    html! {
        @if !tables.is_empty() {
            details {
                summary { "The same, phase by phase" }
                @for (name, matrix) in &tables {
                    h4 { code { (name) } " " small { (metric(name).map_or("", |known| known.meaning)) } }
                    div.scroll { (phase_table(matrix, index)) }
                }
            }
        }
    }
}

fn phase_table(matrix: &Matrix, index: &Index<'_>) -> Markup {
    html! {
        table.numbers {
            thead { tr {
                th scope="col" { "candidate" }
                @for column in &matrix.columns {
                    th scope="col" { (one_line(&column.phase)) @if !column.unit.is_empty() { small { (column.unit) } } }
                }
            } }
            tbody {
                @for row in &matrix.rows {
                    tr data-candidate=[index.number(&row.candidate)] {
                        th scope="row" { (one_line(&row.candidate)) }
                        @for cell in &row.cells {
                            td {
                                @match cell {
                                    Some(cell) => {
                                        @if cell.mark == Mark::Best { span title="best" { "► " } }
                                        (fixed(cell.value, cell.decimals))
                                    }
                                    None => { "–" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
