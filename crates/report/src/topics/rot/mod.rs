//! Topic: the outcomes of blocks with bit rot.

mod section;
mod words;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(For::TEXT, words::build_tables(&report.judged)).collect(),
    build_section: section::build_section,
    write_notes: words::write_sentences,
};
