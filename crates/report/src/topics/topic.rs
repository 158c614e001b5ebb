//! The parts of a report that a topic consists of.

use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

/// A topic of the report of a run. Each part is empty where the run has nothing to say on the topic.
pub(crate) trait ReportTopic: Sync {
    /// The tables of text, each with its audience.
    fn build_tables(&self, _report: &Report<'_>) -> Vec<(For, TextTable)> {
        Vec::new()
    }

    /// The section of the HTML page, with its picture.
    fn build_section<'a>(&self, _report: &'a Report<'a>) -> Option<PageBlock<'a>> {
        None
    }

    /// Notes for the reader of the numbers, each a sentence without a full stop.
    fn write_notes(&self, _judged: &Judgement<'_>) -> Vec<String> {
        Vec::new()
    }
}
