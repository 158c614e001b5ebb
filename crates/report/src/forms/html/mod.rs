//! `--format html`: the whole report as one self-contained page, without network, server or further files.
//!
//! The main parts (verdict, picture, costs, effects) are plain HTML that works without scripts, in print and in a
//! screen reader. For a closer look, the page's own scripts draw every trial from the data in the page.

mod data;
mod writer;

#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use self::data::packed_rows;
use self::writer::body;
use crate::page::ReportPage;
use crate::wording::one_line;
use crate::{Report, ReportError};

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
pub(crate) fn render(report: &Report<'_>, page: &ReportPage<'_>) -> Result<String, ReportError> {
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
pub(crate) fn written(page: &ReportPage<'_>) -> String {
    shell(&one_line(&page.opening.title), None, &body(page), &html! {}).into_string()
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
