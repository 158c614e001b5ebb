//! The metrics of pgbench, as a journal names them.

use super::{MetricInfo, Unit};

pub const TPS: MetricInfo = MetricInfo::adapter_rate(
    "pgbench_tps",
    Unit::PerSecond,
    "pgbench: transactions per second, without the time to connect",
);
pub const SLOWEST: MetricInfo = MetricInfo::adapter_rate(
    "pgbench_slowest_second",
    Unit::PerSecond,
    "pgbench: transactions in the slowest second",
);
pub const MEAN: MetricInfo =
    MetricInfo::adapter_time("pgbench_latency_mean", "pgbench: mean time of a transaction");
pub const P50: MetricInfo =
    MetricInfo::adapter_time("pgbench_latency_p50", "pgbench: median time of a transaction");
pub const P95: MetricInfo =
    MetricInfo::adapter_time("pgbench_latency_p95", "pgbench: 95th percentile of the time of a transaction");
pub const P99: MetricInfo =
    MetricInfo::adapter_time("pgbench_latency_p99", "pgbench: 99th percentile of the time of a transaction");
pub const P999: MetricInfo = MetricInfo::adapter_time(
    "pgbench_latency_p999",
    "pgbench: 99.9th percentile of the time of a transaction",
);
pub const MAX: MetricInfo =
    MetricInfo::adapter_time("pgbench_latency_max", "pgbench: longest time of a transaction");

pub const METRICS: &[MetricInfo] = &[TPS, SLOWEST, MEAN, P50, P95, P99, P999, MAX];
