//! The section on the outcomes of power cuts.

use crate::page::{PageBlock, PageTable};
use crate::{Report, power_cuts};

use super::loss_age;

/// The section; `None` where no power was cut.
pub(super) fn section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = power_cuts::tables(&report.judged);
    let said = power_cuts::sentences(&report.judged).into_iter();
    let mut blocks: Vec<PageBlock<'a>> =
        said.map(|what| PageBlock::Lead(format!("{what}.").into())).collect();
    blocks.extend(tables.into_iter().map(|table| PageBlock::Table(PageTable::plain(table))));
    blocks.extend(loss_age::pictures(report));
    blocks.extend(
        crate::loss_age::table(&report.judged).map(|table| PageBlock::Table(PageTable::plain(table))),
    );
    (!blocks.is_empty()).then(|| PageBlock::section("power-cuts", "When power is cut", blocks))
}
