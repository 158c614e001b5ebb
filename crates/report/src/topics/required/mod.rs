//! Topic: the requirements of the goal, and which candidates meet them.

mod section;
mod words;

pub(crate) use words::{alone, open_of, ruled_out, unshown};

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(For::TEXT, words::build_table(&report.judged)).collect(),
    build_section: section::build_section,
    write_notes: words::open,
};
