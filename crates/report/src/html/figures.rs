//! Formats numbers for the HTML page, and draws the small bars beside them without scripts.

use maud::{Markup, html};

use crate::number::{NumberScale, decimals, fixed, times};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::{Estimate, PhaseEstimate};

/// Half the width of the interval as a share of the point estimate.
pub(super) fn spread(found: &PhaseEstimate) -> Option<f64> {
    let (low, high) = found.ends()?;
    (found.estimate.point != 0.0).then(|| (high - low) / 2.0 / found.estimate.point.abs())
}

/// A number with its unit, in the scale that suits this number alone.
pub(super) fn alone(value: f64, unit: Unit, spread: Option<f64>) -> String {
    let scale = NumberScale::suited(unit, std::iter::once(value));
    with_unit(value, scale, spread)
}

pub(super) fn with_unit(value: f64, scale: NumberScale, spread: Option<f64>) -> String {
    let text = in_scale(value, scale, spread);
    if scale.label.is_empty() { text } else { format!("{text}\u{202f}{}", scale.label) }
}

/// A number in a given scale, without its unit.
pub(super) fn in_scale(value: f64, scale: NumberScale, spread: Option<f64>) -> String {
    let scaled = value / scale.divisor;
    fixed(scaled, decimals(scaled, spread))
}

/// An estimate for a tooltip or a table: `1.31 s (1.28 to 1.35, n = 10)`.
pub(super) fn in_full(found: &PhaseEstimate) -> String {
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
pub(super) fn along(ratio: f64, from: f64, to: f64) -> f64 {
    libm::log(ratio / from) / libm::log(to / from) * 100.0
}

/// A dot with its interval on a strip, with positions in per cent. An arrow marks an interval that continues beyond an
/// end.
pub(super) fn strip(dot: f64, range: Option<(f64, f64)>, beyond: bool, origin: Option<f64>) -> Markup {
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
pub(super) fn draw_bar(share: f64) -> Markup {
    html! { span.bar aria-hidden="true" { i style=(format!("width:{:.1}%", (share * 100.0).clamp(0.0, 100.0))) {} } }
}

/// The ratio from which a cell has the deepest colour.
const FARTHEST: f64 = 16.0;

/// A cell with the ratio to the best; a ratio of 1 or less has the sign of the best.
pub(crate) fn ratio(found: Option<&Estimate>) -> Markup {
    let Some(found) = found else { return html! { td.none { "–" } } };
    let best = found.point <= 1.0;
    let ends = found.low.zip(found.high).map(|(low, high)| format!("{} to {}", times(low), times(high)));
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
