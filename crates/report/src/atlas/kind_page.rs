//! The page of a kind of device: the properties that decide, the answers for each work, and measured drives beside the model.

use maud::{Markup, html};

use super::answers::{describe_answer, mark_words};
use super::shell::{link, page};
use super::{Atlas, AtlasCell};
use crate::wording::one_line;

pub(super) fn render(atlas: &Atlas, at: usize) -> Markup {
    let Some(kind) = atlas.kinds.get(at) else { return html! {} };
    let title = format!("Which filesystem {}?", kind.place);
    let cells: Vec<&AtlasCell> = atlas.cells.iter().filter(|cell| cell.kind == at).collect();
    let leaders = fsverdict_judgement::plan::group_by_key(
        cells.iter().filter_map(|cell| Some((cell.content.as_ref().ok()?.answer()?.first.clone(), ()))),
    );
    let counts: Vec<String> =
        leaders.iter().map(|(name, all)| format!("{} in {}", one_line(name), all.len())).collect();
    let description = if counts.is_empty() {
        format!("{title} Nothing was computed on it yet.")
    } else {
        format!(
            "{title} First: {} of {} works computed. {}",
            counts.join(", "),
            leaders.iter().map(|(_, all)| all.len()).sum::<usize>(),
            kind.matters
        )
    };
    let body = html! {
        h1 { (one_line(&title)) }
        @if !kind.matters.is_empty() { p { (one_line(&kind.matters)) } }
        p.note { "Computed on the model " code { (one_line(&kind.model)) } ", which draws another drive of the class for each block." }
        (list_answers(&cells, |cell| atlas.works.get(cell.work).map_or(String::new(), |work| work.about.clone())))
        @if !kind.drives.is_empty() {
            h2 #drives { "Measured drives beside the model" }
            dl { @for drive in &kind.drives { dt { (one_line(&drive.name)) } dd { (one_line(&drive.beside)) } } }
            p.note { "From docs/results/device-models.md, where each curve has its source." }
        } @else { p.note { "The repository has no drive of this kind that was measured beside the model." } }
        p { code { "fsverdict show " (one_line(super::catalogue::base_name(&kind.model))) } " prints every number of the model with its source; " code { "fsverdict calibrate DEVICE" } " makes one of your drive." }
    };
    page(atlas, &title, &description, &body)
}

/// Answers under the names that `label` gives them.
pub(super) fn list_answers(cells: &[&AtlasCell], label: impl Fn(&AtlasCell) -> String) -> Markup {
    html! {
        dl { @for cell in cells {
            dt { (link(&cell.page(), &label(cell))) }
            dd { @match cell.content.as_ref().map(|computed| computed.answer()) {
                Ok(Some(answer)) => {
                    @let mark = mark_words(answer.mark);
                    span class=(mark.class) { (mark.draw_sign()) } (describe_answer(answer))
                }
                Ok(None) => { "No candidate has a result." }
                Err(why) => { span.note { (one_line(why)) } }
            } }
        } }
    }
}

pub(super) fn render_list(atlas: &Atlas) -> Markup {
    let title = "Kinds of devices";
    let body = html! {
        h1 { (title) }
        @for kind in &atlas.kinds {
            h2 { (link(&kind.page(), &kind.title)) }
            p { (one_line(&kind.matters)) }
        }
    };
    let description = "What decides which filesystem is fastest on each kind of device.";
    page(atlas, title, description, &body)
}
