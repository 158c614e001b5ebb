//! Then and now: what a study published, held against this run, finding by finding; and its own way to combine runs.

use maud::{Markup, html};

use super::index::Index;
use crate::report::Report;
use crate::report::findings::{self, Finding};
use crate::report::text::one_line;
use crate::report::text_table::TextTable;
use crate::verdict::Now;

/// The section; nothing where the plan repeats no study.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let found = findings::in_words(&report.judged);
    let tables = &report.of_study;
    html! {
        @if !found.is_empty() || !tables.is_empty() {
            section #then aria-labelledby="then-title" {
                h2 #then-title { "Then and now" }
                @if !found.is_empty() {
                    p.lead { "What the study published, and whether this run bears it out. A finding that no longer holds is a result." }
                    p.note { (one_line(&findings::standing(&report.judged))) }
                    @for finding in &found { (one(finding)) }
                }
                @for table in tables { (laid_out(table, None)) }
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

/// Costs beside time with the Pareto set, and how far the weights may move, folded; nothing where nothing is ranked.
pub(super) fn beside(report: &Report<'_>) -> Markup {
    html! {
        @if !report.beside.is_empty() {
            details #beside {
                summary { "Costs beside time, and other weights" }
                @for table in &report.beside { (laid_out(table, None)) }
            }
        }
    }
}

/// A small table under its title; a row that is a candidate's can be left out with it.
pub(in crate::report) fn laid_out(table: &TextTable, index: Option<&Index<'_>>) -> Markup {
    let number = |row: &[String]| index?.number(row.first()?);
    html! {
        @if !table.title.is_empty() { h3.extra { (one_line(&table.title)) } }
        div.scroll { table.numbers {
            thead { tr { @for title in &table.header { th scope="col" { (one_line(title)) } } } }
            tbody { @for row in &table.rows {
                tr data-candidate=[number(row)] {
                    @for (at, cell) in row.iter().enumerate() {
                        @if at == 0 { th scope="row" { (one_line(cell)) } } @else { td { (one_line(cell)) } }
                    }
                }
            } }
        } }
    }
}
