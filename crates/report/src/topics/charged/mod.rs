//! Topic: how much of the times is computation, where a processor model prices it.

mod section;
mod words;

pub(crate) use words::write_sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct ChargedTopic;

impl ReportTopic for ChargedTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::build_tables(report).into_iter().map(|table| (For::DETAIL.and(For::MARKDOWN), table)).collect()
    }

    fn build_section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::build_section(report)
    }

    fn write_notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::write_sentences(judged)
    }
}
