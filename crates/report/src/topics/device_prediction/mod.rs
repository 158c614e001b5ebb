//! Topic: the results that one device of a class will show.

mod section;
mod words;

pub(crate) use words::sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct DevicePredictionTopic;

impl ReportTopic for DevicePredictionTopic {
    fn tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::section(report)
    }
}
