//! The section on the outcomes of power cuts.

use super::words;
use crate::Report;
use crate::page::PageBlock;

use super::{loss_age, loss_age_picture};

/// The section; `None` where no power was cut.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = words::build_tables(&report.judged);
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(words::write_sentences(&report.judged)).collect();
    blocks.extend(tables.into_iter().map(PageBlock::plain_table));
    blocks.extend(loss_age_picture::draw_pictures(report));
    blocks.extend(loss_age::build_table(&report.judged).map(PageBlock::plain_table));
    (!blocks.is_empty()).then(|| PageBlock::section("power-cuts", "When power is cut", blocks))
}
