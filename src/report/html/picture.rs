//! The picture: candidates × phases at a glance. Each cell says how many times the best of its phase, with its
//! interval; colour, sign and place say the same, so that none of them is needed.

use maud::{Markup, html};

use super::figures::{alone, ends, place, spread, strip, told};
use super::index::{Index, times_worse};
use super::{besides, certainty};
use crate::journal::{CandidateStatus, metric};
use crate::report::number::{percent, times};
use crate::report::text::one_line;
use crate::report::{CandidateEntry, PhaseEntry, Report};
use crate::verdict::{PhaseEstimate, weights};

/// The strips end here at the latest: what is slower is marked as lying beyond.
const FARTHEST: f64 = 16.0;

/// A cell of the picture.
struct Cell<'a> {
    found: &'a PhaseEstimate,
    ratio: f64,
    mark: Mark,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Best,
    Tied,
    /// Its line overlaps that of the best: the difference may be chance.
    Unsure,
    Behind,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Mark::Best => "►",
            Mark::Tied => "≈",
            Mark::Unsure => "~",
            Mark::Behind => "",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Mark::Best => "best",
            Mark::Tied => "tied",
            Mark::Unsure => "unsure",
            Mark::Behind => "behind",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Mark::Best => "best of its phase: ",
            Mark::Tied => "tied with the best: ",
            Mark::Unsure => "not certainly behind the best: ",
            Mark::Behind => "",
        }
    }
}

/// The section.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let goal = report.plan.goal.metric.as_str();
    let phases: Vec<&PhaseEntry> = report
        .phases
        .iter()
        .filter(|phase| report.is_headline(phase) && index.best(&phase.name, goal).is_some())
        .collect();
    let farthest = farthest(report, index, &phases);
    let what =
        metric(goal).map_or(goal, |known| if known.name == "durable" { "time until durable" } else { goal });
    html! {
        section #picture aria-labelledby="picture-title" {
            h2 #picture-title { "The picture" }
            @if phases.is_empty() {
                p.lead { "Nothing was measured that could be compared." }
            } @else {
                p.lead {
                    "How many times the best of each phase (" (what) "). Rows are ordered by the goal."
                }
                p.keys {
                    b.key.best { "► best" } " " b.key.tied { "≈ within " (percent(report.plan.protocol.tie)) }
                    " " b.key.unsure { "~ may be chance: lines overlap" }
                    " " b.key.behind { "the deeper, the slower" }
                }
                p.switch hidden { button type="button" data-absolute="" aria-pressed="false" { "Show absolute numbers" } }
            }
            p.swipe.note { "The table scrolls sideways." }
            div.scroll {
                table.picture {
                    caption.unseen { "Candidates by phase, as multiples of the best of each phase" }
                    (head(report, index, &phases))
                    tbody {
                        @for entry in &report.candidates { (row(report, index, &phases, entry, farthest)) }
                    }
                }
            }
            @if !phases.is_empty() {
                p.note { (legend(report, index, &phases, farthest)) }
                (certainty::folded(report, index))
            (besides::folded(report))
            }
        }
    }
}

fn head(report: &Report<'_>, index: &Index<'_>, phases: &[&PhaseEntry]) -> Markup {
    let goal = report.plan.goal.metric.as_str();
    let weights = weights(report.plan);
    let even = weights.values().all(|weight| *weight == 1.0);
    html! {
        thead {
            tr {
                th scope="col" { "candidate" }
                @if !phases.is_empty() {
                    th.goal scope="col" { "goal" small { "all phases" } }
                }
                @for phase in phases {
                    th scope="col" {
                        (one_line(&phase.name))
                        small {
                            @match weights.get(&phase.name) {
                                Some(weight) if *weight > 0.0 => { @if !even { "weight " (weight) ", " } }
                                _ => { "not in the goal, " }
                            }
                            "best "
                            @if let Some(best) = index.best(&phase.name, goal)
                                && let Some(found) = index.column(&phase.name, goal).into_iter().find(|found| found.estimate.point == best) {
                                (alone(best, found.unit, spread(found)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(
    report: &Report<'_>,
    index: &Index<'_>,
    phases: &[&PhaseEntry],
    entry: &CandidateEntry<'_>,
    farthest: f64,
) -> Markup {
    let leader = report.candidates.iter().find_map(|entry| Some((entry.name, entry.score?)));
    let name = one_line(entry.name);
    let span = (phases.len() + usize::from(!phases.is_empty())).to_string();
    html! {
        tr data-candidate=[index.number(entry.name)] {
            th scope="row" { span.name { (name) } @if let Some(state) = state(report, entry) { small.(state.1) { (state.0) } } }
            @if entry.status == CandidateStatus::Ok {
                @if !phases.is_empty() {
                    td.goal {
                        @match entry.score.zip(leader) {
                            Some((own, (leader, best))) => { b { (times(own / best)) "×" } (certainty::interval(report, entry.name, leader)) }
                            None => { span title="it lacks a phase of the goal" { "–" } }
                        }
                    }
                }
                @for phase in phases {
                    @match cell(report, index, phase, entry.name) {
                        Some(cell) => { (shown(&cell, farthest)) }
                        None => { td.none { "–" } }
                    }
                }
            } @else {
                td.why colspan=(span) {
                    b { (status(entry)) } @if !entry.reason.is_empty() { ": " (one_line(&entry.reason)) }
                    @if !entry.hint.is_empty() { br; span.hint { "hint: " (one_line(entry.hint)) } }
                }
            }
        }
    }
}

/// What the verdict says of a candidate: text, class.
fn state(report: &Report<'_>, entry: &CandidateEntry<'_>) -> Option<(&'static str, &'static str)> {
    let verdict = &report.verdict;
    let among = |names: &[String]| names.iter().any(|name| name == entry.name);
    if entry.status != CandidateStatus::Ok {
        None
    } else if among(&verdict.best) {
        Some(("► best", "best"))
    } else if among(&verdict.tied) {
        Some(("≈ tied with the best", "tied"))
    } else if among(&verdict.ruled_out) {
        Some(("✕ ruled out", "out"))
    } else if among(&verdict.undecided) {
        Some(("? undecided", "open"))
    } else {
        None
    }
}

pub(super) fn status(entry: &CandidateEntry<'_>) -> &'static str {
    match entry.status {
        CandidateStatus::Ok => "measured",
        CandidateStatus::Untried => entry.untried(),
        CandidateStatus::Skipped => "skipped",
        CandidateStatus::Failed => "failed",
    }
}

fn cell<'a>(report: &Report<'_>, index: &Index<'a>, phase: &PhaseEntry, candidate: &str) -> Option<Cell<'a>> {
    let goal = report.plan.goal.metric.as_str();
    let found = index.get(candidate, &phase.name, goal)?;
    let best = index.best(&phase.name, goal)?;
    let ratio = times_worse(found, found.estimate.point, best)?;
    let mark = if index.column(&phase.name, goal).len() == 1 {
        Mark::Behind
    } else if ratio <= 1.0 {
        Mark::Best
    } else if ratio <= 1.0 + report.plan.protocol.tie {
        Mark::Tied
    } else if overlaps(found, &index.column(&phase.name, goal), best) {
        Mark::Unsure
    } else {
        Mark::Behind
    };
    Some(Cell { found, ratio, mark })
}

/// Whether the interval (or range) of an estimate reaches that of the best of its phase.
fn overlaps(found: &PhaseEstimate, column: &[&PhaseEstimate], best: f64) -> bool {
    let leader = column.iter().find(|other| other.estimate.point == best);
    match (ends(found), leader.and_then(|leader| ends(leader))) {
        (Some((low, high)), Some((best_low, best_high))) => low <= best_high && best_low <= high,
        _ => false,
    }
}

fn shown(cell: &Cell<'_>, farthest: f64) -> Markup {
    let best = cell.found.estimate.point / cell.ratio;
    let ratio = |value: f64| times_worse(cell.found, value, best).unwrap_or(cell.ratio);
    let range = ends(cell.found).map(|(low, high)| {
        let (one, other) = (ratio(low), ratio(high));
        let at = |ratio: f64| place(ratio, floor(), farthest);
        (at(one.min(other)), at(one.max(other)))
    });
    let beyond = cell.ratio > farthest;
    let heat = place(cell.ratio, 1.0, farthest);
    let absolute = alone(cell.found.estimate.point, cell.found.unit, spread(cell.found));
    html! {
        td.cell.(cell.mark.class()) style=(format!("--heat:{heat:.0}%")) title=(told(cell.found)) {
            span.value {
                span.sign aria-hidden="true" { (cell.mark.sign()) }
                span.unseen { (cell.mark.words()) }
                span.relative { (times(cell.ratio)) "×" }
                span.absolute { (absolute) }
            }
            (strip(place(cell.ratio, floor(), farthest), range, beyond, Some(place(1.0, floor(), farthest))))
        }
    }
}

/// Where the strips begin: a little below the best, so that its own interval has room.
fn floor() -> f64 {
    0.85
}

/// Where the strips end: the slowest cell, but not nearer than twice the best and not farther than [`FARTHEST`].
fn farthest(report: &Report<'_>, index: &Index<'_>, phases: &[&PhaseEntry]) -> f64 {
    let ratios = phases.iter().flat_map(|phase| {
        index.measured.iter().filter_map(|name| cell(report, index, phase, name)).map(|cell| cell.ratio)
    });
    ratios.fold(2.0, f64::max).min(FARTHEST)
}

fn legend(report: &Report<'_>, index: &Index<'_>, phases: &[&PhaseEntry], farthest: f64) -> String {
    let goal = report.plan.goal.metric.as_str();
    let mut cells = phases.iter().flat_map(|phase| index.column(&phase.name, goal));
    let line = if cells.clone().any(|found| found.estimate.low.is_some()) {
        "the line its 95% interval (its range where there are fewer than 6 trials)"
    } else if cells.any(|found| found.estimate.n > 1) {
        "the line the range from its best trial to its worst"
    } else {
        "one trial each, so that no interval is known"
    };
    let sizes = match report.sample_sizes() {
        Some((few, many)) if few != many => format!("Medians of {few} to {many} trials. "),
        Some((_, many)) if many > 1 => format!("Medians of {many} trials. "),
        _ => String::new(),
    };
    format!(
        "{sizes}In each strip the thin upright is the best of the phase, the dot this candidate, {line}; the right edge \
         is {}×, and steps are equal for equal ratios. The goal column is the weighted geometric mean, as a multiple \
         of the leader's.",
        times(farthest)
    )
}
