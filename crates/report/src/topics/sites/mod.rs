//! Topic: the results of a run at several sites, site by site.

mod section;
mod words;

use super::topic::{ReportTopic, address_tables};
use crate::page::For;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| {
        let brief = address_tables(For::BRIEF.and(For::MARKDOWN), words::build_table(&report.judged, false));
        brief.chain(address_tables(For::DETAIL, words::build_table(&report.judged, true))).collect()
    },
    build_section: section::build_section,
    ..ReportTopic::EMPTY
};
