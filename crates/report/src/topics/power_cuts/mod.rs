//! Topic: the outcomes of power cuts, and the loss of files by their age.

mod loss_age;
mod loss_age_picture;
mod section;
mod words;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct PowerCutsTopic;

impl ReportTopic for PowerCutsTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        let text = words::build_tables(&report.judged).into_iter().map(|table| (For::TEXT, table));
        let ages = loss_age::build_table(&report.judged).map(|table| (For::DETAIL.and(For::MARKDOWN), table));
        text.chain(ages).collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }

    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::write_sentences(judged)
    }
}
