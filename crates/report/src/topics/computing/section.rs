//! Whether the verdict holds where computing takes time.

use super::words;
use crate::Report;
use crate::page::PageBlock;

/// The section; nothing where computing has no price.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = words::build_table(&report.judged)?;
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(words::write_sentences(&report.judged)).collect();
    blocks.push(PageBlock::plain_table(table));
    Some(PageBlock::section("computing", "Where computing takes time", blocks))
}
