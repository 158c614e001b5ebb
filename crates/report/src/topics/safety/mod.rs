//! Topic: the price of safety: time beside losses.

mod section;
mod words;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(For::TEXT, words::build_table(&report.safety)).collect(),
    build_section: section::build_section,
    ..ReportTopic::EMPTY
};
