//! The section on the requirements of the goal, and which candidates meet them.

use super::words;
use crate::Report;
use crate::page::PageBlock;

/// The section; `None` where the goal requires no measured number.
pub(super) fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageBlock::plain_table(words::build_table(&report.judged)?);
    Some(PageBlock::section("required", "What is required", vec![table]))
}
