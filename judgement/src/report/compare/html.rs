//! The comparison as one page: what became of each candidate in each phase, run by run. Nothing in it needs a script.

use std::fmt::Write;

use libm::log;
use maud::{Markup, PreEscaped, html};

use super::trend::Trend;
use super::{ComparisonReport, differences, outcome, row, word};
use crate::journal::{Run, metric};
use crate::plan::once_each;
use crate::report::html::{place, shell, text_table};
use crate::report::text::{count, one_line};
use crate::verdict::{Change, Comparison};

/// A course is drawn this large, and shows at least this factor and at most the other.
const WIDTH: f64 = 112.0;
const HEIGHT: f64 = 26.0;
const NARROWEST: f64 = 1.1;
const WIDEST: f64 = 4.0;

pub(super) fn render(report: ComparisonReport<'_>) -> String {
    let title = one_line(&report.before.header.title);
    let found = &report.found.whole;
    let body = html! {
        (opening(&report, &title))
        section #picture aria-labelledby="picture-title" {
            div.keys {
                h2 #picture-title { "The picture" }
                p.lead { "the last run against the first (" (metric(&found.goal.metric).map_or(found.goal.metric.as_str(), |known| known.title)) "), and every run between them" }
                b.key.best { "▼ better" } b.key.behind { "▲ worse" } b.key { "= same within " (row::share(found.tie)) } b.key { "? undecided" }
            }
            div.scroll { (picture(&report)) }
            p.note { (one_line(&report.legend())) " Every course is drawn to one scale; the band is where differences do not matter, uprights are 95% intervals, full points mark a step that is a change." }
        }
        (steps(&report))
        @if !found.costs.is_empty() || !found.judged.is_empty() {
            section #numbers aria-labelledby="numbers-title" {
                h2 #numbers-title { "The numbers" }
                details { summary { "What was judged" } (text_table(&report.table(), None)) }
                @if !found.costs.is_empty() { details { summary { "Costs, and the steps around the phases" } (text_table(&report.costs(true), None)) } }
            }
        }
        section #runs aria-labelledby="runs-title" {
            h2 #runs-title { "The runs" }
            dl.facts { @for run in report.runs() {
                dt { (one_line(&run.header.id)) }
                dd { (dated(run)) ", " (count(run.complete_blocks(), "block")) ", lab " (one_line(&run.header.lab)) ": " (one_line(&run.header.fidelity)) }
            } }
        }
    };
    shell(&title, None, &body, &html! {}).into_string()
}

fn dated(run: &Run) -> String {
    run.header.started.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn opening(report: &ComparisonReport<'_>, title: &str) -> Markup {
    let (badge, class) = match report.found.has_regression() {
        true => ("regression", "undecided"),
        false => ("no regression", "decided"),
    };
    let remarks = report.remarks();
    let of = |wanted: &'static str| {
        remarks.iter().filter(move |(label, _)| *label == wanted).map(|(_, text)| one_line(text))
    };
    html! {
        header.opening {
            div.title { h1 { (title) } p.kicker { "fsverdict · " (count(report.runs().count(), "run")) ", " (dated(report.before)) " to " (dated(report.after)) } }
            section.verdict.(class) aria-labelledby="verdict" {
                p.tally { b.badge { (badge) } " " (one_line(&report.before.header.id)) " → " (one_line(&report.after.header.id)) }
                p #verdict.sentence { (one_line(&report.sentence())) }
            }
            @let broken: Vec<String> = of("Broken").collect();
            @if !broken.is_empty() { dl.basis { @for text in broken { dt { "Broken" } dd { (text) } } } }
            div.folds { @for (label, what) in [("Caution", "caution"), ("Differs", "difference"), ("Left out", "left out")] {
                @let lines: Vec<String> = of(label).collect();
                (folded(what, &lines))
            } }
        }
    }
}

/// A line that unfolds.
fn folded(what: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            details.cautions {
                summary { b { (if what == "left out" { format!("{} left out", lines.len()) } else { count(lines.len(), what) }) ":" } " " span.gist { (lines.join(" · ")) } }
                ul { @for text in lines { li { (text) } } }
            }
        }
    }
}

/// Candidates by phases, in the order in which they were judged.
fn picture(report: &ComparisonReport<'_>) -> Markup {
    let judged = &report.found.whole.judged;
    let names = once_each(judged.iter().map(|change| change.candidate.as_str()));
    let phases = once_each(judged.iter().map(Change::subject));
    let trends: Vec<Trend<'_>> = judged.iter().map(|change| Trend::of(report, change)).collect();
    let reach = trends.iter().map(Trend::reach).fold(NARROWEST, f64::max).min(WIDEST);
    let at = |name: &str, phase: &str| {
        judged.iter().position(|one| one.candidate == name && one.subject() == phase)
    };
    html! {
        table.picture {
            caption.unseen { "What changed, by candidate and phase" }
            thead { tr { th scope="col" { "candidate" } @for phase in &phases { th scope="col" { (one_line(phase)) } } } }
            tbody { @for name in &names { tr {
                th scope="row" { span.name { (one_line(name)) } }
                @for phase in &phases {
                    @match at(name, phase) {
                        Some(at) => { (cell(&judged[at], &trends[at], reach)) }
                        None => { td.none { "–" } }
                    }
                }
            } } }
        }
    }
}

fn cell(change: &Change, trend: &Trend<'_>, reach: f64) -> Markup {
    let judged = change.outcome().unwrap_or(Comparison::Undecided);
    let (class, sign) = match judged {
        Comparison::Better => ("best", "▼"),
        Comparison::Worse => ("behind", "▲"),
        Comparison::Same => ("once", "="),
        Comparison::Undecided => ("unclear", "?"),
    };
    let shown = row::row(change);
    let heat = place(change.ratio.point.max(1.0 / change.ratio.point).min(reach), 1.0, reach);
    let hover = format!("{} → {} ({}), {}", shown.before, shown.after, shown.interval, word(judged));
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(hover) {
            div.beside {
                span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (word(judged)) ": " } (shown.change) }
                (PreEscaped(course(trend, reach)))
            }
        }
    }
}

/// Each run's number as a multiple of the first that is known.
fn course(trend: &Trend<'_>, reach: f64) -> String {
    let mut points = trend.values.iter().flatten().map(|estimate| estimate.point);
    let Some(base) = points.find(|point| *point > 0.0) else {
        return String::new();
    };
    let last = (trend.values.len() - 1).max(1) as f64;
    let across = |at: usize| 4.0 + at as f64 / last * (WIDTH - 8.0);
    let up = |value: f64| HEIGHT / 2.0 * (1.0 - (log(value / base) / log(reach)).clamp(-1.0, 1.0) * 0.8);
    let band = (up(base * (1.0 + trend.tie)), up(base / (1.0 + trend.tie)));
    let mut image = format!(
        "<svg class=\"course\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-hidden=\"true\"><rect y=\"{:.1}\" width=\"{WIDTH}\" height=\"{:.1}\"/>",
        band.0,
        band.1 - band.0
    );
    let (mut line, mut points) = (String::new(), String::new());
    for (at, value) in trend.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let (x, y) = (across(at), up(value.point));
        let _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { 'M' } else { 'L' });
        if let Some((low, high)) = value.low.zip(value.high) {
            let _ = write!(points, "<path d=\"M{x:.1} {:.1}V{:.1}\"/>", up(low), up(high));
        }
        let step = at.checked_sub(1).and_then(|at| trend.steps.get(at)?.as_ref()?.outcome());
        let class = step.map_or("", word);
        let _ = write!(points, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
    }
    let _ = write!(image, "<path d=\"{line}\"/>{points}</svg>");
    image
}

fn steps(report: &ComparisonReport<'_>) -> Markup {
    html! {
        @if !report.found.steps.is_empty() {
            section #steps aria-labelledby="steps-title" {
                h2 #steps-title { "Step by step" }
                dl.facts { @for (from, to, found) in report.steps() {
                    dt { (one_line(&from.header.id)) " → " (one_line(&to.header.id)) }
                    dd {
                        (one_line(&outcome(found)))
                        @for text in differences(found) { br; small { (one_line(&text)) } }
                    }
                } }
            }
        }
    }
}
