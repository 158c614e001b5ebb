//! Then and now: what a study published, held against this run, finding by finding; and its own way to combine runs.

use maud::{Markup, html};

use crate::report::Report;
use crate::report::extra::{self, Extra, Finding};
use crate::report::text::one_line;
use crate::verdict::Now;

/// The section; nothing where the plan repeats no study.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let findings = extra::findings(report);
    let tables = extra::tables(report);
    html! {
        @if !findings.is_empty() || !tables.is_empty() {
            section #then aria-labelledby="then-title" {
                h2 #then-title { "Then and now" }
                @if !findings.is_empty() {
                    p.lead { "What the study published, and whether this run bears it out. A finding that no longer holds is a result." }
                    p.note { (one_line(&extra::standing(report))) }
                    @for finding in &findings { (one(finding)) }
                }
                @for table in &tables { (laid_out(table)) }
            }
        }
    }
}

fn one(finding: &Finding) -> Markup {
    let (class, sign) = match finding.now_as {
        Now::Holds => ("holds", "✓"),
        Now::NoLongerHolds => ("fails", "✕"),
        Now::CannotTell => ("open", "?"),
    };
    html! {
        article.finding.(class) {
            p.claim { b.word { (sign) " " (finding.now_as.words()) } " " (one_line(&finding.finding)) }
            dl.figures {
                @if !finding.then.is_empty() { dt { "then" } dd { (one_line(&finding.then)) } }
                @if !finding.now.is_empty() { dt { "now" } dd { (one_line(&finding.now)) } }
                @if !finding.why.is_empty() { dt { "why" } dd { (one_line(&finding.why)) } }
                dt { "source" } dd { (one_line(&finding.source)) }
            }
        }
    }
}

/// A small table under its title.
pub(super) fn laid_out(table: &Extra) -> Markup {
    html! {
        h3.extra { (one_line(&table.title)) }
        div.scroll { table.numbers {
            thead { tr { @for title in &table.header { th scope="col" { (one_line(title)) } } } }
            tbody { @for row in &table.rows {
                tr {
                    @for (at, cell) in row.iter().enumerate() {
                        @if at == 0 { th scope="row" { (one_line(cell)) } } @else { td { (one_line(cell)) } }
                    }
                }
            } }
        } }
    }
}
