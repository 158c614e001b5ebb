//! Topic: how much of the times is computation, where a processor model prices it.

mod section;
mod words;

pub(crate) use words::sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct ChargedTopic;

impl ReportTopic for ChargedTopic {
    fn tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::tables(report).into_iter().map(|table| (For::DETAIL.and(For::MARKDOWN), table)).collect()
    }

    fn section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::section(report)
    }

    fn notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::sentences(judged)
    }
}
