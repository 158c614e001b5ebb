//! Questions in readers' words: a page for each work, and an index of all words for works and kinds of devices.

use maud::{Markup, html};

use super::kind_page::list_answers;
use super::shell::{link, page};
use super::{Atlas, AtlasCell};
use crate::wording::one_line;

/// The most other words of a work that its page names.
const MOST_WORDS: usize = 12;

/// The page of a work: its question, and the answer on each kind of device.
pub(super) fn render_work(atlas: &Atlas, at: usize) -> Markup {
    let Some(work) = atlas.works.get(at) else { return html! {} };
    let title = format!("Which filesystem for {}?", work.about);
    let cells: Vec<&AtlasCell> = atlas.cells.iter().filter(|cell| cell.work == at).collect();
    let short = cells.iter().filter_map(|cell| {
        let first = &cell.content.as_ref().ok()?.answer()?.first;
        Some(format!("{} {}", one_line(first), atlas.kind_of(cell)?.place))
    });
    let short: Vec<String> = short.collect();
    let description = match short.is_empty() {
        true => format!("{title} Nothing was computed yet."),
        false => format!("{title} {}.", short.join("; ")),
    };
    let body = html! {
        h1 { (one_line(&title)) }
        p.lead { (one_line(&work.summary)) }
        @if !work.words.is_empty() { p.note { "Also asked as: " (one_line(&work.words.iter().take(MOST_WORDS).cloned().collect::<Vec<_>>().join(", "))) "." } }
        (list_answers(&cells, |cell| atlas.kind_of(cell).map_or(String::new(), |kind| kind.title.clone())))
    };
    page(atlas, &title, &description, &body)
}

/// The index of questions: every word by which a work is asked for.
pub(super) fn render(atlas: &Atlas) -> Markup {
    let mut words: Vec<(String, usize)> = Vec::new();
    for (at, work) in atlas.works.iter().enumerate() {
        words.push((work.about.clone(), at));
        words.extend(work.words.iter().map(|word| (word.clone(), at)));
    }
    words.sort_by_key(|(word, at)| (word.to_lowercase(), *at));
    words.dedup();
    let title = "Questions";
    let body = html! {
        h1 { "What do you want to store, and on what?" }
        p.lead { "Every question that this atlas answers. What is not here was not computed; " code { "fsverdict ask" } " answers it on your machine." }
        h2 { "By what you store" }
        ul.columns { @for (word, at) in &words { @if let Some(work) = atlas.works.get(*at) {
            li { (link(&work.page(), word)) }
        } } }
        h2 { "By the device" }
        ul { @for kind in &atlas.kinds { li { (link(&kind.page(), &format!("Which filesystem {}?", kind.place))) } } }
        h2 { "All questions" }
        @for (at, work) in atlas.works.iter().enumerate() {
            h3 { (link(&work.page(), &work.about)) }
            ul { @for cell in atlas.cells.iter().filter(|cell| cell.work == at) {
                li { (link(&cell.page(), &atlas.question(cell))) @if cell.content.is_err() { " " small { "(not computed)" } } }
            } }
        }
    };
    let description = "Which filesystem for photos, games, a laptop, a server, on an SSD, a hard disk, a stick? Every question that was computed.";
    page(atlas, title, description, &body)
}
