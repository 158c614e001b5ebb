//! Pictures of how a difference depends on a device property: each block's difference against the number drawn for it.

use maud::{Markup, html};

use super::words;
use crate::Report;
use crate::device_number::format_values;
use crate::number::{times, times_within};
use crate::page::PageBlock;
use crate::text::one_line;
use fsverdict_judgement::verdict::Dependence;

/// The most pictures that are shown.
const MOST: usize = 6;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 160.0;
/// The margin around the marks.
const MARGIN: f64 = 12.0;

/// The section; `None` where nothing depends on the device.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let dependences = &report.judged.verdict.depends;
    if dependences.is_empty() {
        return None;
    }
    let lead = "Each block was tried on another device of the class. A mark is a block: across, the number that was drawn \
                for its device; up, how many times as long the first takes as the second. Above the line it is slower.";
    let pictures = move || {
        html! { div.depends { @for one in dependences.iter().take(MOST) { (draw_picture(one)) } } }
    };
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(pictures)];
    Some(PageBlock::section("depends", "It depends on the device", blocks))
}

fn draw_picture(one: &Dependence) -> Markup {
    let [small, large] = &one.sides;
    let title = format!("{} against {}, by {}", one.candidate, one.against, words::describe_numbers(one));
    html! {
        figure.depends {
            figcaption {
                strong { (one_line(&one.candidate)) } " against " strong { (one_line(&one.against)) }
                " by " (one_line(&words::describe_numbers(one)))
            }
            (marks(one, &title))
            p.note {
                (format_values(small.from, small.to)) ": " (times_within(&small.ratio)) "× · "
                (format_values(large.from, large.to)) ": " (times_within(&large.ratio)) "×"
            }
        }
    }
}

fn marks(one: &Dependence, title: &str) -> Markup {
    let across = Reach::of(one.blocks.iter().map(|(number, _)| number.to_scale()));
    // Every picture includes the line of equality.
    let up = Reach::of(one.blocks.iter().map(|(_, behind)| *behind).chain([0.0]));
    let x = |number: f64| MARGIN + across.share(number) * (WIDTH - 2.0 * MARGIN);
    let y = |behind: f64| HEIGHT - MARGIN - up.share(behind) * (HEIGHT - 2.0 * MARGIN);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (one_line(title)) }
            path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
            @for (number, behind) in &one.blocks {
                circle cx=(format!("{:.1}", x(number.to_scale()))) cy=(format!("{:.1}", y(*behind))) r="4" {
                    title { (number) ": " (times(libm::exp(*behind))) "×" }
                }
            }
        }
    }
}

/// The range from the smallest to the largest value that is drawn.
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
