//! The table of built-in metrics: name, unit, direction and meaning.

use std::borrow::Cow;

use serde::Deserializer;

use crate::plan::Flow;
pub use crate::plan::{Better, Unit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Elapsed time, shown in the tables and charts of phases.
    Clock,
    /// Throughput, and the metrics of adapters.
    Rate,
    /// The cost of the work, shown in the tables of costs.
    Cost,
    /// Shown only in the data.
    Detail,
    /// No longer measured: it only occurs in the data of earlier versions.
    Former,
}

#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// The metric's name in the journal, JSON and CSV.
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub group: Group,
    /// The direction of content for an adapter's rate; for all other metrics the operation determines it.
    pub flow: Flow,
    /// A short title.
    pub title: &'static str,
    pub meaning: &'static str,
}

/// A row: unit, direction, name; group and title if reports show the metric; meaning.
macro_rules! metrics {
    ($($unit:ident $better:ident $name:literal, $($group:ident $title:literal,)? $meaning:literal;)*) => {
        &[$(MetricInfo {
            name: $name,
            unit: Unit::$unit,
            better: Better::$better,
            group: [$(Group::$group,)? Group::Detail][0],
            flow: Flow::Neither,
            title: [$($title,)? $name][0],
            meaning: $meaning,
        },)*]
    };
}

pub const METRICS: &[MetricInfo] = metrics! {
    Seconds Lower "durable", Clock "time until durable",
        "wall time until the work had returned and syncfs had made it durable: the headline";
    Seconds Lower "returned", Clock "time until returned", "wall time until the work returned";
    Seconds Lower "cpu", Cost "CPU, tool", "CPU time of the tool that did the work, user and system";
    Seconds Lower "cpu_kernel", Cost "CPU, kernel",
        "CPU time of the machine beyond the tool's own, less the idle baseline: kernel threads working on its behalf";
    Seconds Neither "cpu_stolen", "CPU time the machine wanted and its hypervisor gave to others (steal)";
    Seconds Lower "charged", Cost "computation",
        "processor time that a processor model charges for what the phase computed, of all processors together; part of it passes while the device works";
    Bytes Lower "device_read", Cost "read", "bytes the device was asked to read";
    Bytes Lower "device_written", Cost "written", "bytes the device was asked to write";
    Count Lower "device_reads", "read requests completed by the device";
    Count Lower "device_writes", "write requests completed by the device";
    Count Lower "device_flushes", Cost "flushes", "cache flushes completed by the device";
    Bytes Neither "device_discarded", "bytes discarded on the device";
    Seconds Lower "device_busy", "time during which the device had a request in flight";
    Ratio Lower "write_amplification", Cost "× logical",
        "bytes written to the device per logical byte the phase wrote";
    Bytes Neither "logical_bytes", "bytes the phase read or wrote, as its user would count them";
    Count Neither "files", "files the phase worked on";
    BytesPerSecond Higher "throughput", Rate "throughput", "logical bytes per second until durable";
    PerSecond Higher "file_rate", Rate "files per second", "files per second until durable";
    Bytes Higher "held", "bytes of the files that lay in the filesystem after it was filled, or freed";
    Bytes Lower "space_grown", Cost "space",
        "bytes in use on the filesystem after the phase beyond those that were when it was freshly made and mounted (statvfs)";
    Bytes Lower "space_lost", Cost "lost to the user",
        "size of the device less what an ordinary user could fill of the freshly made filesystem (statvfs: f_bavail)";
    Bytes Lower "space_used", Former "in use",
        "of earlier versions only: bytes in use after the phase, what some filesystems set aside included";
    Bytes Neither "dirty_peak", "largest Dirty + Writeback seen during the phase (sampled)";
    Seconds Lower "io_pressure", "time in which some task was stalled on I/O (PSI)";
    Seconds Lower "latency_p50", "median latency of the operation's main call";
    Seconds Lower "latency_p95", "95th percentile of the latency of the operation's main call";
    Seconds Lower "latency_p99", "99th percentile of the latency of the operation's main call";
    Seconds Lower "latency_p999", "99.9th percentile of the latency of the operation's main call";
    Seconds Lower "latency_max", "largest latency of the operation's main call";
    PerSecond Higher "slowest_second", Rate "slowest second",
        "how many times a second the operation's main call was done in the slowest second of a phase of three seconds or more";
    Seconds Neither "began", "when the phase began, on the monotonic clock of the kernel that carried it out";
    Count Lower "seeks", Cost "seeks",
        "reads and writes of a modelled device that did not go on where the one before them ended";
    Ratio Higher "sequential_share",
        "share of the reads and writes of a modelled device that went on where the one before them ended";
    Ratio Neither "queue_depth",
        "requests inside a modelled device, on average over the time in which there were any";
    Ratio Higher "layout", Cost "layout",
        "share of the blocks of files, but the first of each, that lie on the device right behind the block before them (FIEMAP), after a history of changes";
    Seconds Neither "busy_read_onwards",
        "time in which a modelled device read where a recent read had ended; a moment with several requests inside the device is divided evenly among them, here and below";
    Seconds Neither "busy_read_elsewhere",
        "time in which it read anywhere else, with fewer than eight requests inside it";
    Seconds Neither "busy_read_queued", "time in which it read anywhere else, with eight requests or more inside it";
    Seconds Neither "busy_write_onwards", "time in which it wrote where a recent write had ended";
    Seconds Neither "busy_write_elsewhere", "time in which it wrote anywhere else";
    Seconds Neither "busy_flush", "time in which it flushed its cache";
    Seconds Neither "busy_discard", "time in which it discarded, or wrote zeroes";
    Bytes Lower "medium_written", Cost "medium written",
        "bytes that a modelled device's medium wrote for the phase, its own tidying up included";
    Count Lower "erases", "blocks or units that a modelled device erased for the phase, or bands it rewrote";
    Seconds Lower "rebuild", Cost "until rebuilt",
        "time from when an empty device took the place of the missing one, as the phase began, until all was there again as often as it should be";
    Seconds Lower "scrub", Cost "until scrubbed",
        "time from when the reading and comparing of all that is on the devices began, with the phase, until it was over";
    Seconds Lower "background", Cost "background",
        "time in the phase in which a modelled device had a request that nothing in it asked for: what a filesystem does by itself";
    Count Lower "background_requests", "requests of that kind";
    Bytes Lower "background_bytes", "bytes of them";
    Seconds Neither "settle", "time after the phase until the device was quiet";
};

pub fn metric(name: &str) -> Option<&'static MetricInfo> {
    METRICS.iter().find(|known| known.name == name)
}

/// The kind of access of which this metric is the time that a modelled device was busy with it.
pub fn busy_kind(metric: &str) -> Option<&str> {
    metric.strip_prefix("busy_")
}

/// The metric of the time in which a modelled device was busy with this kind of access.
pub fn busy_metric(kind: &str) -> Option<&'static MetricInfo> {
    METRICS.iter().find(|known| busy_kind(known.name) == Some(kind))
}

/// Whether the values of a metric may be added up over phases. Percentiles, shares, rates and values at the end of a
/// phase may not; for the metrics of adapters and plans this is unknown.
pub fn adds_up(name: &str) -> bool {
    matches!(
        name,
        "durable"
            | "returned"
            | "cpu"
            | "cpu_kernel"
            | "device_read"
            | "device_written"
            | "device_reads"
            | "device_writes"
            | "device_flushes"
            | "device_busy"
            | "medium_written"
            | "erases"
            | "seeks"
            | "background"
            | "background_requests"
            | "background_bytes"
    )
}

/// Whether a metric is about CPU time, including those of adapters (`bonnie_rewrite_cpu`).
pub fn is_of_cpu(name: &str) -> bool {
    name.split('_').any(|word| word == "cpu")
}

/// The description of an adapter's metric. A metric of one group of fio's jobs (`fio_read_iops@NAME`), or of one kind
/// of operation in a mixed benchmark of `db_bench` (`db_bench_readrandomwriterandom_latency_p99@read`), has the
/// description of the metric without the group.
pub fn adapter_metric(name: &str) -> Option<&'static MetricInfo> {
    let name = match name.split_once('@') {
        Some((of_group, group))
            if (name.starts_with("fio_") || name.starts_with("db_bench_")) && !group.is_empty() =>
        {
            of_group
        }
        _ => name,
    };
    super::adapter_file_metrics().iter().flatten().find(|known| known.name == name)
}

/// Reads the name of a metric. A journal repeats built-in names hundreds of thousands of times, so they are not copied.
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

/// Which direction of a metric is better: from the plan, else from the list of known metrics, else from the unit.
pub fn better_of(name: &str, unit: Unit, stated: Option<Better>) -> Better {
    if let Some(stated) = stated {
        return stated;
    }
    match (metric(name).or_else(|| adapter_metric(name)), unit) {
        (Some(known), _) => known.better,
        (None, Unit::BytesPerSecond | Unit::PerSecond) => Better::Higher,
        (None, Unit::Seconds | Unit::Bytes) => Better::Lower,
        (None, Unit::Ratio | Unit::Count) => Better::Neither,
    }
}
