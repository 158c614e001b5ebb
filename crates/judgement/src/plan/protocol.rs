//! The protocol of the resolved plan: how many blocks run, when the run ends, and which nuisances vary between blocks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Disturbance;
use super::model::is_default;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    pub blocks: Blocks,
    /// The seed of generated data, and of all random draws in simulated time.
    pub seed: u64,
    /// The seed of the random order; if absent, the run draws it and records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// The state of knowledge at which the run ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub until: Until,
    /// δ, as a fraction: relative differences smaller than this do not matter to this user.
    pub tie: f64,
    /// A trial that takes longer than this is stopped and counts as failed.
    pub timeout: Duration,
    /// The run starts no new block after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// The rules by which a block does not count; `None`: every block counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbance>,
    /// How the study that the plan repeats combined its runs. Reports show this number beside the medians; the verdict
    /// never uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<Legacy>,
    /// Whether, in simulated time, the circumstances vary between blocks to represent similar machines, or stay fixed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub circumstances: NuisancesChoice,
    /// Whether a model that describes a class of devices represents the whole class or one device.
    #[serde(default, skip_serializing_if = "is_default")]
    pub devices: DevicesChoice,
}

/// Nuisance factors of a trial in simulated time: memory, device size, start time, file names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NuisancesChoice {
    /// Varied a little in every block, around the plan's values.
    #[default]
    Drawn,
    /// The plan's values in every block.
    Fixed,
}

/// The devices that a model with ranges of numbers represents in simulated time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DevicesChoice {
    /// The class: each block uses another device of it, if circumstances are drawn at all.
    #[default]
    Class,
    /// One typical device.
    One,
}

/// The state of knowledge at which a run ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// A candidate that no other beats by more than δ.
    #[default]
    Recommended,
    /// In addition, for each other candidate, whether it is behind the recommended one or tied with it.
    Ranked,
}

/// A way in which studies combine the results of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Legacy {
    BestOf,
    /// The mean without the best and the worst run.
    TrimmedMean,
    Mean,
}

/// A fixed number of blocks (`min == max`) or an adaptive range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    pub min: u32,
    pub max: u32,
}
