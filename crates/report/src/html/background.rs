//! What filesystems did by themselves beside the phases.

use crate::page::{PageBlock, PageTable};
use crate::{Report, background};

/// The section; nothing where that was little, or not told.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = background::table(&report.judged)?;
    let mut blocks: Vec<PageBlock<'a>> = background::sentences(&report.judged)
        .map(|what| PageBlock::Lead(format!("{what}.").into()))
        .collect();
    blocks.push(PageBlock::Table(PageTable::plain(table)));
    Some(PageBlock::section("background", "Beside the phases", blocks))
}
