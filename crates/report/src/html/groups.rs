//! The sections on the cost of protection, and on the guarantees of each candidate.

use crate::page::PageBlock;
use crate::{Report, groups, guarantees};

/// The cost of each protection; `None` where the candidates have one level, or no two differ in it alone.
pub(super) fn costs<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageBlock::plain_table(groups::build_table(&report.judged)?);
    Some(PageBlock::section("protection", "What protection costs", vec![table]))
}

/// The guarantees that each candidate has and lacks, and its status in the kernel; `None` if they are not known.
pub(super) fn guarantees<'a>(report: &Report<'_>) -> Option<PageBlock<'a>> {
    let table = PageBlock::plain_table(guarantees::build_table(&report.guarantees)?);
    Some(PageBlock::section("guarantees", "Guarantees and status", vec![table]))
}
