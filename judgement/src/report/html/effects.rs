//! What one option does: candidates that differ in nothing else, compared within each block, where the machine was
//! in the same mood for both.

use maud::{Markup, html};

use super::figures::{along, place, strip};
use super::index::Index;
use crate::report::Report;
use crate::report::number::{times, times_within};
use crate::report::text::{count, one_line};
use crate::verdict::{Effect, OptionEffect, Seen};

/// The strips of effects show at least this factor and at most the other, to either side.
const NARROWEST: f64 = 1.25;
const WIDEST: f64 = 8.0;

/// The section; nothing where no two candidates differ in just one option.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let goal = report.plan.goal.metric.as_str();
    let rows = &report.effects;
    let reach = rows
        .iter()
        .flat_map(|effect| effect.phases.iter().flatten())
        .map(|effect| effect.ratio.point.max(1.0 / effect.ratio.point))
        .fold(NARROWEST, f64::max)
        .min(WIDEST);
    let claims = rows
        .iter()
        .flat_map(|effect| effect.phases.iter().flatten())
        .any(|effect| effect.ratio.low.is_some());
    html! {
        @if !rows.is_empty() {
            section #effects aria-labelledby="effects-title" {
                h2 #effects-title { "What an option does" }
                p.lead {
                    "Pairs of candidates that differ in one option only: how many times as much (" (goal) ") with it as without. "
                    "Compared within each block; the line is the 95% interval, which there is from three blocks on."
                }
                div.scroll { table.picture.effects {
                    caption.unseen { "Effect of one option by phase, as a ratio" }
                    thead { tr {
                        th scope="col" { "from → to" }
                        @for phase in report.headline() { th scope="col" { (one_line(&phase.name)) } }
                    } }
                    tbody { @for effect in rows { (row(report, index, effect, reach)) } }
                } }
                p.note {
                    "The upright in the middle is no effect; the edges are " (times(1.0 / reach)) "× and " (times(reach)) "×. "
                    @if claims {
                        "► certainly better, ◄ certainly worse, ≈ within the tie, ? the interval points both ways. Each cell is judged alone."
                    } @else { "With fewer than three blocks there is no interval, and nothing is claimed." }
                }
            }
        }
    }
}

fn row(report: &Report<'_>, index: &Index<'_>, option: &OptionEffect, reach: f64) -> Markup {
    html! {
        tr data-candidate=[index.number(&option.changed)] {
            th scope="row" {
                span.name { (one_line(&option.base)) " → " (one_line(&option.changed)) }
                small { (one_line(&option.change)) }
            }
            @for effect in &option.phases {
                @match effect {
                    Some(effect) => { (cell(report, effect, reach)) }
                    None => { td.none { "–" } }
                }
            }
        }
    }
}

/// What an effect amounts to: class, sign, words.
fn looks(seen: Seen) -> (&'static str, &'static str, &'static str) {
    match seen {
        Seen::TooFew => ("once", "", ""),
        Seen::Same => ("tied", "≈", "no practical difference: "),
        Seen::Better => ("best", "►", "better: "),
        Seen::Worse => ("behind", "◄", "worse: "),
        Seen::Unclear => ("unclear", "?", "unclear: "),
    }
}

fn cell(report: &Report<'_>, effect: &Effect, reach: f64) -> Markup {
    let (class, sign, words) = looks(effect.seen(report.plan.protocol.tie));
    let at = |ratio: f64| along(ratio, 1.0 / reach, reach);
    let heat = place(effect.ratio.point.max(1.0), 1.0, reach);
    let hover = format!("{}× over {}", times_within(&effect.ratio), count(effect.ratio.n, "block"));
    let range = effect.ratio.low.zip(effect.ratio.high).map(|(low, high)| (at(low), at(high)));
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(hover) {
            span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (words) } (times(effect.ratio.point)) "×" }
            " " (strip(at(effect.ratio.point), range, effect.ratio.point > reach, Some(50.0)))
        }
    }
}
