//! The metrics of pgbench, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

const fn latency(name: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::Seconds, Better::Lower, Flow::Neither, meaning)
}

const fn rate(name: &'static str, meaning: &'static str) -> MetricInfo {
    MetricInfo::adapter(name, Unit::PerSecond, Better::Higher, Flow::Neither, meaning)
}

pub const TPS: MetricInfo =
    rate("pgbench_tps", "pgbench: transactions per second, without the time to connect");
pub const SLOWEST: MetricInfo = rate("pgbench_slowest_second", "pgbench: transactions in the slowest second");
pub const MEAN: MetricInfo = latency("pgbench_latency_mean", "pgbench: mean time of a transaction");
pub const P50: MetricInfo = latency("pgbench_latency_p50", "pgbench: median time of a transaction");
pub const P95: MetricInfo =
    latency("pgbench_latency_p95", "pgbench: 95th percentile of the time of a transaction");
pub const P99: MetricInfo =
    latency("pgbench_latency_p99", "pgbench: 99th percentile of the time of a transaction");
pub const P999: MetricInfo =
    latency("pgbench_latency_p999", "pgbench: 99.9th percentile of the time of a transaction");
pub const MAX: MetricInfo = latency("pgbench_latency_max", "pgbench: longest time of a transaction");

pub const METRICS: &[MetricInfo] = &[TPS, SLOWEST, MEAN, P50, P95, P99, P999, MAX];
