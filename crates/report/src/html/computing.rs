//! Whether the verdict holds where computing takes time.

use crate::page::{PageBlock, PageTable};
use crate::{Report, computing};

/// The section; nothing where computing has no price.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = computing::table(&report.judged)?;
    let said = computing::sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{what}.").into())).collect();
    blocks.push(PageBlock::Table(PageTable::plain(table)));
    Some(PageBlock::section("computing", "Where computing takes time", blocks))
}
