//! What the goal requires, and who keeps it.

use crate::page::{PageBlock, PageTable};
use crate::{Report, required};

/// The section; nothing where nothing that is measured is required.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageBlock::Table(PageTable::plain(required::table(&report.judged)?));
    Some(PageBlock::section("required", "What is required", vec![table]))
}
