//! Formats numbers for the HTML page, and draws the small bars beside them without scripts.

use maud::{Markup, html};

use crate::model::index::Index;
use crate::wording::{NumberScale, TextTable, decimals, fixed, one_line, times};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::{Estimate, PhaseEstimate};

/// Half the width of the interval as a share of the point estimate.
pub(crate) fn spread(found: &PhaseEstimate) -> Option<f64> {
    let (low, high) = found.ends()?;
    (found.estimate.point != 0.0).then(|| (high - low) / 2.0 / found.estimate.point.abs())
}

/// A number with its unit, in the scale that suits this number alone.
pub(crate) fn alone(value: f64, unit: Unit, spread: Option<f64>) -> String {
    let scale = NumberScale::suited(unit, std::iter::once(value));
    with_unit(value, scale, spread)
}

pub(crate) fn with_unit(value: f64, scale: NumberScale, spread: Option<f64>) -> String {
    let text = in_scale(value, scale, spread);
    if scale.label.is_empty() { text } else { format!("{text}\u{202f}{}", scale.label) }
}

/// A number in a given scale, without its unit.
pub(crate) fn in_scale(value: f64, scale: NumberScale, spread: Option<f64>) -> String {
    let scaled = value / scale.divisor;
    fixed(scaled, decimals(scaled, spread))
}

/// An estimate for a tooltip or a table: `1.31 s (1.28 to 1.35, n = 10)`.
pub(crate) fn in_full(found: &PhaseEstimate) -> String {
    let scale = NumberScale::suited(found.unit, std::iter::once(found.estimate.point));
    let share = spread(found);
    let point = with_unit(found.estimate.point, scale, share);
    let n = found.estimate.n;
    match found.ends() {
        Some((low, high)) => {
            let what = if found.estimate.low.is_some() { "95% interval" } else { "range" };
            format!(
                "{point} ({what} {} to {}, n = {n})",
                in_scale(low, scale, share),
                in_scale(high, scale, share)
            )
        }
        None => format!("{point} (n = {n})"),
    }
}

/// The position of a ratio on a logarithmic axis from `from` to `to`, limited to 0 to 100.
pub(crate) fn place(ratio: f64, from: f64, to: f64) -> f64 {
    along(ratio, from, to).clamp(0.0, 100.0)
}

/// The position of a ratio on the axis, less than 0 or more than 100 where it lies outside.
pub(crate) fn along(ratio: f64, from: f64, to: f64) -> f64 {
    libm::log(ratio / from) / libm::log(to / from) * 100.0
}

/// A dot with its interval on a strip, with positions in per cent. An arrow marks an interval that continues beyond an
/// end.
pub(crate) fn strip(dot: f64, range: Option<(f64, f64)>, beyond: bool, origin: Option<f64>) -> Markup {
    let within = |place: f64| place.clamp(0.0, 100.0);
    html! {
        span.strip aria-hidden="true" {
            @if let Some(origin) = origin { i.origin style=(format!("left:{origin:.1}%")) {} }
            @if let Some((low, high)) = range {
                i.range style=(format!("left:{:.1}%;width:{:.1}%", within(low), (within(high) - within(low)).max(0.0))) {}
                @if low < 0.0 { i.on.before {} }
                @if high > 100.0 && !beyond { i.on {} }
            }
            @if beyond { i.beyond {} } @else { i.dot style=(format!("left:{:.1}%", within(dot))) {} }
        }
    }
}

/// A bar from zero; `share` is its length, 0 to 1.
pub(crate) fn draw_bar(share: f64) -> Markup {
    html! { span.bar aria-hidden="true" { i style=(format!("width:{:.1}%", (share * 100.0).clamp(0.0, 100.0))) {} } }
}

/// The ratio from which a cell has the deepest colour.
const FARTHEST: f64 = 16.0;

/// A cell with the ratio to the best; a ratio of 1 or less has the sign of the best.
pub(crate) fn ratio(found: Option<&Estimate>) -> Markup {
    let Some(found) = found else { return html! { td.none { "–" } } };
    let best = found.point <= 1.0;
    let ends = found.ends().map(|(low, high)| format!("{} to {}", times(low), times(high)));
    html! {
        td.cell.best[best].behind[!best] style=(format!("--heat:{:.0}%", place(found.point, 1.0, FARTHEST))) title=[&ends] {
            span.value {
                span.sign aria-hidden="true" { @if best { "►" } }
                @if best { span.unseen { "best: " } }
                (times(found.point)) "×"
            }
        }
    }
}

/// The place of a chart, with its content in words.
pub(crate) fn chart(kind: &str, phase: Option<usize>, call: &str, words: &str) -> Markup {
    html! {
        figure.chart data-chart=(kind) data-phase=[phase] data-call=(call) role="group" aria-label=(words) {
            div.plot { p.waiting { "The chart needs JavaScript; its numbers are in the tables." } }
        }
    }
}

/// Cells of more bytes are sentences, which need a column of their own width.
const LONG: usize = 24;

/// A small table under its title; a row that is a candidate's can be left out with it.
pub(crate) fn numbers(table: &TextTable, index: Option<&Index<'_>>) -> Markup {
    let number = |row: &[String]| index?.number(row.first()?);
    html! {
        @if !table.title.is_empty() { h3.extra { (one_line(&table.title)) } }
        div.scroll { table.numbers.cards {
            thead { tr { @for title in &table.header { th scope="col" { (one_line(title)) } } } }
            tbody { @for row in &table.rows {
                tr data-candidate=[number(row)] {
                    @for (at, cell) in row.iter().enumerate() {
                        @let title = table.header.get(at).map_or(String::new(), |title| one_line(title));
                        @if at == 0 { th scope="row" { (one_line(cell)) } }
                        @else { td.long[cell.len() > LONG] data-label=(title) { (one_line(cell)) } }
                    }
                }
            } }
        } }
    }
}
