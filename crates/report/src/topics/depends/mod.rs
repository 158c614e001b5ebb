//! Topic: the device properties that change the ranking within a class of devices.

mod section;
mod words;

pub(crate) use words::{on_single_devices, turning, widening};

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(For::TEXT, words::build_table(&report.judged)).collect(),
    build_section: section::build_section,
    ..ReportTopic::EMPTY
};
