//! Page parts that are used in several places or on several pages.

use crate::PageNote;
use crate::model::to_use::{LEAD, ToUse};
use crate::page::{FoldedPart, PageBlock, Remark, Text};
use crate::wording::{count, one_line};

/// The verdict in sentences, under a title and an anchor of the page.
pub(crate) fn in_words(title: &'static str, id: &'static str, paragraph: &str) -> PageBlock<'static> {
    PageBlock::fold(Some(id), title, vec![PageBlock::Paragraph(Text::foreign(paragraph))])
}

/// The commands to set up the recommended candidate, and notes on them; all its properties besides, if asked for.
pub(crate) fn in_use(to_use: &ToUse, with_properties: bool) -> FoldedPart<'static> {
    let notes = to_use.notes.iter().map(|note| format!("{}.", note.trim_end_matches('.')));
    let properties = with_properties.then(|| format!("{}.", to_use.properties()));
    let status = to_use.status.filter(|_| with_properties).map(str::to_owned);
    let sentences = properties.into_iter().chain(notes).chain(status);
    let blocks = vec![
        PageBlock::Paragraph(LEAD.into()),
        PageBlock::Commands(to_use.lines.clone()),
        PageBlock::Sentences(sentences.collect()),
    ];
    FoldedPart { id: Some("to-use"), title: "To use it".into(), blocks }
}

/// The commands for a better protected candidate than the recommended one.
pub(crate) fn in_use_instead(to_use: &ToUse) -> FoldedPart<'static> {
    let title = format!("To use {} instead", one_line(&to_use.candidate));
    FoldedPart { id: None, title: title.into(), ..in_use(to_use, false) }
}

pub(crate) fn build_remarks(label: &'static str, notes: &[PageNote]) -> PageBlock<'static> {
    let remark = |note: &PageNote| Remark { label, text: note.line(), tone: None, is_cut: true };
    PageBlock::Remarks(notes.iter().map(remark).collect())
}

/// A summary with the number of entries, which unfolds to all of them.
pub(crate) fn build_gist(
    id: Option<&'static str>,
    what: &str,
    lines: impl Iterator<Item = String>,
) -> PageBlock<'static> {
    let lines: Vec<String> = lines.collect();
    PageBlock::Gist { id, what: count(lines.len(), what), lines }
}
