//! Topic: time beside the other costs, and how far the goal's weights may move.

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| {
        address_tables(For::DETAIL.and(For::MARKDOWN), report.beside.iter().cloned()).collect()
    },
    ..ReportTopic::EMPTY
};
