//! The topics of the report of a run. The file of a topic holds everything that this crate says about it: data
//! for JSON, sentences, tables, the section of the HTML page with its picture, and notes. A topic is registered here, and
//! nowhere else.

mod background;
mod charged;
mod dependence;
mod device_prediction;
mod from_memory;
mod power_cuts;
pub(crate) mod required;
mod rot;
mod safety;
mod sites;
pub(crate) mod then_and_now;
mod topic;
pub(crate) mod tradeoffs;
mod unflushed;

use topic::ReportTopic;
pub(crate) use topic::TopicData;

/// All topics, in the order of their tables and notes.
pub(crate) static TOPICS: [&ReportTopic; 13] = [
    &from_memory::TOPIC,
    &required::TOPIC,
    &background::TOPIC,
    &unflushed::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
    &device_prediction::TOPIC,
    &dependence::TOPIC,
    &tradeoffs::TOPIC,
    &sites::TOPIC,
    &then_and_now::TOPIC,
];

/// The topics with a section on the HTML page, in the order of the sections and of their data in JSON: those on devices come early, beside the
/// picture of the result.
pub(crate) static SECTIONS: [&ReportTopic; 9] = [
    &required::TOPIC,
    &sites::TOPIC,
    &device_prediction::TOPIC,
    &dependence::TOPIC,
    &background::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
];
