//! The metrics that the script of the adapter `sqlite` measures, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn rate(name: &'static str, flow: Flow, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::PerSecond, Better::Higher, flow, meaning)
}

/// In the order of the script.
pub const METRICS: &[MetricInfo] = &[
    rate(
        "sqlite_insert",
        Flow::Writes,
        "sqlite3: rows inserted per second, each in a transaction of its own",
    ),
    rate("sqlite_update", Flow::Writes, "sqlite3: rows changed per second, each in a transaction of its own"),
    rate("sqlite_bulk", Flow::Writes, "sqlite3: rows inserted per second, 20 000 in one transaction"),
    rate("sqlite_read", Flow::Reads, "sqlite3: rows read per second, by their keys, which are scattered"),
    rate("sqlite_delete", Flow::Writes, "sqlite3: rows deleted per second, each in a transaction of its own"),
];
