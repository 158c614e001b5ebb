//! Topic: the results that one device of a class will show.

mod section;
mod words;

pub(crate) use words::write_sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct DevicePredictionTopic;

impl ReportTopic for DevicePredictionTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }
}
