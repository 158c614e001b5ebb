//! Topic: costs: CPU, device traffic, flushes, space and memory, for the whole workload of each candidate and, folded, phase by
//! phase; time beside them with the Pareto set, and how far the goal's weights may move.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Detail, Index, Matrix};
use crate::page::figures::{chart, draw_bar, in_scale};
use crate::page::{Media, PageBlock, PageTable, Text};
use crate::topics::factors;
use crate::wording::{NumberScale, TextTable, decimals, fixed, one_line, plain_number, times};
use fsverdict_judgement::journal::{Group, Unit};
use fsverdict_judgement::verdict::{
    COSTS, ContrastOutcome, Cost, CostColumn, Judgement, Tradeoff, WeightTurn,
};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_tables(&report.judged)).collect(),
    build_section,
    ..ReportTopic::EMPTY
};

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    if !report.has_results() {
        return None;
    }
    let mut blocks = Vec::new();
    if report.judged.costs.is_empty() {
        blocks.push(PageBlock::Lead("No costs were measured.".into()));
    } else {
        if report.judged.verdict.tradeoffs.len() > 1 {
            blocks.extend(tradeoffs(report));
        }
        let lead = "Side by side within blocks, in each trial the phases of the goal taken together. Shorter bars are better.";
        blocks.push(PageBlock::Lead(lead.into()));
        blocks.push(PageBlock::picture(
            move || html! { div.scroll { (build_table(&Index::of(report), &list_columns(report))) } },
        ));
        blocks.extend(by_phase(report));
    }
    Some(PageBlock::section("costs", "What it cost", blocks))
}

fn list_columns<'a>(report: &'a Report<'_>) -> Vec<CostsColumn<'a>> {
    let costs = &report.judged.costs;
    let most = |found: &CostColumn| found.values.iter().flatten().copied().fold(0.0, f64::max);
    // Tool and kernel stand side by side to be added up.
    let is_cpu = |found: &CostColumn| ["cpu", "cpu_kernel"].contains(&found.metric.name);
    let of_cpu = costs.iter().filter(|found| is_cpu(found)).map(most).fold(0.0, f64::max);
    let column = |found: &'a CostColumn| {
        let most = if is_cpu(found) { of_cpu } else { most(found) };
        CostsColumn { found, scale: NumberScale::suited(found.metric.unit, std::iter::once(most)), most }
    };
    costs.iter().map(column).collect()
}

fn tradeoffs<'a>(report: &'a Report<'_>) -> [PageBlock<'a>; 2] {
    let lead = Text::ours("Left and low is best. Full: the ").strong("Pareto set").plain(
        ", of which each is the best for somebody. Hollow: another is shown to be as good in \
         time and every cost, and better in something. Named: the best in just these two. By ratios within blocks; lines are 95% intervals.",
    );
    let tradeoffs = &report.judged.verdict.tradeoffs;
    let words = |cost| match cost {
        Cost::Cpu => ("cpu", "CPU"),
        Cost::Space => ("space", "space"),
        Cost::Lost => ("lost", "space lost to the user"),
        Cost::Written => ("written", "bytes written"),
    };
    let drawn = move || {
        let shown = COSTS.into_iter().filter(|cost| {
            tradeoffs.iter().filter_map(|tradeoff| tradeoff.cost(*cost)).any(|cost| cost.point > 0.0)
        });
        html! {
            div.phases.three { @for (call, title) in shown.map(words) {
                article.phase {
                    div.head { h3 { "Time against " (title) } }
                    (chart("tradeoff", None, call, &format!("Time for the goal against {title}, by candidate; the table below has the numbers")))
                }
            } }
        }
    };
    [PageBlock::Lead(lead), PageBlock::picture(drawn)]
}

struct CostsColumn<'a> {
    found: &'a CostColumn,
    scale: NumberScale,
    most: f64,
}

fn build_table(index: &Index<'_>, columns: &[CostsColumn<'_>]) -> Markup {
    html! {
        table.costs {
            caption.unseen { "Costs of the workload by candidate" }
            thead { tr {
                th scope="col" { "candidate" }
                @for column in columns {
                    th scope="col" title=(column.found.metric.meaning) {
                        (column.found.metric.title) @if !column.scale.label.is_empty() { small { (column.scale.label) } }
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

fn cell(column: &CostsColumn<'_>, at: usize) -> Markup {
    html! {
        @match column.found.values[at] {
            Some(value) => { (beside_the_most(value, column)) (draw_bar(value / column.most)) }
            None => { "–" }
        }
    }
}

/// The value as text; `0` if it is negligible next to the largest of its column, because CPU time less a baseline is
/// never exactly 0.
fn beside_the_most(value: f64, column: &CostsColumn<'_>) -> String {
    if value.abs() < column.most / 2000.0 {
        return "0".to_owned();
    }
    in_scale(value, column.scale, Some(if value < column.most / 10.0 { 0.1 } else { 0.02 }))
}

fn by_phase<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    let costs = report.details.iter().filter(|detail| detail.group == Group::Cost);
    let table = |detail: &Detail| {
        [
            PageBlock::Heading(Text::default().code(&detail.metric).plain(" ").small(detail.meaning)),
            PageBlock::Table(PageTable {
                by_candidate: true,
                ..PageTable::plain(phase_table(&detail.matrix))
            }),
        ]
    };
    let tables: Vec<PageBlock<'a>> = costs.flat_map(table).collect();
    (!tables.is_empty()).then(|| PageBlock::fold(None, "The same, phase by phase", tables))
}

fn phase_table(matrix: &Matrix) -> TextTable {
    matrix.to_text(|cell| {
        let mark = if cell.mark == Some(ContrastOutcome::Better) { "► " } else { "" };
        format!("{mark}{}", fixed(cell.value, cell.decimals))
    })
}

/// The effects of options, costs beside time, and the range of weights, as far as there are any.
pub(crate) fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    let tables = [factors::build_table(judged), build_cost_table(judged), build_weight_table(judged)];
    tables.into_iter().flatten().collect()
}

/// Time, CPU, space and device writes, with the Pareto set.
fn build_cost_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let tradeoffs = &judged.verdict.tradeoffs;
    if tradeoffs.len() < 2 {
        return None;
    }
    let behind = |tradeoff: &Tradeoff| {
        let entry = judged.find_entry(&tradeoff.candidate);
        entry.and_then(|entry| entry.behind).map_or("–".to_owned(), |behind| times(behind.point))
    };
    let measured: Vec<(Cost, NumberScale, &str)> = COSTS
        .into_iter()
        .filter(|cost| {
            tradeoffs.iter().any(|tradeoff| tradeoff.cost(*cost).is_some_and(|found| found.point > 0.0))
        })
        .map(|cost| {
            let (unit, title) = match cost {
                Cost::Cpu => (Unit::Seconds, "CPU"),
                Cost::Space => (Unit::Bytes, "space"),
                Cost::Lost => (Unit::Bytes, "lost"),
                Cost::Written => (Unit::Bytes, "written"),
            };
            (
                cost,
                NumberScale::suited(
                    unit,
                    tradeoffs.iter().filter_map(|tradeoff| Some(tradeoff.cost(cost)?.point)),
                ),
                title,
            )
        })
        .collect();
    if measured.is_empty() {
        return None;
    }
    let mut header = vec!["candidate".to_owned(), "goal ×".to_owned()];
    header.extend(measured.iter().map(|(_, scale, title)| format!("{title}, {}", scale.label)));
    header.push("Pareto set".to_owned());
    let row = |tradeoff: &Tradeoff| {
        let costs = measured.iter().map(|(cost, scale, _)| {
            let value = tradeoff.cost(*cost).map(|found| found.point / scale.divisor);
            value.map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        let set = match &tradeoff.beaten_by {
            Some(other) => format!("beaten by {other}"),
            None if tradeoff.unbeaten => "in it".to_owned(),
            None => "open".to_owned(),
        };
        [tradeoff.candidate.clone(), behind(tradeoff)].into_iter().chain(costs).chain([set]).collect()
    };
    let title = "Time and what it costs, all phases of the goal together. Beaten: another is shown to be as good in \
                 everything and better in something. Open: not enough data.";
    Some(TextTable { title: title.to_owned(), header, rows: tradeoffs.iter().map(row).collect() })
}

fn build_weight_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let ranges = &judged.verdict.sensitivity;
    let leader = &judged.verdict.ranking.first()?.candidate;
    if ranges.len() < 2 {
        return None;
    }
    let shown = |turn: Option<&WeightTurn>, none: &str| {
        turn.map_or(none.to_owned(), |turn| format!("{} ({})", plain_number(turn.weight), turn.winner))
    };
    let rows = ranges.iter().map(|range| {
        let (low, high) = (shown(range.low.as_ref(), "0"), shown(range.high.as_ref(), "any"));
        vec![range.phase.clone(), range.weight.to_string(), low, high]
    });
    let rows = rows.collect();
    let weight = if judged.objective.is_total() { "frequency" } else { "weight" };
    let title = format!(
        "{leader} leads while a {weight} lies between these; beyond them, the candidate in brackets does, going by the estimates."
    );
    Some(TextTable::new(title, &["phase", weight, "from", "to"], rows))
}
