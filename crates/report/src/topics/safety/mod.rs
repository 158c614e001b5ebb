//! Topic: the price of safety: time beside losses.

mod section;
mod words;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct SafetyTopic;

impl ReportTopic for SafetyTopic {
    fn tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::table(&report.safety).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::section(report)
    }
}
