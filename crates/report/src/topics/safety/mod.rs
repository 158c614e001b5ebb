//! Topic: the price of safety: time beside losses.

mod section;
mod words;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct SafetyTopic;

impl ReportTopic for SafetyTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_table(&report.safety).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }
}
