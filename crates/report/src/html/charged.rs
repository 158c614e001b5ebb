//! How much of the times is computation where it has a price.

use crate::page::{PageBlock, PageTable};
use crate::{Report, charged};

/// The section; nothing where computation had no price.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = charged::tables(report);
    tables.first()?;
    let said = charged::sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{what}.").into())).collect();
    blocks.extend(tables.into_iter().map(|table| PageBlock::Table(PageTable::plain(table))));
    Some(PageBlock::section("computation", "Computation", blocks))
}
