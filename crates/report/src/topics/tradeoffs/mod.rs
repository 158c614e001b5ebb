//! Topic: time beside the other costs, and how far the goal's weights may move.

use super::topic::ReportTopic;
use crate::Report;
use crate::page::For;
use crate::text_table::TextTable;

pub(super) struct TradeoffsTopic;

impl ReportTopic for TradeoffsTopic {
    fn build_tables(&self, report: &Report<'_>) -> Vec<(For, TextTable)> {
        report.beside.iter().map(|table| (For::DETAIL.and(For::MARKDOWN), table.clone())).collect()
    }
}
