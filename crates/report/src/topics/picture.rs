//! The picture: candidates × phases at a glance. Each cell says how many times the best of its phase, with its
//! interval; colour, sign and place say the same, so that none of them is needed.

use maud::{Markup, html};

use super::ReportTopic;
use crate::Report;
use crate::model::{Index, MatrixCell, MatrixColumn};
use crate::page::figures::{alone, along, in_full, place, spread, strip};
use crate::page::{Keys, PageBlock, Text};
use crate::topics::{certainty, costs};
use crate::wording::{candidates, one_line, percent, times};
use fsverdict_judgement::journal::{CandidateStatus, metric};
use fsverdict_judgement::verdict::{CandidateEntry, ContrastOutcome, times_worse};

/// The strips begin a little below the best, so that its own interval has room, and end here at the latest: a slower
/// candidate is marked as lying beyond.
const NEAREST: f64 = 0.85;
const FARTHEST: f64 = 16.0;

/// Sign, class and words of a mark.
fn looks(mark: Option<ContrastOutcome>) -> (&'static str, &'static str, &'static str) {
    match mark {
        Some(ContrastOutcome::Better) => ("►", "best", "best of its phase: "),
        Some(ContrastOutcome::Tied) => ("≈", "tied", "tied with the best: "),
        Some(ContrastOutcome::Undecided) => ("~", "unsure", "not certainly behind the best: "),
        Some(ContrastOutcome::Behind | ContrastOutcome::NotBetter) | None => ("", "behind", ""),
    }
}

pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let goal = report.judged.plan.goal.metric.as_str();
    let what = metric(goal).map_or(goal, |known| known.title);
    let columns = report.picture.as_ref().map_or(&[][..], |matrix| &matrix.columns);
    let crowned = columns.iter().any(|column| column.best.is_some());
    let tie = percent(report.judged.plan.protocol.tie);
    let only = |lead: Text| Keys { lead, keys: Vec::new(), has_switch: false };
    let keys = match crowned {
        _ if columns.is_empty() => only("Nothing was measured that could be compared.".into()),
        false => only(format!("What was measured ({what}); nothing is ranked.").into()),
        true => Keys {
            lead: format!("× the best of each phase ({what})").into(),
            keys: vec![
                ("best", "► best".to_owned()),
                ("tied", format!("≈ within {tie}")),
                ("unsure", "~ may be chance".to_owned()),
                ("behind", "the deeper, the slower".to_owned()),
            ],
            has_switch: true,
        },
    };
    let mut blocks = vec![PageBlock::picture(move || draw_picture(report, columns, crowned))];
    if report.picture.is_some() {
        if crowned {
            blocks.push(PageBlock::Note(write_legend(report).into()));
        }
        blocks.extend(certainty::build_folded_block(report));
        blocks.extend(beside(report));
    }
    Some(PageBlock::Section { id: "picture", title: "The picture", keys: Some(keys), blocks })
}

/// Costs beside time with the Pareto set, and how far the weights may move, folded; nothing where nothing is ranked.
fn beside<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    let tables = costs::build_tables(&report.judged).into_iter().map(PageBlock::plain_table);
    let tables: Vec<PageBlock<'a>> = tables.collect();
    let title = "Costs beside time, and other frequencies";
    (!tables.is_empty()).then(|| PageBlock::fold(Some("beside"), title, tables))
}

fn draw_picture(report: &Report<'_>, columns: &[MatrixColumn], crowned: bool) -> Markup {
    let index = Index::of(report);
    html! {
        (strip_key(report))
        div.scroll {
            table.picture.cards {
                caption.unseen { "Candidates by phase, as multiples of the best of each phase" }
                (head(report, columns, crowned))
                tbody { @for entry in &report.judged.candidates { (build_row(report, &index, columns, crowned, entry)) } }
            }
        }
    }
}

fn head(report: &Report<'_>, columns: &[MatrixColumn], crowned: bool) -> Markup {
    let weights = &report.judged.objective.weights;
    let even = weights.values().all(|weight| *weight == 1.0);
    html! {
        thead {
            tr {
                th scope="col" { "candidate" }
                @if crowned {
                    th.goal scope="col" { "goal" small { "all phases" } }
                }
                @for column in columns {
                    th scope="col" {
                        (one_line(&column.phase))
                        small {
                            @match weights.get(&column.phase) {
                                Some(weight) if *weight > 0.0 => { @if !even { "weight " (weight) ", " } }
                                _ => { "not in the goal, " }
                            }
                            @if let Some(best) = column.best.and_then(|at| report.judged.estimates.get(at)) {
                                "best " (alone(best.estimate.point, best.unit, spread(best)))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The label beside a cell where no column has room for it.
fn label(report: &Report<'_>, column: &MatrixColumn) -> String {
    let phase = one_line(&column.phase);
    match column.best.and_then(|at| report.judged.estimates.get(at)) {
        Some(best) => format!("{phase}, best {}", alone(best.estimate.point, best.unit, spread(best))),
        None => phase,
    }
}

/// A candidate, in these phases, and under the goal where anybody is crowned.
fn build_row(
    report: &Report<'_>,
    index: &Index<'_>,
    columns: &[MatrixColumn],
    crowned: bool,
    entry: &CandidateEntry<'_>,
) -> Markup {
    let cells = report.picture.as_ref().and_then(|matrix| matrix.find_row(entry.name)).map(|row| &row.cells);
    let farthest = farthest(report);
    html! {
        tr data-candidate=[index.number(entry.name)] {
            th scope="row" {
                div.beside {
                    span.name { (one_line(entry.name)) }
                    @if let Some(state) = state(report, entry).filter(|_| crowned) { " " small.(state.1) { (state.0) } }
                }
            }
            @if entry.status == CandidateStatus::Ok {
                @if crowned {
                    td.goal {
                        @match entry.behind {
                            Some(behind) => {
                                b { (times(behind.point)) "×" }
                                @if let Some((low, high)) = behind.ends().map(|(low, high)| (times(low), times(high))).filter(|(low, high)| low != high) { " " small { (low) "–" (high) } }
                            }
                            None => { span title="not ranked" { "–" } }
                        }
                    }
                }
                @for (column, cell) in columns.iter().zip(cells.into_iter().flatten()) {
                    @let label = label(report, column);
                    @match cell {
                        Some(cell) => { (shown(report, cell, farthest, &label)) }
                        None => { td.none data-label=(label) { "–" } }
                    }
                }
            } @else {
                td.why colspan=(columns.len() + usize::from(crowned)) {
                    b { (candidates::describe_status(entry)) } @if !entry.why.is_nothing() { ": " (one_line(&candidates::explain_missing_result(entry))) }
                    @if !entry.hint.is_empty() { br; span.hint { "hint: " (one_line(entry.hint)) } }
                }
            }
        }
    }
}

/// The verdict's word on a candidate: text, class. `None` for one that was only compared with itself.
fn state(report: &Report<'_>, entry: &CandidateEntry<'_>) -> Option<(&'static str, &'static str)> {
    let verdict = &report.judged.verdict;
    if entry.status != CandidateStatus::Ok || report.judged.against_itself().is_some() {
        return None;
    }
    if verdict.recommended_names().contains(&entry.name) {
        return Some(("► take", "best"));
    }
    let standing = verdict.find_standing(entry.name);
    match standing.map(|standing| standing.outcome) {
        Some(ContrastOutcome::Tied) => Some(("≈ tied", "tied")),
        Some(ContrastOutcome::Behind) => Some(("✕ behind", "out")),
        Some(ContrastOutcome::NotBetter) => Some(("≤ not better", "open")),
        Some(ContrastOutcome::Better | ContrastOutcome::Undecided) => Some(("? open", "open")),
        None => verdict.open.iter().any(|name| name == entry.name).then_some(("? open", "open")),
    }
}

fn shown(report: &Report<'_>, cell: &MatrixCell, farthest: f64, label: &str) -> Markup {
    let Some(found) = report.judged.estimates.get(cell.at) else {
        return html! { td.none data-label=(label) { "–" } };
    };
    let absolute = alone(found.estimate.point, found.unit, spread(found));
    let Some(ratio) = cell.times else {
        return html! { td.cell data-label=(label) title=(in_full(found)) { span.value { (absolute) } } };
    };
    let (sign, class, words) = looks(cell.mark);
    let at = |ratio: f64| along(ratio, NEAREST, farthest);
    let range = found.ends().map(|(low, high)| {
        let end = |value: f64| at(ratio * times_worse(found, value, found.estimate.point).unwrap_or(1.0));
        (end(low).min(end(high)), end(low).max(end(high)))
    });
    html! {
        td.cell.(class) data-label=(label) style=(format!("--heat:{:.0}%", place(ratio, 1.0, farthest))) title=(in_full(found)) {
            div.beside {
                span.value {
                    span.sign aria-hidden="true" { (sign) }
                    span.unseen { (words) }
                    span.relative { (times(ratio)) "×" }
                    span.absolute { (absolute) }
                }
                (strip(at(ratio), range, ratio > farthest, Some(at(1.0))))
            }
        }
    }
}

/// Where the strips end: the slowest cell, but not nearer than twice the best and not farther than [`FARTHEST`].
fn farthest(report: &Report<'_>) -> f64 {
    let rows = report.picture.iter().flat_map(|matrix| &matrix.rows);
    let ratios = rows.flat_map(|row| row.cells.iter().flatten()).filter_map(|cell| cell.times);
    ratios.fold(2.0, f64::max).min(FARTHEST)
}

/// The key above the table: the meaning of the parts of a strip, beside samples of them.
fn strip_key(report: &Report<'_>) -> Markup {
    let Some(matrix) = report.picture.as_ref() else { return html! {} };
    let cells = || matrix.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let mut found = cells().filter_map(|cell| report.judged.estimates.get(cell.at));
    if cells().all(|cell| cell.times.is_none()) {
        return html! {};
    }
    let line = if found.clone().any(|found| found.estimate.low.is_some()) {
        Some("95% interval of the distance from the leader; in the leader's row, of its own time")
    } else if found.any(|found| found.estimate.n > 1) {
        Some("from the best trial to the worst")
    } else {
        None
    };
    let sample = |words: &str, drawn: Markup| html! { span.sample { (drawn) " " (words) } };
    html! {
        p.note.samples {
            (sample("best of the phase", html! { span.strip { i.origin style="left:50%" {} } }))
            (sample("this candidate", html! { span.strip { i.dot style="left:50%" {} } }))
            @match line {
                Some(words) => { (sample(words, html! { span.strip { i.range style="left:0;width:100%" {} } })) }
                None => { "one trial each: no interval is known" }
            }
            (sample(&format!("beyond {}×", times(farthest(report))), html! { span.strip { i.beyond {} } }))
        }
    }
}

fn write_legend(report: &Report<'_>) -> String {
    let sizes = match report.judged.sample_sizes() {
        Some((few, many)) if few != many => {
            format!("Means over {few} to {many} trials, side by side within blocks. ")
        }
        Some((_, many)) if many > 1 => format!("Means over {many} trials, side by side within blocks. "),
        _ => String::new(),
    };
    let goal = match report.judged.objective.is_total() {
        true => "the time of the whole job",
        false => "the weighted geometric mean of its phases",
    };
    format!(
        "{sizes}Along a strip, equal steps are equal ratios. Rows are ordered by the goal: {goal}, as a multiple of the \
         leader's. ? open: not enough data to place it; ≤ not more than {} better; how much worse is not certain.",
        percent(report.judged.plan.protocol.tie)
    )
}
