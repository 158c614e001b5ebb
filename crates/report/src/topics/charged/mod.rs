//! Topic: how much of the times is computation, where a processor model prices it.

mod section;
mod words;

pub(crate) use words::write_sentences;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| {
        address_tables(For::DETAIL.and(For::MARKDOWN), words::build_tables(report)).collect()
    },
    build_section: section::build_section,
    write_notes: words::write_sentences,
};
