//! The top of a run's page: the question, the verdict in a sentence, its basis, and its limits.

use super::foot::{describe_ending, describe_source};
use crate::page::{Opening, PageBlock, Text, Top, build_gist, in_use, in_use_instead, in_words};
use crate::topics::across;
use crate::topics::guarantees::with_drawbacks;
use crate::wording::{candidates, one_line, shorten_to_clauses};
use crate::{PageNote, Report};
use fsverdict_judgement::journal::{CandidateStatus, Facts, metric};
use fsverdict_judgement::verdict::{Outcome, TrialBasis};

/// Title, verdict, goal, fidelity, cautions: all of it in so few lines that the picture is seen without scrolling.
pub(super) fn build_opening(report: &Report<'_>) -> Opening {
    let header = &report.judged.run.header;
    let (badge, class) = badge(report);
    let ended = describe_ending(report).map(|reason| format!(" Ended: {}.", one_line(&reason)));
    let device = device(&header.environment).map_or(String::new(), |device| format!("; {device}"));
    let stands_on = format!(
        "{}{device}; lab {}: {}.",
        one_line(&header.fidelity),
        one_line(&header.lab),
        one_line(&header.lab_reason)
    );
    let work = report.judged.plan.work.as_ref().map(describe_source);
    let plain = report.plain_words.iter().map(|words| in_words("In plain words", "plain-words", words));
    let detail = report.paragraph.iter().map(|words| in_words("In detail, for a mail", "words", words));
    let folds =
        std::iter::once(build_gist(Some("cautions"), "caution", report.notes.iter().map(PageNote::line)))
            .chain(report.to_use.iter().map(|to_use| PageBlock::Fold(in_use(to_use, true))))
            .chain(report.to_use_instead.iter().map(|instead| PageBlock::Fold(in_use_instead(instead))))
            .chain(plain)
            .chain(detail)
            .chain(work.iter().map(|work| in_words("Where the work comes from", "work", work)))
            .chain(std::iter::once(in_words("What it stands on, in full", "stands-on", &stands_on)));
    Opening {
        title: header.title.clone(),
        subtitle: None,
        sentence: with_drawbacks(&report.sentence, report.drawbacks().as_deref()),
        tone: None,
        top: Top {
            kicker: when(report),
            class,
            tally: Some((
                badge,
                format!("{}.{}", candidates::count_candidates(&report.judged), ended.unwrap_or_default()),
            )),
            sentence: report.across.as_ref().map(|across| across::write_headline(&across.found)),
            basis: vec![
                ("Goal", goal(report)),
                ("Stands on", shorten_to_clauses(&one_line(&header.fidelity), LONGEST_BASIS).into()),
            ],
            folds: Some(folds.collect()),
        },
    }
}

/// The most of the basis of a verdict that is shown before the page is unfolded, in columns.
const LONGEST_BASIS: usize = 200;

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
        _ if only_costs(report) => ("cost of protection", "decided"),
        _ if report.judged.verdict.nobody_is_left() => ("no candidate fits", "nothing"),
        (_, Outcome::Recommended) => ("recommended", "decided"),
        (_, Outcome::Ranked) => ("ranked", "decided"),
        _ if report.judged.with_status(CandidateStatus::Ok).count() == 1 => ("measured alone", "nothing"),
        (_, Outcome::Undecided) => ("undecided", "undecided"),
    }
}

/// Whether no protection level has candidates to choose from, and the costs of the levels are known.
fn only_costs(report: &Report<'_>) -> bool {
    let verdict = &report.judged.verdict;
    let alone = verdict.groups.iter().all(|group| group.verdict.ranking.len() < 2);
    alone && verdict.recommended_names().is_empty() && !verdict.protection_costs.is_empty()
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

fn goal(report: &Report<'_>) -> Text {
    let goal = &report.judged.plan.goal;
    let known = metric(&goal.metric);
    let weighed = report.judged.weighed_phases();
    let even = weighed.iter().all(|(_, weight)| *weight == 1.0);
    let phases = weighed.into_iter().filter(|(_, weight)| *weight > 0.0);
    let phases = phases.map(|(phase, weight)| match even {
        true => one_line(phase),
        false => format!("{} ×{weight}", one_line(phase)),
    });
    let phases: Vec<String> = phases.collect();
    let title = known.map_or(goal.metric.as_str(), |known| known.title);
    let text = Text::default().meant(known.map(|known| known.meaning), title);
    match phases.len() {
        0 => text,
        1 => text.plain(format!(" of {}", phases.join(""))),
        many if report.judged.objective.is_total() && even && many > 5 => {
            text.plain(format!(", added up over all {many} phases"))
        }
        _ if report.judged.objective.is_total() => {
            text.plain(format!(", added up over the whole job: {}", phases.join(" + ")))
        }
        many if even && many > 5 => text.plain(format!(", the mean of the ratios of all {many} phases")),
        _ => text.plain(format!(", the mean of the phases' ratios: {}", phases.join(", "))),
    }
}

fn device(environment: &Facts) -> Option<String> {
    let model = environment.get("device.model").filter(|model| !model.trim().is_empty())?;
    Some(one_line(model))
}
