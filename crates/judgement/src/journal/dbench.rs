//! The metrics of dbench, as a journal names them.

use super::{MetricInfo, Unit};

/// The mean and the longest latency of a call.
macro_rules! call {
    ($name:literal, $doing:literal) => {
        [
            MetricInfo::adapter_time(
                concat!("dbench_", $name, "_latency_mean"),
                concat!("dbench: mean latency of ", $doing),
            ),
            MetricInfo::adapter_time(
                concat!("dbench_", $name, "_latency_max"),
                concat!("dbench: longest latency of ", $doing),
            ),
        ]
    };
}

pub const THROUGHPUT: MetricInfo = MetricInfo::adapter_rate(
    "dbench_throughput",
    Unit::BytesPerSecond,
    "dbench: bytes per second that its clients read and wrote",
);
pub const SLOWEST: MetricInfo = MetricInfo::adapter_rate(
    "dbench_slowest_second",
    Unit::BytesPerSecond,
    "dbench: the same in the slowest second",
);
pub const LATENCY_MAX: MetricInfo =
    MetricInfo::adapter_time("dbench_latency_max", "dbench: longest latency of any call");

/// In the order in which the adapter names them.
pub const CALLS: [[MetricInfo; 2]; 8] = [
    call!("open", "opening or creating a file (NTCreateX)"),
    call!("read", "reading (ReadX)"),
    call!("write", "writing (WriteX)"),
    call!("flush", "syncing (Flush)"),
    call!("rename", "renaming a file"),
    call!("unlink", "removing a file"),
    call!("list", "listing a folder (Find)"),
    call!("stat", "looking at a file by its path (Qpathinfo)"),
];

pub const METRICS: &[MetricInfo] = &MetricInfo::with_calls::<19>(&[THROUGHPUT, SLOWEST, LATENCY_MAX], &CALLS);
