//! The topics of the report of a run. The file of a topic holds everything that this crate says about it: data for JSON,
//! statements, tables, and the section of the HTML page with its picture. A topic is registered here, and nowhere else.

pub(crate) mod across;
mod background;
mod certainty;
mod charged;
mod costs;
mod dependence;
mod device_prediction;
mod evidence;
pub(crate) mod factors;
pub(crate) mod free_computation;
pub(crate) mod guarantees;
mod kernels;
mod phases;
mod picture;
mod power_cuts;
pub(crate) mod protection_costs;
pub(crate) mod requests;
pub(crate) mod required;
mod rot;
mod safety;
mod sites;
pub(crate) mod then_and_now;
mod unflushed;

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
    const EMPTY: ReportTopic = ReportTopic {
        add_data: |_, document| document,
        build_tables: |_| Vec::new(),
        build_section: |_| None,
        list_clauses: |_| Vec::new(),
    };
}

/// Addresses tables, or one that may be missing, to this audience.
fn address_tables(
    audience: Media,
    tables: impl IntoIterator<Item = TextTable>,
) -> impl Iterator<Item = (Media, TextTable)> {
    tables.into_iter().map(move |table| (audience, table))
}

/// All topics with statements or tables, in the order of their tables and notes.
pub(crate) static TOPICS: [&ReportTopic; 16] = [
    &across::TOPIC,
    &protection_costs::TOPIC,
    &guarantees::TOPIC,
    &required::TOPIC,
    &background::TOPIC,
    &unflushed::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
    &free_computation::TOPIC,
    &device_prediction::TOPIC,
    &dependence::TOPIC,
    &costs::TOPIC,
    &sites::TOPIC,
    &then_and_now::TOPIC,
];

/// The topics with a section on the HTML page, in the order of the sections and of their data in JSON: those on devices
/// come early, beside the picture of the result.
pub(crate) static SECTIONS: [&ReportTopic; 23] = [
    &across::TOPIC,
    &picture::TOPIC,
    &protection_costs::TOPIC,
    &required::TOPIC,
    &sites::TOPIC,
    &device_prediction::TOPIC,
    &dependence::TOPIC,
    &background::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
    &phases::TOPIC,
    &requests::TOPIC,
    &costs::TOPIC,
    &factors::TOPIC,
    &factors::PAIRS,
    &phases::STEPS,
    &phases::LATENCY,
    &then_and_now::TOPIC,
    &phases::DRIFT,
    &guarantees::TOPIC,
    &evidence::TOPIC,
];
