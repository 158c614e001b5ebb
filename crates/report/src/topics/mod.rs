//! The topics of the report of a run. The folder of a topic holds everything that this crate says about it: sentences,
//! tables, the section of the HTML page with its picture, and notes. A topic is registered here, and nowhere else.

pub(crate) mod background;
pub(crate) mod charged;
pub(crate) mod depends;
pub(crate) mod device_prediction;
mod power_cuts;
pub(crate) mod required;
mod rot;
mod safety;
mod sites;
mod topic;
mod tradeoffs;
pub(crate) mod unflushed;

use topic::ReportTopic;

/// All topics, in the order of their tables and notes.
pub(crate) static TOPICS: [&ReportTopic; 11] = [
    &required::TOPIC,
    &background::TOPIC,
    &unflushed::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
    &device_prediction::TOPIC,
    &depends::TOPIC,
    &tradeoffs::TOPIC,
    &sites::TOPIC,
];

/// The topics with a section on the HTML page, in the order of the sections: those on devices come early, beside the
/// picture of the result.
pub(crate) static SECTIONS: [&ReportTopic; 9] = [
    &required::TOPIC,
    &sites::TOPIC,
    &device_prediction::TOPIC,
    &depends::TOPIC,
    &background::TOPIC,
    &power_cuts::TOPIC,
    &rot::TOPIC,
    &safety::TOPIC,
    &charged::TOPIC,
];
