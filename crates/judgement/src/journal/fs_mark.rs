//! The metrics of fs_mark, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn rate(name: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::PerSecond, Better::Higher, Flow::Neither, meaning)
}

/// The mean and the longest time of a call.
macro_rules! call {
    ($name:literal, $doing:literal) => {
        [
            MetricInfo::adapter(
                concat!("fs_mark_", $name, "_mean"),
                Unit::Seconds,
                Better::Lower,
                Flow::Neither,
                concat!("fs_mark: mean time of ", $doing),
            ),
            MetricInfo::adapter(
                concat!("fs_mark_", $name, "_max"),
                Unit::Seconds,
                Better::Lower,
                Flow::Neither,
                concat!("fs_mark: longest time of ", $doing),
            ),
        ]
    };
}

pub const RATE: MetricInfo =
    rate("fs_mark_rate", "fs_mark: files per second, made and written as its -S says");
pub const SLOWEST: MetricInfo = rate("fs_mark_slowest", "fs_mark: files per second in the slowest iteration");

/// In the order of the output.
pub const CALLS: [[MetricInfo; 2]; 6] = [
    call!("create", "creating a file"),
    call!("write", "writing to a file"),
    call!("fsync", "syncing a file"),
    call!("sync", "syncing everything"),
    call!("close", "closing a file"),
    call!("unlink", "removing a file"),
];

pub const METRICS: &[MetricInfo] = &{
    let mut all = [RATE; 14];
    all[1] = SLOWEST;
    let mut at = 0;
    while at < CALLS.len() {
        all[2 + 2 * at] = CALLS[at][0];
        all[3 + 2 * at] = CALLS[at][1];
        at += 1;
    }
    all
};
