//! Topic: the filesystems' own work beside the phases.

mod section;
mod words;

pub(crate) use words::write_sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct BackgroundTopic;

impl ReportTopic for BackgroundTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }

    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::write_sentences(judged).collect()
    }
}
