//! How much of the times is computation where it has a price.

use super::words;
use crate::Report;
use crate::page::PageBlock;
use crate::text::capitalize;

/// The section; nothing where computation had no price.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = words::build_tables(report);
    tables.first()?;
    let said = words::write_sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{}.", capitalize(&what)).into())).collect();
    let tables = tables.into_iter().map(PageBlock::plain_table);
    blocks.push(PageBlock::fold(None, "Computation of each phase", tables.collect()));
    Some(PageBlock::section("computation", "Computation", blocks))
}
