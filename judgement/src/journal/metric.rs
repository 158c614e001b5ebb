//! The built-in metrics: name, unit, which way is better, what it means.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

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
    Lower,
    Higher,
    /// It informs, and is not ranked.
    Neither,
}

/// Where a report shows a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// When the work was done: in the tables and charts of phases.
    Clock,
    /// How much of it in a second, and what adapters measure.
    Rate,
    /// What it took: in the tables of costs.
    Cost,
    /// In the data only.
    Detail,
}

/// What is known about a built-in metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Its name in journal, JSON and CSV.
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// Where a report shows it.
    pub group: Group,
    /// A few words that stand for it.
    pub title: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

const fn info(name: &'static str, unit: Unit, better: Better, meaning: &'static str) -> MetricInfo {
    MetricInfo { name, unit, better, group: Group::Detail, title: name, meaning }
}

impl MetricInfo {
    const fn of(self, group: Group, title: &'static str) -> Self {
        Self { group, title, ..self }
    }

    /// One of an adapter's.
    pub const fn adapter(name: &'static str, unit: Unit, better: Better, meaning: &'static str) -> Self {
        info(name, unit, better, meaning).of(Group::Rate, name)
    }
}

/// Every built-in metric.
pub const METRICS: &[MetricInfo] = &[
    info(
        "durable",
        Unit::Seconds,
        Better::Lower,
        "wall time until the work had returned and syncfs had made it durable: the headline",
    ).of(Group::Clock, "time until durable"),
    info("returned", Unit::Seconds, Better::Lower, "wall time until the work returned").of(Group::Clock, "time until returned"),
    info("cpu", Unit::Seconds, Better::Lower, "CPU time of the tool that did the work, user and system").of(Group::Cost, "CPU, tool"),
    info(
        "cpu_kernel",
        Unit::Seconds,
        Better::Lower,
        "CPU time of the machine beyond the tool's own, less the idle baseline: kernel threads working on its behalf",
    ).of(Group::Cost, "CPU, kernel"),
    info(
        "cpu_stolen",
        Unit::Seconds,
        Better::Neither,
        "CPU time the machine wanted and its hypervisor gave to others (steal)",
    ),
    info("device_read", Unit::Bytes, Better::Lower, "bytes the device was asked to read").of(Group::Cost, "read"),
    info("device_written", Unit::Bytes, Better::Lower, "bytes the device was asked to write").of(Group::Cost, "written"),
    info("device_reads", Unit::Count, Better::Lower, "read requests completed by the device"),
    info("device_writes", Unit::Count, Better::Lower, "write requests completed by the device"),
    info("device_flushes", Unit::Count, Better::Lower, "cache flushes completed by the device").of(Group::Cost, "flushes"),
    info("device_discarded", Unit::Bytes, Better::Neither, "bytes discarded on the device"),
    info("device_busy", Unit::Seconds, Better::Lower, "time during which the device had a request in flight"),
    info(
        "write_amplification",
        Unit::Ratio,
        Better::Lower,
        "bytes written to the device per logical byte the phase wrote",
    ).of(Group::Cost, "× logical"),
    info(
        "logical_bytes",
        Unit::Bytes,
        Better::Neither,
        "bytes the phase read or wrote, as its user would count them",
    ),
    info("files", Unit::Count, Better::Neither, "files the phase worked on"),
    info("throughput", Unit::BytesPerSecond, Better::Higher, "logical bytes per second until durable").of(Group::Rate, "throughput"),
    info("file_rate", Unit::PerSecond, Better::Higher, "files per second until durable").of(Group::Rate, "files per second"),
    info(
        "space_used",
        Unit::Bytes,
        Better::Lower,
        "blocks in use on the filesystem after the phase (statfs)",
    ).of(Group::Cost, "space"),
    info(
        "dirty_peak",
        Unit::Bytes,
        Better::Neither,
        "largest Dirty + Writeback seen during the phase (sampled)",
    ),
    info("memory_peak", Unit::Bytes, Better::Lower, "largest resident set of the tool").of(Group::Cost, "memory"),
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

/// What is known about a metric of an adapter's.
pub fn adapter_metric(name: &str) -> Option<&'static MetricInfo> {
    super::bonnie::METRICS.iter().chain(super::fio::METRICS).find(|known| known.name == name)
}

/// Reads the name of a metric. A journal repeats the built-in ones by the hundred thousand: those are not copied.
pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, str>, D::Error> {
    struct Name;
    impl serde::de::Visitor<'_> for Name {
        type Value = Cow<'static, str>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("the name of a metric")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(metric(text).map_or_else(|| Cow::Owned(text.to_owned()), |known| Cow::Borrowed(known.name)))
        }
    }
    from.deserialize_str(Name)
}
