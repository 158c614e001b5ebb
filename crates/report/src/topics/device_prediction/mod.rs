//! Topic: the results that one device of a class will show.

mod section;
mod words;

pub(crate) use words::write_sentences;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(For::TEXT, words::build_table(&report.judged)).collect(),
    build_section: section::build_section,
    ..ReportTopic::EMPTY
};
