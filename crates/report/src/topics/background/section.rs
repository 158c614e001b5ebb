//! The section on background work of filesystems during the phases.

use super::words;
use crate::Report;
use crate::page::PageBlock;

/// The section; `None` where the background work was small or not reported.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = words::build_table(&report.judged)?;
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(words::write_sentences(&report.judged)).collect();
    blocks.push(PageBlock::plain_table(table));
    Some(PageBlock::section("background", "Beside the phases", blocks))
}
