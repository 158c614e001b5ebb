//! Pictures of the price of safety: a candidate's time from left to right, its rate of loss upwards; the Pareto set is
//! filled.

use maud::{Markup, html};

use super::words::{LossColumn, build_table, list_columns};
use crate::page::{PageBlock, PageTable};
use crate::text::one_line;
use crate::{Report, number};
use fsverdict_judgement::verdict::SafetyPoint;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 240.0;
/// The free space around the marks, and for names to their right.
const MARGIN: f64 = 18.0;
const NAMES: f64 = 110.0;

/// The section; nothing where nothing was looked at, or one candidate alone.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let points = &report.safety;
    let table = build_table(points)?;
    let lead = "Left and low is best: across, how many times as long as the fastest; up, the share of states in which something was \
                lost, with its 95% interval. Full: nobody is at once no slower and no worse in any kind of loss, and better in one. Candidates that nobody is to take are drawn too.";
    let pictures = move || {
        html! { div.depends { @for column in list_columns(points) { (draw_picture(points, &column)) } } }
    };
    let blocks = vec![
        PageBlock::Lead(lead.into()),
        PageBlock::picture(pictures),
        PageBlock::Table(PageTable { by_candidate: true, ..PageTable::plain(table) }),
    ];
    Some(PageBlock::section("safety", "The price of safety", blocks))
}

fn draw_picture(points: &[SafetyPoint], column: &LossColumn) -> Markup {
    let most = points.iter().map(|point| libm::log(point.time.point)).fold(0.01, f64::max);
    let x = |point: &SafetyPoint| {
        MARGIN + libm::log(point.time.point).max(0.0) / most * (WIDTH - 2.0 * MARGIN - NAMES)
    };
    let y = |share: f64| HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN);
    let title = format!("Time against {}", column.title);
    html! {
        figure.depends {
            figcaption { "Time against " strong { (column.title) } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
                title { (one_line(&title)) }
                path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
                @for point in points { @if let Some(loss) = (column.of)(point) {
                    path.reach d=(format!("M{:.1} {:.1}V{:.1}", x(point), y(loss.low), y(loss.high))) {}
                    circle.(if point.beaten_by.is_some() { "hollow" } else { "full" })
                        cx=(format!("{:.1}", x(point))) cy=(format!("{:.1}", y(loss.share()))) r="4" {
                        title {
                            (one_line(&point.candidate)) ": " (number::times(point.time.point)) "×, "
                            (loss.lost) " of " (loss.of)
                        }
                    }
                    text x=(format!("{:.1}", x(point) + 7.0)) y=(format!("{:.1}", y(loss.share()) + 4.0)) {
                        (one_line(&point.candidate))
                    }
                } }
            }
        }
    }
}
