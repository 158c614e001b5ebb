//! The result of trying a kernel before any plan uses it. The lab carries the trial out.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// How a kernel did when it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelTrial {
    Passed(KernelProof),
    Failed(KernelFailure),
}

/// A kernel did all that it says it can, as far as this machine has the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelProof {
    pub at: jiff::Timestamp,
    /// Made, mounted, unmounted and checked in it.
    pub filesystems: Vec<String>,
    /// Opened and closed in it, below a filesystem.
    #[serde(rename = "encryptions")]
    pub layers: Vec<String>,
    /// It says that it has these, and this machine has not the tools to try them.
    pub without_tools: Vec<String>,
    /// The digest of the device's trace, which was the same in two trials.
    pub trace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFailure {
    pub at: jiff::Timestamp,
    /// The step that the trial was in.
    pub what: String,
    pub reason: String,
}

/// A kernel that is to be tried.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub kernel: &'a Path,
    /// The release as its sources or its package state it.
    pub release: &'a str,
    /// The same of its configuration.
    pub config: &'a [u8],
}
