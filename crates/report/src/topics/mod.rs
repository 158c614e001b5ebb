//! The topics of the report of a run. The file of a topic holds everything that this crate says about it: data for JSON,
//! statements, tables, and the section of the HTML page with its picture. A topic is registered here, and nowhere else.

pub(crate) mod across;
mod background;
mod certainty;
mod charged;
mod costs;
mod dependence;
mod device_prediction;
mod effects;
mod evidence;
pub(crate) mod factors;
pub(crate) mod free_computation;
pub(crate) mod guarantees;
mod kernels;
mod latency;
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
mod topic;
pub(crate) mod tradeoffs;
mod unflushed;

pub(crate) use topic::ReportTopic;

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
    &tradeoffs::TOPIC,
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
    &effects::FACTORS,
    &effects::TOPIC,
    &phases::STEPS,
    &latency::TOPIC,
    &then_and_now::TOPIC,
    &phases::DRIFT,
    &guarantees::TOPIC,
    &evidence::TOPIC,
];
