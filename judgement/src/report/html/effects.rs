//! What one option does: candidates that differ in nothing else, compared within each block, where the machine was
//! in the same mood for both.

use maud::{Markup, html};

use super::figures::{along, place, strip};
use super::index::Index;
use crate::report::number::{percent, times, times_within};
use crate::report::text::{count, one_line};
use crate::report::{Report, factors};
use crate::verdict::{Estimate, OptionEffect, Seen};

/// The strips of effects show at least this factor and at most the other, to either side.
const NARROWEST: f64 = 1.25;
const WIDEST: f64 = 8.0;

/// How far the strips of these effects go.
fn reach<'a>(ratios: impl Iterator<Item = &'a Estimate>) -> f64 {
    ratios.map(|ratio| ratio.point.max(1.0 / ratio.point)).fold(NARROWEST, f64::max).min(WIDEST)
}

/// The section; nothing where no two candidates differ in just one option.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let goal = report.judged.plan.goal.metric.as_str();
    let rows = &report.judged.effects;
    let ratios = || rows.iter().flat_map(|effect| effect.phases.iter().flatten());
    let reach = reach(ratios());
    let claims = ratios().any(|ratio| ratio.low.is_some());
    html! {
        (factors_section(report))
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
                        @for phase in report.judged.headline() { th scope="col" { (one_line(&phase.name)) } }
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

/// The effects of whole factors, a strip each.
fn factors_section(report: &Report<'_>) -> Markup {
    let found = &report.judged.verdict.factors;
    let reach = reach(found.iter().map(|effect| &effect.ratio));
    let cell = |ratio: &Estimate, certain: bool| {
        let seen = match (certain, ratio.point < 1.0) {
            (true, true) => Seen::Better,
            (true, false) => Seen::Worse,
            (false, _) if ratio.low.is_none() => Seen::TooFew,
            (false, _) => Seen::Unclear,
        };
        drawn(ratio, seen, reach)
    };
    html! {
        @if !found.is_empty() {
            section #factors aria-labelledby="factors-title" {
                h2 #factors-title { "What options do overall" }
                p.lead {
                    "How many times as much the goal takes with an option, over everything that was tried both with it and "
                    "without: from all trials, blocks allowed for. Below it, where it does more or less than elsewhere."
                }
                div.scroll { table.picture.effects {
                    caption.unseen { "Effect of each option over all candidates, as a ratio" }
                    thead { tr { th scope="col" { "option" } th scope="col" { "goal" } th scope="col" { "against" } } }
                    tbody { @for effect in found {
                        tr {
                            th scope="row" { span.name { (effect.factor) " " (one_line(factors::name(&effect.level))) } }
                            (cell(&effect.ratio, effect.certain))
                            td { (one_line(effect.against.as_deref().map_or("the mean of all", factors::name))) }
                        }
                        @for one in effect.interactions.iter().filter(|one| one.certain) { tr {
                            th scope="row" { small { (one_line(&factors::place(one))) ": as against elsewhere" } }
                            (cell(&one.ratio, true))
                            td { (times_within(&one.here)) "× there" }
                        } }
                    } }
                } }
                p.note {
                    "The line is the 95% interval of each alone; ► and ◄ mark what is certain with all of them taken together "
                    "and larger than " (percent(report.judged.plan.protocol.tie)) ". Edges: " (times(1.0 / reach)) "× and " (times(reach)) "×."
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
                    Some(ratio) => { (drawn(ratio, Seen::of(ratio, report.judged.plan.protocol.tie), reach)) }
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

fn drawn(ratio: &Estimate, seen: Seen, reach: f64) -> Markup {
    let (class, sign, words) = looks(seen);
    let at = |ratio: f64| along(ratio, 1.0 / reach, reach);
    let heat = place(ratio.point.max(1.0), 1.0, reach);
    let hover = format!("{}× over {}", times_within(ratio), count(ratio.n, "block"));
    let range = ratio.low.zip(ratio.high).map(|(low, high)| (at(low), at(high)));
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(hover) {
            div.beside {
                span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (words) } (times(ratio.point)) "×" }
                " " (strip(at(ratio.point), range, ratio.point > reach, Some(50.0)))
            }
        }
    }
}
