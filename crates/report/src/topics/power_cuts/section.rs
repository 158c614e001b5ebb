//! The section on the outcomes of power cuts.

use super::words;
use crate::Report;
use crate::page::{PageBlock, PageTable};

use super::{loss_age, loss_age_picture};

/// The section; `None` where no power was cut.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = words::build_tables(&report.judged);
    let said = words::write_sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{what}.").into())).collect();
    blocks.extend(tables.into_iter().map(|table| PageBlock::Table(PageTable::plain(table))));
    blocks.extend(loss_age_picture::draw_pictures(report));
    blocks
        .extend(loss_age::build_table(&report.judged).map(|table| PageBlock::Table(PageTable::plain(table))));
    (!blocks.is_empty()).then(|| PageBlock::section("power-cuts", "When power is cut", blocks))
}
