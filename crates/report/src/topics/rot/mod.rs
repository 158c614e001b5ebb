//! Topic: the outcomes of blocks with bit rot.

mod section;
mod words;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct RotTopic;

impl ReportTopic for RotTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_tables(&report.judged).into_iter().map(|table| (For::TEXT, table)).collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }

    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::write_sentences(judged)
    }
}
