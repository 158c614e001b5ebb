//! Topic: whether the verdict holds where computation takes time.

mod section;
mod words;

pub(crate) use words::sentences;

use super::topic::ReportTopic;
use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

pub(super) struct ComputingTopic;

impl ReportTopic for ComputingTopic {
    fn tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        words::table(&report.judged).map(|table| (For::TEXT, table)).into_iter().collect()
    }

    fn section<'a>(&self, report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        section::section(report)
    }

    fn notes(&self, judged: &Judgement<'_>) -> Vec<String> {
        words::sentences(judged)
    }
}
