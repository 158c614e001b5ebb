//! The built-in metrics: name, unit, which way is better, what it means.

use serde::{Deserialize, Serialize};

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Things per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A ratio, or a share between 0 and 1.
    #[serde(rename = "1")]
    Ratio,
    /// A number of things.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// Its sign, as in journal, JSON and CSV.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "1/s",
            Self::Ratio => "1",
            Self::Count => "count",
        }
    }
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
    /// It informs, and is not ranked.
    Neither,
}

/// What is known about a built-in metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Its name in journal, JSON and CSV.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

const fn info(name: &'static str, unit: Unit, better: Better, meaning: &'static str) -> MetricInfo {
    MetricInfo { name, unit, better, meaning }
}

/// Every built-in metric.
pub const METRICS: &[MetricInfo] = &[
    info(
        "durable",
        Unit::Seconds,
        Better::Lower,
        "wall time until the work had returned and syncfs had made it durable: the headline",
    ),
    info("returned", Unit::Seconds, Better::Lower, "wall time until the work returned"),
    info("cpu", Unit::Seconds, Better::Lower, "CPU time of the tool that did the work, user and system"),
    info(
        "cpu_kernel",
        Unit::Seconds,
        Better::Lower,
        "CPU time of the machine beyond the tool's own, less the idle baseline: kernel threads working on its behalf",
    ),
    info(
        "cpu_stolen",
        Unit::Seconds,
        Better::Neither,
        "CPU time the machine wanted and its hypervisor gave to others (steal)",
    ),
    info("device_read", Unit::Bytes, Better::Lower, "bytes the device was asked to read"),
    info("device_written", Unit::Bytes, Better::Lower, "bytes the device was asked to write"),
    info("device_reads", Unit::Count, Better::Lower, "read requests completed by the device"),
    info("device_writes", Unit::Count, Better::Lower, "write requests completed by the device"),
    info("device_flushes", Unit::Count, Better::Lower, "cache flushes completed by the device"),
    info("device_discarded", Unit::Bytes, Better::Neither, "bytes discarded on the device"),
    info("device_busy", Unit::Seconds, Better::Lower, "time during which the device had a request in flight"),
    info(
        "write_amplification",
        Unit::Ratio,
        Better::Lower,
        "bytes written to the device per logical byte the phase wrote",
    ),
    info(
        "logical_bytes",
        Unit::Bytes,
        Better::Neither,
        "bytes the phase read or wrote, as its user would count them",
    ),
    info("files", Unit::Count, Better::Neither, "files the phase worked on"),
    info("throughput", Unit::BytesPerSecond, Better::Higher, "logical bytes per second until durable"),
    info("file_rate", Unit::PerSecond, Better::Higher, "files per second until durable"),
    info(
        "space_used",
        Unit::Bytes,
        Better::Lower,
        "blocks in use on the filesystem after the phase (statfs)",
    ),
    info(
        "dirty_peak",
        Unit::Bytes,
        Better::Neither,
        "largest Dirty + Writeback seen during the phase (sampled)",
    ),
    info("memory_peak", Unit::Bytes, Better::Lower, "largest resident set of the tool"),
    info("io_pressure", Unit::Seconds, Better::Lower, "time in which some task was stalled on I/O (PSI)"),
    info("latency_p50", Unit::Seconds, Better::Lower, "median latency of the operation's main call"),
    info(
        "latency_p95",
        Unit::Seconds,
        Better::Lower,
        "95th percentile of the latency of the operation's main call",
    ),
    info(
        "latency_p99",
        Unit::Seconds,
        Better::Lower,
        "99th percentile of the latency of the operation's main call",
    ),
    info("latency_max", Unit::Seconds, Better::Lower, "largest latency of the operation's main call"),
    info("settle", Unit::Seconds, Better::Neither, "time after the phase until the device was quiet"),
];

/// The built-in metric of this name.
pub fn metric(name: &str) -> Option<&'static MetricInfo> {
    METRICS.iter().find(|known| known.name == name)
}
