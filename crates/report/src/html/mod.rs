//! `--format html`: the whole report as one self-contained page, without network, server or further files.
//!
//! The main parts (verdict, picture, costs, effects) are plain HTML that works without scripts, in print and in a
//! screen reader. For a closer look, the page's own scripts draw every trial from the data in the page.

mod across;
mod carried;
mod certainty;
mod commands;
mod costs;
mod data;
mod effects;
mod evidence;
pub(super) mod figures;
mod groups;
mod latency;
mod phases;
mod picture;
mod requests;
mod thinning;
mod writer;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use self::carried::{EmbeddedPlanError, LONGEST_PAGE, plan_in_page};
pub use self::data::packed_rows;
pub(super) use self::figures::{place, ratio};
use self::writer::body;
use super::index::Index;
use super::page::{PageBlock, ReportPage};
use super::text::one_line;
use super::topics;
use super::{Report, ReportError};
use fsverdict_judgement::journal::CandidateStatus;

const STYLE: &str = include_str!("style.css");
/// The page's scripts: shared functions, chart drawing, the charts, and the controls that start them.
const SCRIPTS: [&str; 4] = [
    include_str!("base.js"),
    include_str!("drawing.js"),
    include_str!("charts.js"),
    include_str!("controls.js"),
];

/// The Content-Security-Policy: the page runs only its own scripts, known by their digests (see build.rs), and loads
/// nothing, even if foreign markup gets into it. Style attributes are allowed because they place the marks of a
/// picture.
const POLICY: &str = concat!(
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; style-src-attr 'unsafe-inline'; ",
    include_str!(concat!(env!("OUT_DIR"), "/page.policy"))
);

/// Seconds after which a browser reloads the page of a run in progress.
const RENEWAL: u32 = 15;

/// The page of a run, with the data that its charts are drawn from.
pub(super) fn render(report: &Report<'_>, page: &ReportPage<'_>) -> Result<String, ReportError> {
    let data = data::embedded(report)?;
    let title = one_line(&report.judged.run.header.title);
    let scripts = html! {
        script type="application/json" id="data" { (PreEscaped(&data.json)) }
        script type="text/plain" id="csv" { (data.csv) }
        @for script in SCRIPTS { script { (PreEscaped(script)) } }
    };
    let body = body(page);
    Ok(shell(&title, report.live.then_some(RENEWAL), &body, &scripts).into_string())
}

/// A page without data, which needs no script.
pub(super) fn written(page: &ReportPage<'_>) -> String {
    shell(&one_line(&page.opening.title), None, &body(page), &html! {}).into_string()
}

/// The sections of a run's page: the pictures, each of which is drawn by a file of its own and has a line here, with the
/// sections `of_topics` between them.
pub(super) fn build_sections<'a>(
    report: &'a Report<'a>,
    index: &Rc<Index<'a>>,
    of_topics: impl Iterator<Item = Option<PageBlock<'a>>>,
) -> Vec<Option<PageBlock<'a>>> {
    let (_, thinned) = thinning::choose(report.judged.run);
    let thinned = thinned.as_ref();
    let judged = &report.judged;
    let is_measured =
        judged.with_status(CandidateStatus::Ok).next().is_some() && !judged.estimates.is_empty();
    let mut sections = vec![
        report.across.as_ref().map(across::build_section),
        Some(picture::build_section(report, index)),
        groups::costs(report),
    ];
    sections.extend(of_topics);
    if is_measured {
        sections.extend([
            Some(phases::build_section(report, index, thinned)),
            requests::build_section(report),
            Some(costs::build_section(report, index)),
            effects::of_factors(report),
            effects::build_section(report, index),
            phases::steps(report, index),
            latency::build_section(report, index),
            (topics::then_and_now::TOPIC.build_section)(report),
            phases::drift(report),
        ]);
    }
    sections.push(groups::guarantees(report));
    sections.push(Some(evidence::build_section(report, thinned)));
    sections
}

/// The HTML document around the body; `renewal` makes the browser reload it after that many seconds.
fn shell(title: &str, renewal: Option<u32>, body: &Markup, scripts: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content=(concat!("fsverdict ", env!("CARGO_PKG_VERSION")));
                meta name="color-scheme" content="light dark";
                @if let Some(seconds) = renewal { meta http-equiv="refresh" content=(seconds); }
                title { (title) " – fsverdict" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#picture" { "Skip to the picture" }
                main { (body) }
                footer { p {
                    "Made by fsverdict " (env!("CARGO_PKG_VERSION")) ". This file holds everything it shows and loads nothing."
                } }
                (scripts)
            }
        }
    }
}
