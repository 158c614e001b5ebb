//! The metrics of db_bench, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

/// The benchmarks that are read, each with its five metrics.
macro_rules! benchmarks {
    ($($name:literal $flow:ident,)*) => {
        /// Their names, as db_bench has them.
        pub const NAMES: &[&str] = &[$($name),*];

        /// Operations per second, the median, 99th and 99.9th percentile of their latency, and the longest.
        const OF_EACH: &[[MetricInfo; 5]] = &[$([
            MetricInfo::adapter(concat!("db_bench_", $name, "_rate"), Unit::PerSecond, Better::Higher, Flow::$flow,
                concat!("db_bench: operations per second of ", $name)),
            MetricInfo::adapter(concat!("db_bench_", $name, "_latency_p50"), Unit::Seconds, Better::Lower, Flow::$flow,
                concat!("db_bench: median latency of ", $name)),
            MetricInfo::adapter(concat!("db_bench_", $name, "_latency_p99"), Unit::Seconds, Better::Lower, Flow::$flow,
                concat!("db_bench: 99th percentile of the latency of ", $name)),
            MetricInfo::adapter(concat!("db_bench_", $name, "_latency_p999"), Unit::Seconds, Better::Lower, Flow::$flow,
                concat!("db_bench: 99.9th percentile of the latency of ", $name)),
            MetricInfo::adapter(concat!("db_bench_", $name, "_latency_max"), Unit::Seconds, Better::Lower, Flow::$flow,
                concat!("db_bench: longest latency of ", $name)),
        ]),*];

        const COUNT: usize = [$($name),*].len();
    };
}

benchmarks! {
    "fillseq" Writes,
    "fillrandom" Writes,
    "fillsync" Writes,
    "fill100K" Writes,
    "filluniquerandom" Writes,
    "overwrite" Writes,
    "updaterandom" Neither,
    "appendrandom" Neither,
    "mergerandom" Writes,
    "deleteseq" Writes,
    "deleterandom" Writes,
    "readseq" Reads,
    "readreverse" Reads,
    "readrandom" Reads,
    "readhot" Reads,
    "readmissing" Reads,
    "multireadrandom" Reads,
    "seekrandom" Reads,
    "readwhilewriting" Reads,
    "seekrandomwhilewriting" Reads,
    "readrandomwriterandom" Neither,
}

/// The metrics of the benchmark of this name.
pub fn benchmark_metrics(name: &str) -> Option<&'static [MetricInfo; 5]> {
    OF_EACH.get(NAMES.iter().position(|known| *known == name)?)
}

pub const METRICS: &[MetricInfo] = &{
    let mut all = [OF_EACH[0][0]; 5 * COUNT];
    let mut at = 0;
    while at < all.len() {
        all[at] = OF_EACH[at / 5][at % 5];
        at += 1;
    }
    all
};
