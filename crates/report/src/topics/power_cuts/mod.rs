//! Topic: the outcomes of power cuts, and the loss of files by their age.

mod loss_age;
mod loss_age_picture;
mod section;
mod words;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| {
        let text = address_tables(For::TEXT, words::build_tables(&report.judged));
        let ages = loss_age::build_table(&report.judged);
        text.chain(address_tables(For::DETAIL.and(For::MARKDOWN), ages)).collect()
    },
    build_section: section::build_section,
    write_notes: words::write_sentences,
};
