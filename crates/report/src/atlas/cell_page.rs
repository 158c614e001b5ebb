//! The page of a cell: the verdict in two sentences, the picture, its basis, its error, drawbacks, and the plan
//! that repeats it.

use maud::{Markup, html};

use super::answers::{describe_answer, mark_words};
use super::computed_cell::ComputedCell;
use super::picture::draw_bars;
use super::shell::{link, page_with_card};
use super::{Atlas, AtlasCell, StrangersAnswer, bundle_name, bundle_path, filesystem_page};
use crate::wording::{TextTable, one_line};
use fsverdict_judgement::verdict::AnswerMark;

pub(super) fn render(atlas: &Atlas, cell: &AtlasCell) -> Markup {
    let question = atlas.question(cell);
    let answer = match &cell.content {
        Ok(computed) => computed.answer().map_or_else(|| one_line(&computed.sentence), describe_answer),
        Err(why) => format!("Not answered yet: {}.", one_line(why)),
    };
    let card = cell.content.is_ok().then(|| format!("cards/{}.png", cell.slug));
    let body = html! {
        h1 { (one_line(&question)) }
        @match &cell.content {
            Ok(computed) => { (render_computed(atlas, cell, computed, &question)) }
            Err(_) => {
                div.verdict { p.sentence { (answer) } }
                p { "No guess stands in its place. The preset's own run answers it on your machine, in simulated time:" }
                pre { "fsverdict atlas build " (atlas.works.get(cell.work).map_or("", |work| &work.slug)) " --devices " (atlas.kinds.get(cell.kind).map_or("", |kind| &kind.model)) " --out DIR" }
            }
        }
        @if !cell.strangers.is_empty() { (render_strangers(&cell.strangers)) }
        (neighbours(atlas, cell))
    };
    page_with_card(atlas, &question, &answer, card.as_deref(), &body)
}

fn render_computed(atlas: &Atlas, cell: &AtlasCell, computed: &ComputedCell, question: &str) -> Markup {
    let mark = computed.answer().map(|answer| mark_words(answer.mark));
    let class = mark.as_ref().map_or("open", |mark| mark.class);
    html! {
        div class=(format!("verdict {class}")) {
            p.sentence { (one_line(&computed.sentence)) }
            @if let Some(drawbacks) = &computed.drawbacks { p { (one_line(drawbacks)) } }
            @if let Some(mark) = &mark {
                p class=(mark.class) { (mark.draw_sign()) (mark.words)
                    @if let Some(answer) = computed.answer().filter(|answer| answer.mark == AnswerMark::DependsOnDrive) {
                        ": " (one_line(&answer.rivals.join(", "))) " may be better on yours"
                    }
                }
            }
        }
        (draw_bars(computed, question))
        h2 #requirements { "If you need more of it" }
        dl {
            @for (filter, answer) in atlas.filters.iter().zip(&computed.answers).skip(1) {
                dt { (link(&format!("{}.html", filter.slug), filter.title)) }
                dd { @match answer { Some(answer) => { (describe_answer(answer)) } None => { "No candidate of this cell has it." } } }
            }
        }
        h2 #basis { "What it stands on" }
        dl {
            @for (label, text) in &computed.basis { dt { (label) } dd { (text) } }
            dt { "Computed" } dd { (computed.day) ", Linux " (computed.kernel) }
            dt { "Device" } dd { @if let Some(kind) = atlas.kinds.get(cell.kind) { (link(&kind.page(), &kind.title)) ", the model " code { (one_line(&kind.model)) } } }
        }
        @if !computed.notes.is_empty() {
            h2 #errors { "How wrong it may be" }
            ul { @for note in &computed.notes { li { (note) "." } } }
        }
        h2 #numbers { "Numbers" }
        @if let Some(table) = &computed.phases { (render_phases(table)) }
        @if !computed.missing.is_empty() {
            p { "Without a result: " }
            ul { @for (name, why) in &computed.missing { li { b { (one_line(name)) } ", " (one_line(why)) } } }
        }
        h2 #repeat { "Repeat it" }
        p { "Download " a href=(format!("plans/{}.toml", cell.slug)) download="" { "the plan" } " (digest " code { (computed.digest) } "), and run it; on a real device of yours with " code { "--lab native --device PATH" } ":" }
        pre { "fsverdict run " (cell.slug) ".toml" }
        @if cell.bundle.is_some() {
            p { "Or judge " a href=(bundle_path(&cell.slug, &cell.identity)) download="" { "its run" } " again, with every number of every trial:" }
            pre { "fsverdict report " (bundle_name(&cell.slug, &cell.identity)) }
        }
        p { "For other pages: " a href=(format!("cards/{}.png", cell.slug)) { "the answer as a picture" } ", " a href="atlas.csv" { "CSV" } ", " a href="atlas.json" { "JSON" } "." }
    }
}

fn render_phases(table: &TextTable) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            div.scroll { table {
                thead { tr { @for title in &table.header { th scope="col" { (one_line(title)) } } } }
                tbody { @for row in &table.rows { tr { @for (at, text) in row.iter().enumerate() {
                    @if at == 0 { th scope="row" { (one_line(text)) } } @else { td { (one_line(text)) } }
                } } } }
            } }
        }
    }
}

fn render_strangers(strangers: &[StrangersAnswer]) -> Markup {
    html! {
        h2 #others { "Runs of others" }
        p.lead { "Each run keeps its own answer: nothing is averaged over machines." }
        ul { @for one in strangers {
            li class=[one.disagrees.then_some("depends")] {
                @if one.disagrees { b { span.sign aria-hidden="true" { "≠" } " disagrees: " } } @else { "agrees: " }
                (describe_answer(&one.answer)) " " small { (one_line(&one.device)) ", Linux " (one_line(&one.kernel)) }
            }
        } }
    }
}

/// The ways to other pages: the same work on other devices, other works on this one, and the filesystems of the answer.
fn neighbours(atlas: &Atlas, cell: &AtlasCell) -> Markup {
    let first = cell.content.as_ref().ok().and_then(|computed| {
        let first = &computed.answer()?.first;
        computed.bars.iter().find(|bar| bar.name == *first).map(|bar| bar.filesystem.clone())
    });
    let known = first.and_then(|name| atlas.catalogue.filesystems.iter().find(|facts| facts.name == name));
    html! {
        h2 { "Beside it" }
        ul {
            @if let Some(facts) = known { li { "More of " (link(&filesystem_page::name(&facts.name), &facts.title)) } }
            @if let Some(work) = atlas.works.get(cell.work) { li { "The same work on other devices: " (link(&work.page(), &work.about)) } }
            @if let Some(kind) = atlas.kinds.get(cell.kind) { li { "Other works on it: " (link(&kind.page(), &kind.title)) } }
            li { a href="index.html" { "All of it as a matrix" } }
        }
    }
}
