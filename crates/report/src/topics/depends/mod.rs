//! Topic: the device properties that change the ranking within a class of devices.

mod section;
mod words;

pub(crate) use words::{on_single_devices, turning, widening};

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct DependsTopic;

impl ReportTopic for DependsTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }
}
