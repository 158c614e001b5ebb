//! Then and now: compares a published study with this run, finding by finding; and shows the study's own way to combine
//! runs.

use maud::{Markup, html};

use crate::findings::Finding;
use crate::page::{PageBlock, Text};
use crate::text::one_line;
use crate::{Report, findings};
use fsverdict_judgement::verdict::Now;

/// The section; `None` where the plan repeats no study.
pub(super) fn build_section<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    let findings = findings::in_words(&report.judged);
    let mut blocks = Vec::new();
    if !findings.is_empty() {
        let lead = "What the study published, and whether this run bears it out. A finding that no longer holds is a result.";
        blocks.push(PageBlock::Lead(lead.into()));
        blocks.push(PageBlock::Note(Text::foreign(&findings::describe_basis(&report.judged))));
        blocks.push(PageBlock::Findings(findings));
    }
    blocks.extend(report.of_study.iter().cloned().map(PageBlock::plain_table));
    (!blocks.is_empty()).then(|| PageBlock::section("then", "Then and now", blocks))
}

/// A finding of the study, and whether it still holds.
pub(super) fn finding(finding: &Finding) -> Markup {
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
