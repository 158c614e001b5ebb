//! The metrics of dbench, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn rate(name: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::BytesPerSecond, Better::Higher, Flow::Neither, meaning)
}

/// The mean and the longest latency of a call.
macro_rules! call {
    ($name:literal, $doing:literal) => {
        [
            MetricInfo::adapter(
                concat!("dbench_", $name, "_latency_mean"),
                Unit::Seconds,
                Better::Lower,
                Flow::Neither,
                concat!("dbench: mean latency of ", $doing),
            ),
            MetricInfo::adapter(
                concat!("dbench_", $name, "_latency_max"),
                Unit::Seconds,
                Better::Lower,
                Flow::Neither,
                concat!("dbench: longest latency of ", $doing),
            ),
        ]
    };
}

pub const THROUGHPUT: MetricInfo =
    rate("dbench_throughput", "dbench: bytes per second that its clients read and wrote");
pub const SLOWEST: MetricInfo = rate("dbench_slowest_second", "dbench: the same in the slowest second");
pub const LATENCY_MAX: MetricInfo = MetricInfo::adapter(
    "dbench_latency_max",
    Unit::Seconds,
    Better::Lower,
    Flow::Neither,
    "dbench: longest latency of any call",
);

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

pub const METRICS: &[MetricInfo] = &{
    let mut all = [THROUGHPUT; 19];
    all[1] = SLOWEST;
    all[2] = LATENCY_MAX;
    let mut at = 0;
    while at < CALLS.len() {
        all[3 + 2 * at] = CALLS[at][0];
        all[4 + 2 * at] = CALLS[at][1];
        at += 1;
    }
    all
};
