//! The top of the page: what was asked, the verdict in a sentence, what it stands on, what limits it.

use maud::{Markup, html};

use crate::journal::{Facts, metric};
use crate::report::text::{count, one_line};
use crate::report::{Report, TrialBasis, sentence};
use crate::verdict::Outcome;

/// Cautions beyond this many are folded.
const CAUTIONS_SHOWN: usize = 4;

/// Title, verdict, goal, fidelity, cautions.
pub(super) fn opening(report: &Report<'_>) -> Markup {
    let header = &report.run.header;
    let (badge, class) = badge(report);
    html! {
        header.opening {
            p.kicker { "fsverdict · " (when(report)) }
            h1 { (one_line(&header.title)) }
            section.verdict.(class) aria-labelledby="verdict" {
                p.badge { (badge) }
                p #verdict.sentence { (one_line(&report.sentence)) }
                p.tally {
                    (sentence::tally(report)) "."
                    @if let Some(reason) = &report.run.finished { " Ended: " (one_line(reason)) "." }
                }
            }
            @if let Some(paragraph) = report.paragraph.as_deref() {
                details #words { summary { "In plain words, for a mail" } p { (one_line(paragraph)) } }
            }
            dl.basis {
                div { dt { "Goal" } dd { (goal(report)) } }
                div { dt { "Stands on" } dd { (one_line(&header.fidelity)) @if let Some(device) = device(&header.environment) { "; " (device) } } }
                div { dt { "Lab" } dd { (one_line(&header.lab)) ": " (one_line(&header.lab_reason)) } }
            }
            (cautions(report))
        }
    }
}

fn badge(report: &Report<'_>) -> (&'static str, &'static str) {
    match (report.basis, report.verdict.outcome) {
        _ if report.verdict.refused.is_some() => ("no verdict", "nothing"),
        (TrialBasis::Nothing, _) => ("no result", "nothing"),
        (TrialBasis::OpenBlock(_), _) => ("provisional", "undecided"),
        (TrialBasis::Disturbed(_), _) => ("no verdict", "nothing"),
        (_, Outcome::Recommended) => ("recommended", "decided"),
        (_, Outcome::Ranked) => ("ranked", "decided"),
        (_, Outcome::Undecided) => ("undecided", "undecided"),
    }
}

fn when(report: &Report<'_>) -> String {
    let started = report.run.header.started.strftime("%Y-%m-%d %H:%M UTC");
    let state = match (&report.run.finished, !report.run.interrupted.is_empty()) {
        (Some(_), _) => "",
        (None, _) if report.live => ", still going on: this page renews itself",
        (None, true) => ", interrupted or still going on",
        (None, false) => ", not finished yet",
    };
    format!("{started}{state}")
}

fn goal(report: &Report<'_>) -> Markup {
    let goal = &report.plan.goal;
    let meaning = metric(&goal.metric).map_or("", |known| known.meaning);
    let weights = &report.yardstick.weights;
    let even = weights.values().all(|weight| *weight == 1.0);
    // In the order of the work; what was never measured comes last.
    let place = |name: &str| report.phases.iter().position(|phase| phase.name == name).unwrap_or(usize::MAX);
    let mut weighed: Vec<(&String, &f64)> = weights.iter().filter(|(_, weight)| **weight > 0.0).collect();
    weighed.sort_by_key(|(phase, _)| place(phase));
    let phases: Vec<String> = weighed
        .into_iter()
        .map(|(phase, weight)| if even { one_line(phase) } else { format!("{} ×{weight}", one_line(phase)) })
        .collect();
    html! {
        b { (one_line(&goal.metric)) }
        @if !meaning.is_empty() { " (" (meaning) ")" }
        @match phases.len() {
            0 => {}
            many if even && many > 5 => { ", all " (many) " phases alike" }
            _ => { @if even { ", every phase alike: " } @else { ", weighted: " } (phases.join(", ")) }
        }
    }
}

fn device(environment: &Facts) -> Option<String> {
    let model = environment.get("device.model").filter(|model| !model.trim().is_empty())?;
    Some(one_line(model))
}

fn cautions(report: &Report<'_>) -> Markup {
    let lines: Vec<String> = report.notes.iter().map(|note| one_line(&note.line())).collect();
    if lines.is_empty() {
        return html! {};
    }
    let (first, rest) = lines.split_at(lines.len().min(CAUTIONS_SHOWN));
    html! {
        section.cautions aria-labelledby="cautions" {
            h2 #cautions { "Before you rely on it" }
            ul { @for line in first { li { (line) } } }
            @if !rest.is_empty() {
                details {
                    summary { (count(rest.len(), "more caution")) }
                    ul { @for line in rest { li { (line) } } }
                }
            }
        }
    }
}
