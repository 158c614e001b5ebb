//! The pages about published comparisons: the five studies with their findings then and now, and two kernels.

use maud::{Markup, html};

use super::Atlas;
use super::shell::page;
use crate::wording::one_line;

/// A published comparison, and its changes since.
pub struct AtlasStudy {
    pub preset: String,
    pub author: String,
    pub question: String,
    /// The author's findings, in the order of the study; each with its place in it.
    pub published: Vec<(String, String)>,
    /// Today's findings: the finding in short, our figures, and whether it holds.
    pub today: Vec<[String; 3]>,
}

pub(super) fn render(atlas: &Atlas) -> Markup {
    let title = "Five studies, then and now";
    let body = html! {
        h1 { (title) }
        p.lead { "Five comparisons of filesystems from 2003 to 2013, run again on models of the devices that they used. You need not know them: each begins with its question. A finding holds, no longer holds, or cannot be told here, because the models may be wrong by more than the difference." }
        @for study in &atlas.studies {
            h2 id=(study.preset) { (one_line(&study.question)) }
            p { (one_line(&study.author)) ". As a preset: " code { "fsverdict run " (study.preset) } }
            @if !study.published.is_empty() {
                h3 { "What the author found" }
                ul { @for (finding, source) in &study.published { li { (one_line(finding)) " " small { (one_line(source)) } } } }
            }
            @if study.today.is_empty() { p { "This study was not repeated on a model; docs/results/then-and-now.md says what was found natively." } }
            @else {
                h3 { "What is found now" }
                @for [finding, figures, outcome] in &study.today {
                    @let (class, sign) = outcome_class(outcome);
                    article class=(class) {
                        p { b { (one_line(finding)) } }
                        p { span.sign aria-hidden="true" { (sign) } " " (one_line(outcome)) @if !figures.is_empty() { " " small { "(" (one_line(figures)) ")" } } }
                    }
                }
            }
        }
        p.note { "Figures are seconds unless they say otherwise, of 2026-11-22 to 2026-11-28 on Linux 6.12.117; docs/results/then-and-now.md has the conditions of each." }
    };
    let description = "What five published comparisons of filesystems found from 2003 to 2013, and which of their findings still hold.";
    page(atlas, title, description, &body)
}

fn outcome_class(outcome: &str) -> (&'static str, &'static str) {
    match outcome {
        holds if holds.starts_with("holds") => ("holds", "✓"),
        fails if fails.starts_with("no longer") => ("fails", "✕"),
        _ => ("", "?"),
    }
}

pub(super) fn render_kernels(atlas: &Atlas) -> Markup {
    let title = "What became faster or slower from kernel to kernel";
    let body = html! {
        h1 { (title) }
        p.lead { "In simulated time there is no noise: a difference between two kernels is a change in them." }
        @for kernel in &atlas.catalogue.kernels {
            h2 { (kernel.title) }
            p { (kernel.figures) "." }
            p.note { (kernel.base) "; docs/results/kernels.md has every phase." }
        }
        p { (atlas.describe_origin()) ": no cell of this atlas was computed with a second kernel. " code { "fsverdict run kernels" } " compares two in your cache." }
    };
    let description = "Which filesystems became faster or slower from one Linux release to the next, measured without noise in simulated time.";
    page(atlas, title, description, &body)
}
