//! The picture of a cell: a bar for each candidate, as a multiple of the recommended one, with its interval.

use maud::{Markup, html};

use super::computed_cell::{CandidateBar, ComputedCell};
use crate::wording::{one_line, shorten, times};

const WIDTH: f64 = 800.0;
const ROW: f64 = 34.0;
/// The room for names, and for numbers behind the bars.
const NAMES: f64 = 150.0;
const NUMBERS: f64 = 250.0;
/// Bars end here: a slower candidate is marked as lying beyond.
const FARTHEST: f64 = 8.0;

/// Where bars end: at the slowest candidate, if that is not too far off.
pub(super) fn farthest(bars: &[CandidateBar]) -> f64 {
    bars.iter().map(|bar| bar.times.point).fold(1.5, f64::max).min(FARTHEST)
}

/// The numbers behind a bar: `1.63×, 45.1 s, 1.50 to 1.78`.
pub(super) fn describe_bar(bar: &CandidateBar) -> String {
    let interval = bar.times.ends();
    let interval = interval.map(|(low, high)| format!("{} to {}", times(low), times(high)));
    let ratio = if bar.times.point == 1.0 && interval.is_none() {
        None
    } else {
        Some(format!("{}×", times(bar.times.point)))
    };
    [ratio, bar.total.clone(), interval].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn draw_bars(cell: &ComputedCell, title: &str) -> Markup {
    let end = farthest(&cell.bars);
    let x = |ratio: f64| NAMES + (ratio / end).min(1.0) * (WIDTH - NAMES - NUMBERS);
    let height = ROW * cell.bars.len() as f64 + 12.0;
    html! {
        figure {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
                title { (one_line(title)) }
                @for (at, bar) in cell.bars.iter().enumerate() {
                    @let y = 6.0 + ROW * at as f64;
                    @let beyond = if bar.times.point > end { " »" } else { "" };
                    text x=(NAMES - 8.0) y=(y + 21.0) text-anchor="end" { (shorten(&one_line(&bar.name), 18, "…")) }
                    rect.bar.first[at == 0] x=(NAMES) y=(y + 5.0) width=(format!("{:.1}", x(bar.times.point) - NAMES)) height="22" rx="3" {}
                    @if let Some((low, high)) = bar.times.ends() {
                        path.range d=(format!("M{:.1} {y:.1}m0 11v10m0 -5H{:.1}m0 -5v10", x(low), x(high))) {}
                    }
                    text.soft x=(format!("{:.1}", x(bar.times.point.max(bar.times.high.unwrap_or(0.0))) + 9.0)) y=(y + 21.0) { (describe_bar(bar)) (beyond) }
                }
            }
            figcaption {
                @if cell.is_of_time { "How many times as long each takes as the first, with the 95 % interval of the mean over drives of the class" }
                @else { "How many times as much each comes to as the first, with the 95 % interval of the mean over drives of the class" }
                "; shorter is better."
                @let protected: Vec<String> = cell.bars.iter().filter(|bar| !bar.protection.is_empty()).map(|bar| format!("{}: {}", one_line(&bar.name), bar.protection)).collect();
                @if !protected.is_empty() { " " (protected.join("; ")) "." }
            }
        }
    }
}
