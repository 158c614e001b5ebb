//! Prices of computation for trials in which computation took no simulated time: measured once, apart from the trials.

use serde::{Deserialize, Serialize};

/// The CPU prices of a run's candidates from the last measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuPrices {
    /// The basis of the prices, each in a sentence without a full stop.
    pub basis: Vec<String>,
    pub prices: Vec<CpuPrice>,
    /// The candidates without a price.
    pub unpriced: Vec<Unpriced>,
}

/// The CPU time of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuPrice {
    pub candidate: String,
    pub phase: String,
    /// CPU seconds of the tools that did the work, and of the kernel on their behalf.
    pub work: f64,
    /// CPU seconds that layers spend on each byte of data.
    pub layers: f64,
}

impl CpuPrice {
    /// CPU seconds in total.
    pub fn seconds(&self) -> f64 {
        self.work + self.layers
    }
}

/// A candidate without a price for its computation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpriced {
    pub candidate: String,
    pub reason: String,
}
