//! Pictures of data loss by file age: the time since a file was saved from left to right, the share of lost files
//! upwards.

use maud::{Markup, html};

use super::loss_age::{ages, in_words, time, who};
use crate::Report;
use crate::page::PageBlock;
use crate::text::one_line;
use fsverdict_judgement::journal::{LossAges, PowerCuts};
use fsverdict_judgement::statistics::wilson_interval;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 200.0;
/// Room for the numbers at the axes.
const LEFT: f64 = 40.0;
const FOOT: f64 = 20.0;

/// A picture of each candidate that lost saved files; `None` where none did.
pub(super) fn draw_pictures<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let judged = &report.judged;
    who(judged).next()?;
    Some(PageBlock::picture(move || {
        html! { div.depends { @for cuts in who(judged) { (draw_picture(cuts, ages(judged))) } } }
    }))
}

fn draw_picture(cuts: &PowerCuts, ages: std::ops::Range<usize>) -> Markup {
    let step = (WIDTH - LEFT) / ages.len().max(1) as f64;
    let x = |at: usize| LEFT + (at - ages.start) as f64 * step;
    let y = |share: f64| 6.0 + (1.0 - share) * (HEIGHT - FOOT - 12.0);
    let bins = ages.clone().map(|at| (at, cuts.ages.bin_at(at))).filter(|(_, bin)| bin.looked > 0);
    // Whole decades have their number.
    let is_marked = |at: &usize| at % 3 == 1;
    html! {
        figure.depends {
            figcaption { strong { (one_line(&cuts.candidate)) } ": files lost, by how long before the cut they were saved" }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
                title { (one_line(&cuts.candidate)) ": share of files lost against their age" }
                @for share in [0.0, 0.5, 1.0] {
                    path.equal d=(format!("M{LEFT} {:.1}H{WIDTH}", y(share))) {}
                    text x="2" y=(format!("{:.1}", y(share) + 4.0)) { (format!("{:.0}%", share * 100.0)) }
                }
                @for at in ages.clone().filter(is_marked) {
                    text x=(format!("{:.1}", x(at))) y=(format!("{:.1}", HEIGHT - 5.0)) { (time(LossAges::seconds(at).0)) }
                }
                @for (at, bin) in bins {
                    @if let Some([low, high]) = wilson_interval(bin.lost, bin.looked) {
                        path.reach d=(format!("M{:.1} {:.1}V{:.1}", x(at) + step / 2.0, y(low), y(high))) {}
                    }
                    circle.(if bin.lost > 0 { "full" } else { "hollow" })
                        cx=(format!("{:.1}", x(at) + step / 2.0))
                        cy=(format!("{:.1}", y(f64::from(bin.lost) / f64::from(bin.looked)))) r="4" {
                        title { (in_words(at)) ": " (bin.lost) " of " (bin.looked) }
                    }
                }
            }
        }
    }
}
