//! Parts that stand in several places of a page, or on several pages.

use super::{Block, Fold, Remark, Text};
use crate::report::Note;
use crate::report::text::count;
use crate::report::to_use::{LEAD, ToUse};

/// The verdict as a paragraph, to be pasted into a mail.
pub(in crate::report) fn in_plain_words(title: &'static str, paragraph: &str) -> Block<'static> {
    Block::fold(Some("words"), title, vec![Block::Paragraph(Text::foreign(paragraph))])
}

/// The lines to type, and what one gets by them.
pub(in crate::report) fn in_use(to_use: &ToUse) -> Fold<'static> {
    let notes = to_use.notes.iter().map(|note| format!("{}.", note.trim_end_matches('.')));
    let said = std::iter::once(format!("{}.", to_use.properties())).chain(notes);
    let blocks = vec![
        Block::Paragraph(LEAD.into()),
        Block::Commands(to_use.lines.clone()),
        Block::Sentences(said.collect()),
    ];
    Fold { id: Some("to-use"), title: "To use it".into(), blocks }
}

/// The cautions, under this label.
pub(in crate::report) fn remarks<'a>(
    label: &'static str,
    notes: impl Iterator<Item = &'a Note>,
) -> Block<'static> {
    let remark = |note: &Note| Remark { label, text: note.line(), tone: None, is_cut: true };
    Block::Remarks(notes.map(remark).collect())
}

/// So many of something in a word, and each of them where that is unfolded.
pub(in crate::report) fn gist(
    id: Option<&'static str>,
    what: &str,
    lines: impl Iterator<Item = String>,
) -> Block<'static> {
    let lines: Vec<String> = lines.collect();
    Block::Gist { id, what: count(lines.len(), what), lines }
}
