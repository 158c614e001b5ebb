//! Whether the verdict holds where computing takes time.

use super::words;
use crate::Report;
use crate::page::{PageBlock, PageTable};

/// The section; nothing where computing has no price.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = words::build_table(&report.judged)?;
    let said = words::write_sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{what}.").into())).collect();
    blocks.push(PageBlock::Table(PageTable::plain(table)));
    Some(PageBlock::section("computing", "Where computing takes time", blocks))
}
