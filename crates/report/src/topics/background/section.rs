//! The section on background work of filesystems during the phases.

use super::words;
use crate::Report;
use crate::page::{PageBlock, PageTable};

/// The section; `None` where the background work was small or not reported.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = words::build_table(&report.judged)?;
    let mut blocks: Vec<PageBlock<'a>> = words::write_sentences(&report.judged)
        .map(|what| PageBlock::Lead(format!("{what}.").into()))
        .collect();
    blocks.push(PageBlock::Table(PageTable::plain(table)));
    Some(PageBlock::section("background", "Beside the phases", blocks))
}
