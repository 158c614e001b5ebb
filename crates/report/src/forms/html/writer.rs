//! The page as HTML: each block in its frame.

use maud::{Markup, html};

use crate::model::Index;
use crate::page::figures::numbers;
use crate::page::{Finding, FoldedPart, Keys, Media, Opening, PageBlock, PageTable, ReportPage, Span, Text};
use crate::wording::one_line;
use fsverdict_judgement::verdict::FindingStatus;

/// The body of a page; candidates are identified by their numbers in the index.
pub(crate) fn body(page: &ReportPage<'_>) -> Markup {
    let index = page.index.as_ref();
    html! {
        (build_opening(&page.opening, index))
        @for one in page.blocks(Media::HTML) { (block(one, index)) }
    }
}

fn build_opening(opening: &Opening, index: Option<&Index<'_>>) -> Markup {
    let top = &opening.top;
    html! {
        header.opening {
            div.title { h1 { (one_line(&opening.title)) } p.kicker { "fsverdict · " (top.kicker) } }
            section.verdict.(top.class) aria-labelledby="verdict" {
                @if let Some((badge, tally)) = &top.tally { p.tally { b.badge { (badge) } " " (tally) } }
                p #verdict.sentence { (one_line(top.sentence.as_ref().unwrap_or(&opening.sentence))) }
            }
            @if !top.basis.is_empty() {
                dl.basis { @for (what, said) in &top.basis { dt { (what) } dd { (text(said)) } } }
            }
            @if let Some(folds) = &top.folds { div.folds { @for one in folds { (block(one, index)) } } }
        }
    }
}

fn block(of: &PageBlock<'_>, index: Option<&Index<'_>>) -> Markup {
    match of {
        PageBlock::Section { id, title, keys, blocks } => {
            build_section(id, title, keys.as_ref(), blocks, index)
        }
        PageBlock::Fold(FoldedPart { id, title, blocks })
        | PageBlock::Folded(FoldedPart { id, title, blocks }) => html! {
            details id=[id] {
                summary { (text(title)) }
                @for one in blocks { (block(one, index)) }
            }
        },
        PageBlock::Heading(said) => html! { h4 { (text(said)) } },
        PageBlock::Lead(said) => html! { p.lead { (text(said)) } },
        PageBlock::Paragraph(said) => html! { p { (text(said)) } },
        PageBlock::Sentences(all) => html! { @for said in all { p { (one_line(said)) } } },
        PageBlock::Note(said) => html! { p.note { (text(said)) } },
        PageBlock::Table(PageTable { table, by_candidate, .. }) => {
            numbers(table, index.filter(|_| *by_candidate))
        }
        // The page's picture has shown both: the matrix as strips, and missing candidates in their rows.
        PageBlock::Matrix(_) | PageBlock::Missing(_) => html! {},
        PageBlock::Findings(all) => html! { @for one in all { (write_finding(one)) } },
        PageBlock::Commands(all) => html! { pre { @for line in all { (one_line(line)) "\n" } } },
        PageBlock::Next(_, all) => html! { pre { @for (line, _) in all { (one_line(line)) "\n" } } },
        PageBlock::Labelled(label, said) => html! { p { b { (label) ":" } " " (one_line(said)) } },
        PageBlock::Bullets(all, _) => {
            html! { @if !all.is_empty() { ul { @for said in all { li { (text(said)) } } } } }
        }
        PageBlock::Remarks(all) => html! {
            @if !all.is_empty() { ul { @for one in all { li { (one.label) ": " (one_line(&one.text)) } } } }
        },
        PageBlock::Gist { id, what, lines } => {
            let lines: Vec<String> = lines.iter().map(|line| one_line(line)).collect();
            html! {
                @if !lines.is_empty() {
                    details.cautions id=[id] {
                        summary { b { (what) ":" } " " span.gist { (lines.join(" · ")) } }
                        ul { @for line in &lines { li { (line) } } }
                    }
                }
            }
        }
        PageBlock::Facts(all) => html! {
            dl.facts { @for (what, said) in all { dt { (text(what)) } dd { (text(said)) } } }
        },
        PageBlock::Picture(draw) => draw(),
    }
}

fn build_section(
    id: &str,
    title: &str,
    keys: Option<&Keys>,
    blocks: &[PageBlock<'_>],
    index: Option<&Index<'_>>,
) -> Markup {
    let titled = format!("{id}-title");
    html! {
        section id=(id) aria-labelledby=(titled) {
            @match keys {
                None => { h2 id=(titled) { (title) } }
                Some(Keys { lead, keys, has_switch }) => { div.keys {
                    h2 id=(titled) { (title) }
                    p.lead { (text(lead)) }
                    @for (class, words) in keys { b class=(format!("key {class}").trim_end()) { (words) } }
                    @if *has_switch {
                        p.switch hidden { button type="button" data-absolute="" aria-pressed="false" { "absolute numbers" } }
                    }
                } }
            }
            @for one in blocks { (block(one, index)) }
        }
    }
}

pub(crate) fn text(text: &Text) -> Markup {
    html! {
        @for span in &text.0 {
            @match span {
                Span::Plain(words) | Span::Said(words) => { (words) }
                Span::Strong(words) => { b { (words) } }
                Span::Code(words) => { code { (words) } }
                Span::Small(words) => { small { (words) } }
                Span::Marked(class, words) => { span.(class) { (words) } }
                Span::Meant(meaning, words) => { b title=[meaning] { (words) } }
                Span::Sign(sign) => { (sign.sign()) }
                Span::Break => { br; }
            }
        }
    }
}

/// A finding of the study, and whether it still holds.
fn write_finding(finding: &Finding) -> Markup {
    let (class, sign) = match finding.now_as {
        FindingStatus::Holds => ("holds", "✓"),
        FindingStatus::NoLongerHolds => ("fails", "✕"),
        FindingStatus::CannotTell => ("open", "?"),
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
