//! The metrics that the script of the adapter `sqlite` measures, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn rate_metric(name: &'static str, flow: Flow, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::PerSecond, Better::Higher, flow, meaning)
}

/// In the order of the script.
pub const METRICS: &[MetricInfo] = &[
    rate_metric(
        "sqlite_insert",
        Flow::Writes,
        "sqlite3: rows inserted per second, each in a transaction of its own",
    ),
    rate_metric(
        "sqlite_update",
        Flow::Writes,
        "sqlite3: rows changed per second, each in a transaction of its own",
    ),
    rate_metric("sqlite_bulk", Flow::Writes, "sqlite3: rows inserted per second, 20 000 in one transaction"),
    rate_metric(
        "sqlite_read",
        Flow::Reads,
        "sqlite3: rows read per second, by their keys, which are scattered",
    ),
    rate_metric(
        "sqlite_delete",
        Flow::Writes,
        "sqlite3: rows deleted per second, each in a transaction of its own",
    ),
];
