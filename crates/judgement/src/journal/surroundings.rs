//! The other activity of the machine during a trial, by which a block may be discarded.

use serde::{Deserialize, Serialize};

/// Other activity of the machine during a trial. Values that could not be read are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Available CPU time in seconds: wall time times the number of processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<f64>,
    /// Seconds of CPU time that other programs used in user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// Seconds of CPU time that a hypervisor gave to other guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Bytes of I/O on the underlying disk by other programs, or that cannot be attributed to the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
    /// The largest number of bytes that the trial can have moved on that disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// The trial was paused (SIGSTOP) and continued: its times include the pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// A signal, from outside or by a crash, ended the trial at every attempt: a resumed run tries it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// Something outside ended the trial at every attempt, or its guest ran out of memory: this says nothing about the
    /// candidate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
    /// Seconds for which the machine was suspended during the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept: Option<f64>,
    /// Seconds by which the wall clock was stepped during the trial, negative if it was set back. Slewing does not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<f64>,
    /// The time of a fixed workload before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Sentinel>,
}

/// The times of fixed workloads, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// A workload that uses only the processor.
    pub cpu: f64,
    pub memory: f64,
}
