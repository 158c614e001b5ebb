//! The metrics of fs_mark, as a journal names them.

use super::{MetricInfo, Unit};

/// The mean and the longest time of a call.
macro_rules! call {
    ($name:literal, $doing:literal) => {
        [
            MetricInfo::adapter_time(
                concat!("fs_mark_", $name, "_mean"),
                concat!("fs_mark: mean time of ", $doing),
            ),
            MetricInfo::adapter_time(
                concat!("fs_mark_", $name, "_max"),
                concat!("fs_mark: longest time of ", $doing),
            ),
        ]
    };
}

pub const RATE: MetricInfo = MetricInfo::adapter_rate(
    "fs_mark_rate",
    Unit::PerSecond,
    "fs_mark: files per second, made and written as its -S says",
);
pub const SLOWEST: MetricInfo = MetricInfo::adapter_rate(
    "fs_mark_slowest",
    Unit::PerSecond,
    "fs_mark: files per second in the slowest iteration",
);

/// In the order of the output.
pub const CALLS: [[MetricInfo; 2]; 6] = [
    call!("create", "creating a file"),
    call!("write", "writing to a file"),
    call!("fsync", "syncing a file"),
    call!("sync", "syncing everything"),
    call!("close", "closing a file"),
    call!("unlink", "removing a file"),
];

pub const METRICS: &[MetricInfo] = &MetricInfo::with_calls::<14>(&[RATE, SLOWEST], &CALLS);
