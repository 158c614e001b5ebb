//! What computing takes where trials took it as free: measured once, apart from them.

use serde::{Deserialize, Serialize};

/// The CPU prices of a run's candidates, as they were last measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuPrices {
    /// What they stand on, each in a sentence without a full stop.
    pub basis: Vec<String>,
    pub prices: Vec<CpuPrice>,
    /// Who has none.
    pub unpriced: Vec<Unpriced>,
}

/// What the computing of one phase takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuPrice {
    pub candidate: String,
    pub phase: String,
    /// Seconds of one processor: of the tools that did the work, and of the kernel on their behalf.
    pub work: f64,
    /// Seconds of one processor for what layers compute of each byte.
    pub layers: f64,
}

impl CpuPrice {
    /// Seconds of one processor, all together.
    pub fn seconds(&self) -> f64 {
        self.work + self.layers
    }
}

/// A candidate whose computing has no price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpriced {
    pub candidate: String,
    pub reason: String,
}
