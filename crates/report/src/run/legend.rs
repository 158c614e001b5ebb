//! The legend of a run's first table: the meaning of its signs and numbers.

use crate::Report;
use crate::model::{Matrix, Spread, WIDEST_INTERVAL};
use crate::page::{Sign, Text};
use crate::wording::{count, listing, percent};
use fsverdict_judgement::journal::metric;

/// The legend on a terminal; without `--all`, of how phases are weighted no more than how many count.
pub(super) fn for_terminal(report: &Report<'_>, matrix: &Matrix, is_brief: bool) -> Text {
    let goal = &report.judged.plan.goal.metric;
    let meaning = match goal.as_str() {
        "durable" => "Time until the data were durable",
        name => metric(name).map_or(name, |known| known.meaning),
    };
    let sizes = sizes(report, "one trial");
    let sizes = if is_brief { sizes.split(", ").next().unwrap_or_default() } else { &sizes };
    let mut text = Text::foreign(&format!("{meaning}: {sizes}"));
    if matrix.spread != Spread::Unknown {
        let (end, spread) = match matrix.spread {
            Spread::Interval | Spread::SomeIntervals if is_brief && matrix.rows.len() > 1 => {
                (",", "95% interval against the leader")
            }
            _ => ("", of_spread(matrix)),
        };
        text = text.plain(format!("{end} ")).sign(Sign::PlusMinus).plain(format!(" {spread}"));
    }
    if matrix.has_untold() {
        let untold = if is_brief { "not told by these trials".to_owned() } else { untold(report) };
        text = text.plain("; ").sign(Sign::PlusMinus).plain(format!("? {untold}"));
    }
    text = text.plain(".");
    if report.judged.verdict.refused.is_none() {
        let tie = percent(report.judged.plan.protocol.tie);
        let of =
            if is_grouped(report) { " best of its phase and protection, " } else { " best of its phase, " };
        text = text.plain(" ").sign(Sign::Best).plain(of).sign(Sign::Tied);
        text = text.plain(format!(" within {tie} of it."));
    }
    if report.judged.verdict.ranking.len() > 1 {
        let leader = match &report.judged.verdict {
            verdict if verdict.has_separate_levels() => " the leader of its protection; ",
            verdict if !verdict.groups.is_empty() => " the leader of the recommended protection; ",
            _ => " the leader; ",
        };
        text = text.plain(" goal: ").sign(Sign::Times).plain(leader);
        text = text.said(&weighting(report, is_brief)).plain(".");
    }
    text
}

pub(super) fn for_markdown(report: &Report<'_>, matrix: &Matrix) -> Text {
    let spread = match matrix.spread {
        Spread::Unknown => String::new(),
        _ if matrix.has_untold() => format!(", ± {}; ±? {}", of_spread(matrix), untold(report)),
        _ => format!(", ± {}", of_spread(matrix)),
    };
    let tie = percent(report.judged.plan.protocol.tie);
    let marks = match report.judged.verdict.refused {
        Some(_) => String::new(),
        None if is_grouped(report) => format!(" ► best of its phase and protection, ≈ within {tie} of it."),
        None => format!(" ► best of its phase, ≈ within {tie} of it."),
    };
    let text = format!(": {}{spread}.{marks}", sizes(report, "one trial each"));
    Text::default().meant(None, &report.judged.plan.goal.metric).plain(text)
}

/// The meaning of a number without an interval.
fn untold(report: &Report<'_>) -> String {
    let trials = match report.judged.sample_sizes() {
        Some((_, most)) => count(most, "trial"),
        None => "these trials".to_owned(),
    };
    format!("wider than a factor of {WIDEST_INTERVAL}, which {trials} do not tell")
}

/// Whether candidates are compared within protection levels alone.
fn is_grouped(report: &Report<'_>) -> bool {
    report.judged.verdict.has_separate_levels()
}

fn of_spread(matrix: &Matrix) -> &'static str {
    match matrix.spread {
        Spread::Interval if matrix.rows.len() == 1 => "its 95% interval",
        Spread::Interval => "half the 95% interval of the difference from the leader",
        Spread::SomeIntervals => {
            "half the 95% interval of the difference from the leader, from three trials on"
        }
        Spread::Range => "half the range from least to most",
        Spread::Unknown => "",
    }
}

fn sizes(report: &Report<'_>, one: &str) -> String {
    match report.judged.sample_sizes() {
        Some((1, 1)) | None => one.to_owned(),
        Some((few, many)) if few == many => format!("mean of {}", count(few, "trial")),
        Some((few, many)) => format!("mean of {few} to {many} trials, side by side within blocks"),
    }
}

/// The most phases of which each weight is in a brief legend.
const MOST_WEIGHED: usize = 3;

/// How the phases are weighted together, shortly where they weigh the same.
fn weighting(report: &Report<'_>, is_brief: bool) -> String {
    let weights = &report.judged.objective.weights;
    let planned = report.judged.phases.iter().filter(|phase| report.judged.is_headline(phase));
    let counted: Vec<(&str, f64)> = planned
        .clone()
        .filter_map(|phase| Some((phase.name.as_str(), *weights.get(&phase.name)?)))
        .filter(|(_, weight)| *weight > 0.0)
        .collect();
    let names: Vec<&str> = counted.iter().map(|(name, _)| *name).collect();
    if is_brief && counted.len() > MOST_WEIGHED {
        let how = if report.judged.objective.is_total() { "added up" } else { "as a mean of ratios" };
        return format!("{} phases, weighed, {how}", counted.len());
    }
    if report.judged.objective.is_total() && counted.len() > 1 {
        let each = counted.iter().map(|(name, times)| match times {
            once if *once == 1.0 => (*name).to_owned(),
            times => format!("{times} × {name}"),
        });
        return format!("{} added up", each.collect::<Vec<_>>().join(" + "));
    }
    match counted.as_slice() {
        [(only, _)] => format!("{only} alone counts"),
        [(_, first), rest @ ..] if rest.iter().all(|(_, weight)| weight == first) => {
            if counted.len() == planned.count() {
                "all phases weigh the same".to_owned()
            } else {
                format!("{} weigh the same", listing(&names, names.len()))
            }
        }
        _ => {
            let each: Vec<String> = counted.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
            format!("weights {}", each.join(", "))
        }
    }
}
