//! The picture of the predictions for one device of a class: for each rival the devices that were tried, the range of
//! nine of ten, and the line of equality.

use maud::{Markup, html};

use super::words;
use crate::Report;
use crate::number::times;
use crate::page::{PageBlock, PageTable};
use crate::text::one_line;
use fsverdict_judgement::verdict::DevicePrediction;

/// The most rivals that are drawn; the table has all.
const MOST: usize = 12;
const WIDTH: f64 = 640.0;
/// The height of a row, and the room for names left of the marks.
const ROW: f64 = 22.0;
const NAMES: f64 = 170.0;

/// The section; `None` where nothing is predicted.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageTable::plain(words::build_table(&report.judged)?);
    let lead = "Each block was tried on another device of the class. A mark is a device: how many times as much the \
                candidate takes there as the first. The line is where nine further devices of ten will lie. Left of the dashed \
                line the candidate is better.";
    let predictions = &report.judged.verdict.predictions;
    let picture = move || draw_picture(predictions);
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(picture), PageBlock::Table(table)];
    Some(PageBlock::section("one-device", "On one device", blocks))
}

fn draw_picture(found: &[DevicePrediction]) -> Markup {
    let shown: Vec<&DevicePrediction> = found.iter().filter(|one| one.low.is_some()).take(MOST).collect();
    let logs = shown
        .iter()
        .flat_map(|one| one.low.into_iter().chain(one.high).chain(one.ratios.iter().copied()).map(libm::log));
    // Equality is always in the picture.
    let (least, most) = logs.fold((0.0_f64, 0.0_f64), |(least, most), log| (least.min(log), most.max(log)));
    let width = (most - least).max(1e-6);
    let x = |ratio: f64| NAMES + (libm::log(ratio) - least) / width * (WIDTH - NAMES - 12.0) + 6.0;
    let height = ROW * (shown.len() as f64 + 1.0);
    html! {
        figure.depends {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
                title { "What candidates take on one device of the class, beside the first" }
                path.equal d=(format!("M{:.1} 0V{height}", x(1.0))) {}
                @for (at, one) in shown.iter().enumerate() {
                    @let y = ROW * (at as f64 + 1.0);
                    text x="4" y=(format!("{:.1}", y + 4.0)) { (one_line(&one.candidate)) }
                    @if let Some((low, high)) = one.low.zip(one.high) {
                        path.reach d=(format!("M{:.1} {y}H{:.1}", x(low), x(high))) {
                            title { (times(low)) " to " (times(high)) "×" }
                        }
                    }
                    @for ratio in &one.ratios {
                        circle cx=(format!("{:.1}", x(*ratio))) cy=(format!("{y}")) r="3" {
                            title { (times(*ratio)) "×" }
                        }
                    }
                }
            }
        }
    }
}
