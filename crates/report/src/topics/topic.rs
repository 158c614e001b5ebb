//! The parts of a report that a topic consists of.

use crate::Report;
use crate::page::{For, PageBlock};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::Judgement;

/// A topic of the report of a run. Each part is empty where the run has nothing to say on the topic.
pub(crate) struct ReportTopic {
    /// The tables of text, each with its audience.
    pub(crate) build_tables: fn(&Report<'_>) -> Vec<(For, TextTable)>,
    /// The section of the HTML page, with its picture.
    pub(crate) build_section: for<'a> fn(&'a Report<'a>) -> Option<PageBlock<'a>>,
    /// Notes for the reader of the numbers, each a sentence without a full stop.
    pub(crate) write_notes: fn(&Judgement<'_>) -> Vec<String>,
}

impl ReportTopic {
    /// A topic without any part.
    pub(super) const EMPTY: ReportTopic =
        ReportTopic { build_tables: |_| Vec::new(), build_section: |_| None, write_notes: |_| Vec::new() };
}

/// Addresses tables, or one that may be missing, to this audience.
pub(super) fn address_tables(
    audience: For,
    tables: impl IntoIterator<Item = TextTable>,
) -> impl Iterator<Item = (For, TextTable)> {
    tables.into_iter().map(move |table| (audience, table))
}
