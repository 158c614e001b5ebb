//! Topic: the results of a run at several sites, site by site.

mod section;
mod words;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;

pub(super) struct SitesTopic;

impl ReportTopic for SitesTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        let brief =
            words::build_table(&report.judged, false).map(|table| (For::BRIEF.and(For::MARKDOWN), table));
        let whole = words::build_table(&report.judged, true).map(|table| (For::DETAIL, table));
        brief.into_iter().chain(whole).collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }
}
