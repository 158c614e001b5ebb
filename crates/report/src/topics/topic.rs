//! The parts of a report that a topic consists of.

use crate::Report;
use crate::model::{Clause, JsonObject};
use crate::page::{Media, PageBlock};
use crate::wording::TextTable;
use fsverdict_judgement::verdict::Judgement;

/// A topic of the report of a run. Each part is empty where the run has nothing to say on the topic.
pub(crate) struct ReportTopic {
    /// Adds the data of the topic that are no part of the verdict to the JSON.
    pub(crate) add_data: for<'a> fn(&'a Report<'a>, JsonObject<'a>) -> JsonObject<'a>,
    /// The tables of text, each with its audience.
    pub(crate) build_tables: fn(&Report<'_>) -> Vec<(Media, TextTable)>,
    /// The section of the HTML page, with its picture.
    pub(crate) build_section: for<'a> fn(&'a Report<'a>) -> Option<PageBlock<'a>>,
    /// Statements, from which sentence, paragraph, plain words and notes choose.
    pub(crate) list_clauses: fn(&Judgement<'_>) -> Vec<Clause>,
}

impl ReportTopic {
    /// A topic without any part.
    pub(super) const EMPTY: ReportTopic = ReportTopic {
        add_data: |_, document| document,
        build_tables: |_| Vec::new(),
        build_section: |_| None,
        list_clauses: |_| Vec::new(),
    };
}

/// Addresses tables, or one that may be missing, to this audience.
pub(super) fn address_tables(
    audience: Media,
    tables: impl IntoIterator<Item = TextTable>,
) -> impl Iterator<Item = (Media, TextTable)> {
    tables.into_iter().map(move |table| (audience, table))
}
