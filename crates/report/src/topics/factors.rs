//! Topic: what options do: over all candidates that were tried with them, in words, as a table and drawn; and candidates that
//! differ in nothing else, compared within each block, under the same state of the machine.

use maud::{Markup, html};

use super::ReportTopic;
use crate::Report;
use crate::model::Index;
use crate::page::PageBlock;
use crate::page::figures::{along, place, strip};
use crate::wording::{
    TextTable, capitalize, count, fine_percent, one_line, percent, plain_number, signed_percent, times,
    times_within,
};
use fsverdict_judgement::plan::find_axis;
use fsverdict_judgement::verdict::{
    ContrastOutcome, Estimate, FactorEffect, Interaction, Judgement, OptionEffect,
};

/// With fewer candidates than two pairs, the ranking is the answer.
const FEWEST_IN_PAIRS: usize = 4;

/// The effects that are certain, in a sentence without a full stop; the effect of filesystems is the ranking, and that
/// of devices is no option's. `None` if no effect is certain.
pub(crate) fn write_sentence(judged: &Judgement<'_>) -> Option<String> {
    let certain = judged
        .verdict
        .factors
        .iter()
        .filter(|effect| effect.certain || strongest_interaction(effect).is_some());
    let tie = judged.plan.protocol.tie;
    let certain = certain.filter(|effect| is_of_option(effect));
    let certain: Vec<String> = certain.map(|effect| describe_effect(effect, tie)).collect();
    (!certain.is_empty()).then(|| certain.join("; "))
}

/// Whether the effect is that of an option; filesystems are ranked, and devices are no options.
fn is_of_option(effect: &FactorEffect) -> bool {
    !["filesystem", "model"].contains(&effect.factor)
}

/// The effect of the option that all candidates were tried with and without, which is the question of such a plan. `None` if
/// the plan varies only filesystems, several options, or a protection: the costs of protection are described separately.
pub(crate) fn answer_asked(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    let mut varied = verdict.factors.iter().filter(|effect| is_of_option(effect));
    let (Some(effect), None) = (varied.next(), varied.next()) else { return None };
    let is_option = ["mkfs", "mount"].contains(&effect.factor) && effect.against.is_some();
    if !is_option || verdict.ranking.len() < FEWEST_IN_PAIRS || !verdict.groups.is_empty() {
        return None;
    }
    let tie = judged.plan.protocol.tie;
    let ends = effect.ratio.ends().filter(|_| !effect.certain && !effect.slight);
    let ends = ends.map_or(String::new(), |(low, high)| {
        format!(" ({} to {})", signed_percent(low - 1.0, 0), signed_percent(high - 1.0, 0))
    });
    Some(format!("{}{ends}. ", capitalize(&describe_effect(effect, tie))))
}

/// `encryption luks2 costs 11% (±3.4%) overall, more so on xfs, where it costs 24% (±4.1%)`.
fn describe_effect(effect: &FactorEffect, tie: f64) -> String {
    let within = effect.ratio.within(1.0 / (1.0 + tie), 1.0 + tie);
    let overall = match (effect.certain, effect.slight) {
        (true, _) => describe_ratio_effect(&effect.ratio),
        (_, true) if within => {
            format!("{}, which is less than matters,", describe_ratio_effect(&effect.ratio))
        }
        (_, true) => format!("{}, which may or may not matter,", describe_ratio_effect(&effect.ratio)),
        _ if within => "makes no difference that matters".to_owned(),
        _ => "makes no certain difference".to_owned(),
    };
    let against = match effect.against.as_deref() {
        None => " against the mean of all".to_owned(),
        Some("") => String::new(),
        Some(base) => format!(" against {base}"),
    };
    let differs = strongest_interaction(effect).map_or(String::new(), |apart| {
        let more = match (effect.ratio.point >= 1.0) == (apart.ratio.point >= 1.0) {
            _ if !effect.certain => "but otherwise",
            true => "more so",
            false => "less so",
        };
        format!(", {more} {}, where it {}", name_level(apart), describe_ratio_effect(&apart.here))
    });
    let computing = effect.added.filter(|added| effect.certain && added.is_computing());
    let computing = computing.map_or(String::new(), |added| {
        let [cpu, durable] = [added.cpu, added.durable].map(plain_number);
        format!(" (most of it is computing: {cpu} s of processors for {durable} s more)")
    });
    format!("{} {}{against} {overall} overall{computing}{differs}", effect.factor, name(&effect.level))
}

/// `costs 11% (±3.4%)`, or a weaker statement if the interval allows only that.
fn describe_ratio_effect(ratio: &Estimate) -> String {
    let ends = ratio.ends();
    let half = ends.map_or(String::new(), |(low, high)| format!(" (±{})", fine_percent((high - low) / 2.0)));
    match ends {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => format!("does nothing certain{half}"),
        _ if ratio.point >= 1.0 => format!("costs {}{half}", fine_percent(ratio.point - 1.0)),
        _ => format!("saves {}{half}", fine_percent(1.0 - ratio.point)),
    }
}

/// The interaction in which the effect certainly differs most.
fn strongest_interaction(effect: &FactorEffect) -> Option<&Interaction> {
    let size = |interaction: &&Interaction| libm::fabs(libm::log(interaction.ratio.point));
    let certain = effect.interactions.iter().filter(|interaction| interaction.certain);
    certain.max_by(|interaction, other| size(interaction).total_cmp(&size(other)))
}

pub(crate) fn name_level(interaction: &Interaction) -> String {
    let level = name(&interaction.level);
    find_axis(interaction.factor)
        .map_or_else(|| level.to_owned(), |axis| axis.describe_level(interaction.factor, level))
}

/// The default of an option is not named in a plan.
pub(crate) fn name(level: &str) -> &str {
    if level.is_empty() { "default" } else { level }
}

/// Every effect, and each interaction that is certain.
pub(crate) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let sign = |effect: &FactorEffect| match (effect.certain, effect.slight, effect.ratio.point >= 1.0) {
        (true, _, true) => "costs",
        (true, _, false) => "saves",
        (_, true, true) => "costs little",
        (_, true, false) => "saves little",
        _ => "",
    };
    let measured = judged.verdict.factors.iter().any(|effect| effect.added.is_some());
    let added = |effect: &FactorEffect| match effect.added {
        Some(added) => [added.durable, added.cpu].map(plain_number).to_vec(),
        None if measured => vec!["–".to_owned(); 2],
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for effect in &judged.verdict.factors {
        let against = effect.against.as_deref().map_or("mean of all", name);
        let what = format!("{} {}", effect.factor, name(&effect.level));
        let ratio = times_within(&effect.ratio);
        let mut row = vec![what, against.to_owned(), ratio, sign(effect).to_owned()];
        row.extend(added(effect));
        rows.push(row);
        for interaction in effect.interactions.iter().filter(|interaction| interaction.certain) {
            let sure = if interaction.ratio.point >= 1.0 { "more there" } else { "less there" };
            let here = format!("  {}", name_level(interaction));
            let mut row = vec![here, against.to_owned(), times_within(&interaction.here), sure.to_owned()];
            row.extend(vec![String::new(); if measured { 2 } else { 0 }]);
            rows.push(row);
        }
    }
    let title = "What each option does wherever it was tried, times as much as with the other. Intervals are 95% of each alone; \
                 what is named certain is so with all taken together.";
    let more: &[&str] = if measured { &["adds, s", "adds, CPU s"] } else { &[] };
    TextTable::filled(title, &[&["option", "against", "times", "certain"], more].concat(), rows)
}

/// The smallest factor that the strips of effects show to either side; the next constant is the largest.
const NARROWEST: f64 = 1.25;
const WIDEST: f64 = 8.0;

/// The factor that the strips of these effects extend to.
fn reach<'a>(ratios: impl Iterator<Item = &'a Estimate>) -> f64 {
    ratios.map(|ratio| ratio.point.max(1.0 / ratio.point)).fold(NARROWEST, f64::max).min(WIDEST)
}

pub(super) static PAIRS: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

pub(super) static TOPIC: ReportTopic =
    ReportTopic { build_section: build_factor_section, ..ReportTopic::EMPTY };

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
                    th scope="row" { span.name { (effect.factor) " " (one_line(name(&effect.level))) } }
                    (cell(&effect.ratio, effect.certain))
                    td { (one_line(effect.against.as_deref().map_or("the mean of all", name))) }
                }
                @for interaction in effect.interactions.iter().filter(|interaction| interaction.certain) { tr {
                    th scope="row" { small { (one_line(&name_level(interaction))) ": as against elsewhere" } }
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
    let range = ratio.ends().map(|(low, high)| (at(low), at(high)));
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(hover) {
            div.beside {
                span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (words) } (times(ratio.point)) "×" }
                " " (strip(at(ratio.point), range, ratio.point > reach, Some(50.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
