//! Topic: the device properties that change the ranking within a class of devices. The pictures show each block's
//! difference against the number drawn for it.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{
    TextTable, describe_number, describe_value, format_values, listing, one_line, times, times_with_ends,
    times_within,
};
use fsverdict_judgement::verdict::{Dependence, DeviceSide, DeviceSpread, Judgement};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.judged)).collect(),
    build_section,
    list_clauses: |judged| {
        let turn = describe_turn(judged).map(|turn| format!("It depends {turn}. On the whole:"));
        let mut clauses = Clause::list(ClauseKind::Premise, turn);
        clauses.extend(Clause::list(ClauseKind::Detail, describe_widest(judged)));
        clauses.extend(Clause::list(ClauseKind::Detail, describe_spreads(judged)));
        clauses
    },
    ..ReportTopic::EMPTY
};

/// The most rows of the table; the JSON has all.
const MOST_ROWS: usize = 8;
/// The most device spreads that a paragraph names.
const MOST_SPREADS: usize = 3;

/// The dependence in which a different candidate leads on some devices, without a full stop; `None` where there is
/// none, or where sites turn the ranking.
fn describe_turn(judged: &Judgement<'_>) -> Option<String> {
    let tie = judged.plan.protocol.tie;
    if judged.sites.as_ref().is_some_and(|sites| sites.clearest_turn(tie).is_some()) {
        return None;
    }
    let first = judged.verdict.depends.first()?;
    first.changes_leader(tie).then(|| describe_dependence(first))
}

/// The widest difference that depends on the device, without a full stop; `None` where there is none, or where
/// [another candidate leads](describe_turn), which is reported first.
fn describe_widest(judged: &Judgement<'_>) -> Option<String> {
    let first = judged.verdict.depends.first()?;
    (!first.changes_leader(judged.plan.protocol.tie))
        .then(|| format!("how much depends {}", describe_dependence(first)))
}

/// The widest spreads of differences over single devices, without a full stop; `None` where there are none, or where the
/// [results of one device](crate::topics::device_prediction) are predicted.
fn describe_spreads(judged: &Judgement<'_>) -> Option<String> {
    let spreads = &judged.verdict.device_spreads;
    if judged.verdict.predictions.iter().any(|prediction| prediction.low.is_some()) {
        return None;
    }
    let each = spreads.iter().take(MOST_SPREADS).map(|spread| {
        let DeviceSpread { candidate, against, devices, least, most, better, .. } = spread;
        let (least, most) = (times(*least), times(*most));
        let better = match better {
            0 => String::new(),
            some => format!(", and is better on {some}"),
        };
        format!("{candidate} takes {least} to {most} times as long as {against} on the {devices} that it met{better}")
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("On single devices of the class it differs: {}", each.join("; ")))
}

fn describe_dependence(dependence: &Dependence) -> String {
    let Dependence { candidate, against, sides: [small, large], number, .. } = dependence;
    let value = |side: &DeviceSide| describe_value(number, side.from, side.to);
    format!(
        "on the device, by {}: {} {candidate} takes {} times as long as {against}, {} {} times",
        describe_numbers(dependence),
        value(small),
        times_within(&small.ratio),
        value(large),
        times_within(&large.ratio),
    )
}

/// One row for every pair and number; `None` where nothing depends on the device.
fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let dependences = &judged.verdict.depends;
    let cell = |side: &DeviceSide| {
        format!("{}: {}", format_values(side.from, side.to), times_with_ends(&side.ratio))
    };
    let row = |dependence: &Dependence| {
        let [small, large] = &dependence.sides;
        let (candidate, against) = (dependence.candidate.clone(), dependence.against.clone());
        vec![candidate, against, describe_numbers(dependence), cell(small), cell(large)]
    };
    let more = dependences.len().saturating_sub(MOST_ROWS);
    let rest = if more > 0 { format!(" {more} more are in the JSON.") } else { String::new() };
    let title = format!(
        "It depends on the device: how many times as long the first takes as the second, by what was drawn of the class.{rest}"
    );
    let header = ["candidate", "against", "number", "where small, or false", "where large, or true"];
    TextTable::filled(title, &header, dependences.iter().take(MOST_ROWS).map(row))
}

/// The number in words, and others that varied in the same way.
fn describe_numbers(dependence: &Dependence) -> String {
    let number = describe_number(&dependence.number);
    let others: Vec<String> = dependence.or.iter().map(|other| describe_number(other)).collect();
    match others.as_slice() {
        [] => number,
        some => format!("{number} (or {}, which went with it in these blocks)", listing(some, some.len())),
    }
}

/// The most pictures that are shown.
const MOST_PICTURES: usize = 6;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 160.0;
/// The margin around the marks.
const MARGIN: f64 = 12.0;

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let dependences = &report.judged.verdict.depends;
    if dependences.is_empty() {
        return None;
    }
    let lead = "Each block was tried on another device of the class. A mark is a block: across, the number that was drawn \
                for its device; up, how many times as long the first takes as the second. Above the line it is slower.";
    let pictures = move || {
        html! { div.depends { @for dependence in dependences.iter().take(MOST_PICTURES) { (draw_picture(dependence)) } } }
    };
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(pictures)];
    Some(PageBlock::section("depends", "It depends on the device", blocks))
}

fn draw_picture(dependence: &Dependence) -> Markup {
    let Dependence { candidate, against, sides: [small, large], .. } = dependence;
    let numbers = describe_numbers(dependence);
    let title = format!("{candidate} against {against}, by {numbers}");
    html! {
        figure.depends {
            figcaption {
                strong { (one_line(candidate)) } " against " strong { (one_line(against)) } " by " (one_line(&numbers))
            }
            (draw_marks(dependence, &title))
            p.note {
                (format_values(small.from, small.to)) ": " (times_within(&small.ratio)) "× · "
                (format_values(large.from, large.to)) ": " (times_within(&large.ratio)) "×"
            }
        }
    }
}

fn draw_marks(dependence: &Dependence, title: &str) -> Markup {
    let across = ValueRange::from_values(dependence.blocks.iter().map(|(number, _)| number.to_scale()));
    // Every picture includes the line of equality.
    let up = ValueRange::from_values(dependence.blocks.iter().map(|(_, behind)| *behind).chain([0.0]));
    let x = |number: f64| MARGIN + across.share(number) * (WIDTH - 2.0 * MARGIN);
    let y = |behind: f64| HEIGHT - MARGIN - up.share(behind) * (HEIGHT - 2.0 * MARGIN);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (one_line(title)) }
            path.equal d=(format!("M0 {:.1}H{WIDTH}", y(0.0))) {}
            @for (number, behind) in &dependence.blocks {
                circle cx=(format!("{:.1}", x(number.to_scale()))) cy=(format!("{:.1}", y(*behind))) r="4" {
                    title { (number) ": " (times(libm::exp(*behind))) "×" }
                }
            }
        }
    }
}

/// The range from the smallest to the largest value that is drawn.
struct ValueRange {
    least: f64,
    most: f64,
}

impl ValueRange {
    fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let nothing = Self { least: f64::INFINITY, most: f64::NEG_INFINITY };
        values
            .fold(nothing, |range, value| Self { least: range.least.min(value), most: range.most.max(value) })
    }

    fn share(&self, value: f64) -> f64 {
        let width = self.most - self.least;
        if width > 0.0 { (value - self.least) / width } else { 0.5 }
    }
}

#[cfg(test)]
mod tests;
