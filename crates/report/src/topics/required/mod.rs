//! Topic: the requirements of the goal, and which candidates meet them.

mod section;
mod words;

pub(crate) use words::{alone, open_of, ruled_out, unshown};

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct RequiredTopic;

impl ReportTopic for RequiredTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }

    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::open(judged)
    }
}
