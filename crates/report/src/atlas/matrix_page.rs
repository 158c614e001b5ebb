//! The matrix of an atlas: works by kinds of devices, once without a requirement and once for each.

use maud::{Markup, html};

use super::answers::{describe_answer, describe_lead, mark_words};
use super::shell::{link, page};
use super::{Atlas, AtlasCell};
use crate::wording::one_line;
use fsverdict_judgement::verdict::{Answer, AnswerMark};

/// The marks of the key above the matrix.
const MARKS: [AnswerMark; 4] =
    [AnswerMark::NineOfTen, AnswerMark::DependsOnDrive, AnswerMark::Undecided, AnswerMark::OnlyOne];

pub(super) fn render(atlas: &Atlas, filter: usize) -> Markup {
    let (title, lead) = atlas.filters.get(filter).map_or(("", ""), |filter| (filter.title, filter.lead));
    let heading = match filter {
        0 => "Which filesystem, for what, on which device?".to_owned(),
        _ => format!("Which filesystem, if you need {title}?"),
    };
    let description = format!("{heading} {lead} {}.", atlas.describe_origin());
    let body = html! {
        h1 { (heading) }
        p.lead { (lead) " Each cell says which filesystem to take, how many times as long the next one takes, and how far that holds. Follow a cell for its reasons." }
        nav.filters aria-label="Requirements" {
            @for (at, other) in atlas.filters.iter().enumerate() {
                a href=(atlas.filter_page(at)) aria-current=[(at == filter).then_some("page")] { (other.title) }
            }
        }
        ul.marks {
            @for mark in MARKS {
                @let words = mark_words(mark);
                li class=(words.class) { (words.draw_sign()) (words.words) }
            }
        }
        p.note { "Times are those of the whole work until its data are safe on the device." }
        div.scroll { table.matrix {
            thead { tr {
                th scope="col" { "for" }
                @for kind in &atlas.kinds { th scope="col" { (link(&kind.page(), &kind.title)) } }
            } }
            tbody { @for (at, work) in atlas.works.iter().enumerate() {
                tr {
                    th scope="row" { (link(&work.page(), &work.about)) }
                    @for (kind, known) in atlas.kinds.iter().enumerate() {
                        (draw_cell(atlas.cell(at, kind), filter, &one_line(&known.title)))
                    }
                }
            } }
        } }
    };
    page(atlas, &heading, &description, &body)
}

fn draw_cell(cell: Option<&AtlasCell>, filter: usize, label: &str) -> Markup {
    let Some(cell) = cell else { return html! { td data-label=(label) { span.none { "–" } } } };
    let address = cell.page();
    match &cell.content {
        Err(why) => html! { td data-label=(label) { a href=(address) { small { (one_line(why)) } } } },
        Ok(computed) => match computed.answers.get(filter).and_then(Option::as_ref) {
            Some(answer) => draw_answer(answer, &address, label),
            None => html! { td data-label=(label) { a href=(address) { small { "no candidate has it" } } } },
        },
    }
}

fn draw_answer(answer: &Answer, address: &str, label: &str) -> Markup {
    let mark = mark_words(answer.mark);
    let is_level = answer.mark != AnswerMark::Undecided && !answer.tied.is_empty();
    html! {
        td class=(mark.class) data-label=(label) {
            a href=(address) title=(describe_answer(answer)) {
                @if answer.mark == AnswerMark::Undecided { small { "so far" } }
                b { (one_line(&answer.first)) }
                @if is_level { " = " (one_line(&answer.tied.join(", "))) }
                @if let (Some(lead), Some(next)) = (describe_lead(answer), &answer.next) {
                    ", " (lead)
                    small { "then " (one_line(&next.name)) }
                } @else if let Some(next) = &answer.next {
                    small { "as fast: " (one_line(&next.name)) }
                }
                small { (mark.draw_sign()) (mark.words) }
            }
        }
    }
}
