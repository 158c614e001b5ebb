//! The top of the page: what was asked, the verdict in a sentence, what it stands on, what limits it.

use maud::{Markup, html};

use crate::journal::{CandidateStatus, Facts, metric};
use crate::report::across;
use crate::report::text::{count, one_line};
use crate::report::to_use::LEAD;
use crate::report::{Report, sentence};
use crate::verdict::{Outcome, TrialBasis};

/// Title, verdict, goal, fidelity, cautions: all of it in so few lines that the picture is seen without scrolling.
pub(super) fn opening(report: &Report<'_>) -> Markup {
    let header = &report.judged.run.header;
    let (badge, class) = badge(report);
    html! {
        header.opening {
            div.title { h1 { (one_line(&header.title)) } p.kicker { "fsverdict · " (when(report)) } }
            section.verdict.(class) aria-labelledby="verdict" {
                p.tally {
                    b.badge { (badge) } " " (sentence::tally(&report.judged)) "."
                    @if let Some(reason) = &report.judged.run.finished { " Ended: " (one_line(reason)) "." }
                }
                p #verdict.sentence {
                    @if let Some(across) = &report.across { (one_line(&across::headline(&across.found))) }
                    @else { (one_line(&report.sentence)) }
                }
            }
            dl.basis {
                dt { "Goal" } dd { (goal(report)) }
                dt { "Stands on" } dd {
                    (one_line(&header.fidelity)) @if let Some(device) = device(&header.environment) { "; " (device) }
                    "; lab " (one_line(&header.lab)) ": " (one_line(&header.lab_reason))
                }
            }
            div.folds {
                (cautions(report))
                (to_use(report))
                @if let Some(paragraph) = report.paragraph.as_deref() {
                    details #words { summary { "In plain words, for a mail" } p { (one_line(paragraph)) } }
                }
            }
        }
    }
}

fn badge(report: &Report<'_>) -> (&'static str, &'static str) {
    match (report.judged.basis, report.judged.verdict.outcome) {
        (TrialBasis::Blocks(_), _)
            if report.across.as_ref().is_some_and(|across| across.found.is_decided()) =>
        {
            ("recommended", "decided")
        }
        (TrialBasis::Blocks(_), _) if report.across.is_some() => ("undecided", "undecided"),
        _ if report.judged.verdict.refused.is_some() => ("no verdict", "nothing"),
        (TrialBasis::Nothing, _) => ("no result", "nothing"),
        (TrialBasis::OpenBlock(_), _) => ("provisional", "undecided"),
        (TrialBasis::Disturbed(_), _) => ("no verdict", "nothing"),
        (_, Outcome::Recommended) => ("recommended", "decided"),
        (_, Outcome::Ranked) => ("ranked", "decided"),
        _ if report.judged.with_status(CandidateStatus::Ok).count() == 1 => ("measured alone", "nothing"),
        (_, Outcome::Undecided) => ("undecided", "undecided"),
    }
}

fn when(report: &Report<'_>) -> String {
    let started = report.judged.run.header.started.strftime("%Y-%m-%d %H:%M UTC");
    let state = match (&report.judged.run.finished, !report.judged.run.interrupted.is_empty()) {
        (Some(_), _) => "",
        (None, _) if report.live => ", still going on: this page renews itself",
        (None, true) => ", interrupted or still going on",
        (None, false) => ", not finished yet",
    };
    format!("{started}{state}")
}

fn goal(report: &Report<'_>) -> Markup {
    let goal = &report.judged.plan.goal;
    let known = metric(&goal.metric);
    let weights = &report.judged.yardstick.weights;
    let even = weights.values().all(|weight| *weight == 1.0);
    // In the order of the work; what was never measured comes last.
    let place =
        |name: &str| report.judged.phases.iter().position(|phase| phase.name == name).unwrap_or(usize::MAX);
    let mut weighed: Vec<(&String, &f64)> = weights.iter().filter(|(_, weight)| **weight > 0.0).collect();
    weighed.sort_by_key(|(phase, _)| place(phase));
    let phases: Vec<String> = weighed
        .into_iter()
        .map(|(phase, weight)| if even { one_line(phase) } else { format!("{} ×{weight}", one_line(phase)) })
        .collect();
    html! {
        b title=[known.map(|known| known.meaning)] { (one_line(known.map_or(&goal.metric, |known| known.title))) }
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

fn to_use(report: &Report<'_>) -> Markup {
    let Some(to_use) = &report.to_use else { return html! {} };
    html! {
        details #to-use {
            summary { "To use it" }
            p { (LEAD) }
            pre { @for line in &to_use.lines { (one_line(line)) "\n" } }
            p { (one_line(&to_use.properties())) "." }
            @for note in &to_use.notes { p { (one_line(note.trim_end_matches('.'))) "." } }
        }
    }
}

fn cautions(report: &Report<'_>) -> Markup {
    let lines: Vec<String> = report.notes.iter().map(|note| one_line(&note.line())).collect();
    if lines.is_empty() {
        return html! {};
    }
    html! {
        details #cautions.cautions {
            summary { b { (count(lines.len(), "caution")) ":" } " " span.gist { (lines.join(" · ")) } }
            ul { @for line in &lines { li { (line) } } }
        }
    }
}
