//! What of a class of devices decides: each block's difference beside the number that was drawn there.

use maud::{Markup, html};

use crate::number::{times, times_within};
use crate::page::PageBlock;
use crate::text::one_line;
use crate::{Report, depends};
use fsverdict_judgement::verdict::Dependence;

/// More pictures than this say no more.
const MOST: usize = 6;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 160.0;
/// What is left free around the marks.
const MARGIN: f64 = 12.0;

/// The section; nothing where nothing depends on the device.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let found = &report.judged.verdict.depends;
    if found.is_empty() {
        return None;
    }
    let lead = "Each block was tried on another device of the class. A mark is a block: across, the number that was drawn \
                for its device; up, how many times as long the first takes as the second. Above the line it is slower.";
    let pictures = move || {
        html! { div.depends { @for one in found.iter().take(MOST) { (picture(one)) } } }
    };
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(pictures)];
    Some(PageBlock::section("depends", "It depends on the device", blocks))
}

fn picture(one: &Dependence) -> Markup {
    let [small, large] = &one.sides;
    let title = format!("{} against {}, by {}", one.candidate, one.against, depends::number(one));
    html! {
        figure.depends {
            figcaption {
                strong { (one_line(&one.candidate)) } " against " strong { (one_line(&one.against)) }
                " by " (one_line(&depends::number(one)))
            }
            (marks(one, &title))
            p.note {
                (depends::values(small)) ": " (times_within(&small.ratio)) "× · "
                (depends::values(large)) ": " (times_within(&large.ratio)) "×"
            }
        }
    }
}

fn marks(one: &Dependence, title: &str) -> Markup {
    let across = Reach::of(one.blocks.iter().map(|(number, _)| number.scaled()));
    // Equal lies within every picture.
    let up = Reach::of(one.blocks.iter().map(|(_, behind)| *behind).chain([0.0]));
    let x = |number: f64| MARGIN + across.share(number) * (WIDTH - 2.0 * MARGIN);
    let y = |behind: f64| HEIGHT - MARGIN - up.share(behind) * (HEIGHT - 2.0 * MARGIN);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (one_line(title)) }
            path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
            @for (number, behind) in &one.blocks {
                circle cx=(format!("{:.1}", x(number.scaled()))) cy=(format!("{:.1}", y(*behind))) r="4" {
                    title { (number) ": " (times(libm::exp(*behind))) "×" }
                }
            }
        }
    }
}

/// From the least to the most that is drawn.
struct Reach {
    least: f64,
    most: f64,
}

impl Reach {
    fn of(values: impl Iterator<Item = f64>) -> Reach {
        let mut reach = Reach { least: f64::INFINITY, most: f64::NEG_INFINITY };
        for value in values {
            reach = Reach { least: reach.least.min(value), most: reach.most.max(value) };
        }
        reach
    }

    fn share(&self, value: f64) -> f64 {
        let width = self.most - self.least;
        if width > 0.0 { (value - self.least) / width } else { 0.5 }
    }
}
