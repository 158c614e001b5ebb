//! The topics of the report of a run. The folder of a topic holds everything that this crate says about it: sentences,
//! tables, the section of the HTML page with its picture, and notes. A topic is registered here, and nowhere else.

pub(crate) mod background;
pub(crate) mod charged;
pub(crate) mod computing;
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

pub(crate) use topic::ReportTopic;

use background::BackgroundTopic;
use charged::ChargedTopic;
use computing::ComputingTopic;
use depends::DependsTopic;
use device_prediction::DevicePredictionTopic;
use power_cuts::PowerCutsTopic;
use required::RequiredTopic;
use rot::RotTopic;
use safety::SafetyTopic;
use sites::SitesTopic;
use tradeoffs::TradeoffsTopic;
use unflushed::UnflushedTopic;

/// All topics, in the order of their tables and notes.
pub(crate) static TOPICS: [&dyn ReportTopic; 12] = [
    &RequiredTopic,
    &BackgroundTopic,
    &UnflushedTopic,
    &PowerCutsTopic,
    &RotTopic,
    &SafetyTopic,
    &ChargedTopic,
    &ComputingTopic,
    &DevicePredictionTopic,
    &DependsTopic,
    &TradeoffsTopic,
    &SitesTopic,
];

/// The topics with a section on the HTML page, in the order of the sections: those on devices come early, beside the
/// picture of the result.
pub(crate) static SECTIONS: [&dyn ReportTopic; 10] = [
    &RequiredTopic,
    &SitesTopic,
    &DevicePredictionTopic,
    &DependsTopic,
    &BackgroundTopic,
    &PowerCutsTopic,
    &RotTopic,
    &SafetyTopic,
    &ChargedTopic,
    &ComputingTopic,
];
