//! The effects of single options: candidates that differ in nothing else, compared within each block, under the same
//! state of the machine.

use maud::{Markup, html};

use super::topic::ReportTopic;
use crate::Report;
use crate::model::Index;
use crate::page::PageBlock;
use crate::page::figures::{along, place, strip};
use crate::topics::factors;
use crate::wording::{count, one_line, percent, times, times_within};
use fsverdict_judgement::verdict::{ContrastOutcome, Estimate, FactorEffect, OptionEffect};

/// The smallest factor that the strips of effects show to either side; the next constant is the largest.
const NARROWEST: f64 = 1.25;
const WIDEST: f64 = 8.0;

/// The factor that the strips of these effects extend to.
fn reach<'a>(ratios: impl Iterator<Item = &'a Estimate>) -> f64 {
    ratios.map(|ratio| ratio.point.max(1.0 / ratio.point)).fold(NARROWEST, f64::max).min(WIDEST)
}

pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

pub(super) static FACTORS: ReportTopic =
    ReportTopic { build_section: build_factor_section, ..ReportTopic::EMPTY };

/// The section; `None` where no two candidates differ in just one option.
fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let rows = &report.judged.effects;
    if rows.is_empty() || !report.has_results() {
        return None;
    }
    let goal = report.judged.plan.goal.metric.as_str();
    let ratios = || rows.iter().flat_map(|effect| effect.phases.iter().flatten());
    let reach = reach(ratios());
    let lead = format!(
        "Pairs of candidates that differ in one option only: how many times as much ({goal}) with it as without. \
         Compared within each block; the line is the 95% interval, which there is from three blocks on."
    );
    let meaning = match ratios().any(|ratio| ratio.low.is_some()) {
        true => {
            "► certainly better, ◄ certainly worse, ≈ within the tie, ? the interval points both ways. Each cell is judged alone."
        }
        false => "With fewer than three blocks there is no interval, and nothing is claimed.",
    };
    let (least, most) = (times(1.0 / reach), times(reach));
    let note = format!("The line in the middle is no effect; the edges are {least}× and {most}×. {meaning}");
    let drawn = move || {
        let index = Index::of(report);
        html! {
            div.scroll { table.picture.effects {
                caption.unseen { "Effect of one option by phase, as a ratio" }
                thead { tr {
                    th scope="col" { "from → to" }
                    @for phase in report.judged.headline() { th scope="col" { (one_line(&phase.name)) } }
                } }
                tbody { @for effect in rows { (build_row(report, &index, effect, reach)) } }
            } }
        }
    };
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(drawn), PageBlock::Note(note.into())];
    Some(PageBlock::section("effects", "What an option does", blocks))
}

/// The main effects of options, a strip each; `None` where there are none.
fn build_factor_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let factors = &report.judged.verdict.factors;
    if factors.is_empty() || !report.has_results() {
        return None;
    }
    let reach = reach(factors.iter().map(|effect| &effect.ratio));
    let lead = "How many times as much the goal takes with an option, over everything that was tried both with it and \
                without: from all trials, blocks allowed for. Below it, where it does more or less than elsewhere.";
    let note = format!(
        "The line is the 95% interval of each alone; ► and ◄ mark what is certain with all of them taken together \
         and larger than {}. Edges: {}× and {}×.",
        percent(report.judged.plan.protocol.tie),
        times(1.0 / reach),
        times(reach)
    );
    let blocks = vec![
        PageBlock::Lead(lead.into()),
        PageBlock::picture(move || strips(factors, reach)),
        PageBlock::Note(note.into()),
    ];
    Some(PageBlock::section("factors", "What options do overall", blocks))
}

fn strips(found: &[FactorEffect], reach: f64) -> Markup {
    let cell = |ratio: &Estimate, certain: bool| {
        let outcome = match (certain, ratio.point < 1.0) {
            (true, true) => ContrastOutcome::Better,
            (true, false) => ContrastOutcome::Behind,
            (false, _) => ContrastOutcome::Undecided,
        };
        drawn(ratio, outcome, reach)
    };
    html! {
        div.scroll { table.picture.effects {
            caption.unseen { "Effect of each option over all candidates, as a ratio" }
            thead { tr { th scope="col" { "option" } th scope="col" { "goal" } th scope="col" { "against" } } }
            tbody { @for effect in found {
                tr {
                    th scope="row" { span.name { (effect.factor) " " (one_line(factors::name(&effect.level))) } }
                    (cell(&effect.ratio, effect.certain))
                    td { (one_line(effect.against.as_deref().map_or("the mean of all", factors::name))) }
                }
                @for interaction in effect.interactions.iter().filter(|interaction| interaction.certain) { tr {
                    th scope="row" { small { (one_line(&factors::name_level(interaction))) ": as against elsewhere" } }
                    (cell(&interaction.ratio, true))
                    td { (times_within(&interaction.here)) "× there" }
                } }
            } }
        } }
    }
}

fn build_row(report: &Report<'_>, index: &Index<'_>, option: &OptionEffect, reach: f64) -> Markup {
    html! {
        tr data-candidate=[index.number(&option.changed)] {
            th scope="row" {
                span.name { (one_line(&option.base)) " → " (one_line(&option.changed)) }
                small { (one_line(&option.change)) }
            }
            @for effect in &option.phases {
                @match effect {
                    Some(ratio) => { (drawn(ratio, ContrastOutcome::from_interval(ratio, report.judged.plan.protocol.tie), reach)) }
                    None => { td.none { "–" } }
                }
            }
        }
    }
}

/// The look of an effect: CSS class, sign, words. Below three blocks there is no interval, and nothing to say.
fn looks(ratio: &Estimate, outcome: ContrastOutcome) -> (&'static str, &'static str, &'static str) {
    match outcome {
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter if ratio.low.is_none() => ("once", "", ""),
        ContrastOutcome::Tied => ("tied", "≈", "no practical difference: "),
        ContrastOutcome::Better => ("best", "►", "better: "),
        ContrastOutcome::Behind => ("behind", "◄", "worse: "),
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter => ("unclear", "?", "unclear: "),
    }
}

fn drawn(ratio: &Estimate, outcome: ContrastOutcome, reach: f64) -> Markup {
    let (class, sign, words) = looks(ratio, outcome);
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
