//! The metrics of fio, as a journal names them.

use super::{Better, MetricInfo, Unit};
use crate::plan::Flow;

macro_rules! direction {
    ($name:literal, $flow:ident, $doing:literal) => {
        direction!($name, $flow, $doing;
            "bandwidth" BytesPerSecond "bytes per second",
            "iops" PerSecond "requests per second",
            "latency_mean" Seconds "mean latency",
            "latency_p50" Seconds "median latency",
            "latency_p95" Seconds "95th percentile of the latency",
            "latency_p99" Seconds "99th percentile of the latency",
            "latency_p999" Seconds "99.9th percentile of the latency",
            "latency_max" Seconds "longest latency")
    };
    ($name:literal, $flow:ident, $doing:literal; $($what:literal $unit:ident $meaning:literal),*) => {
        [$(fio_metric(
            concat!("fio_", $name, "_", $what),
            Unit::$unit,
            Flow::$flow,
            concat!("fio: ", $meaning, ", ", $doing),
        )),*]
    };
}

const fn fio_metric(name: &'static str, unit: Unit, flow: Flow, meaning: &'static str) -> MetricInfo {
    let better = if matches!(unit, Unit::Seconds | Unit::Ratio) { Better::Lower } else { Better::Higher };
    MetricInfo::adapter(name, unit, better, flow, meaning)
}

pub const READ: [MetricInfo; 8] = direction!("read", Reads, "reading");
pub const WRITE: [MetricInfo; 8] = direction!("write", Writes, "writing");
pub const TRIM: [MetricInfo; 8] = direction!("trim", Neither, "discarding");
pub const SYNC: [MetricInfo; 8] = direction!("sync", Neither, "syncing");
/// Of reads, writes and discards as one, where fio reports them so (unified_rw_reporting).
pub const MIXED: [MetricInfo; 8] =
    direction!("mixed", Neither, "reading, writing and discarding taken as one");
pub const USER: MetricInfo =
    fio_metric("fio_cpu_user", Unit::Ratio, Flow::Neither, "fio: share of a CPU its jobs used in user mode");
pub const SYSTEM: MetricInfo = fio_metric(
    "fio_cpu_system",
    Unit::Ratio,
    Flow::Neither,
    "fio: share of a CPU its jobs used in the kernel",
);

pub const SLOWEST: MetricInfo = fio_metric(
    "fio_slowest_second",
    Unit::BytesPerSecond,
    Flow::Neither,
    "fio: bytes per second in the slowest second, read and written",
);

pub const METRICS: &[MetricInfo] = &{
    let mut all = [SLOWEST; 42];
    all[33] = USER;
    let mut at = 0;
    while at < 8 {
        // The first place is left to the slowest second.
        all[at + 1] = READ[at];
        all[9 + at] = WRITE[at];
        all[17 + at] = TRIM[at];
        // A sync has no bytes, so its bandwidth (the first of eight) is left out; the last place is the system's CPU.
        all[25 + at] = if at < 7 { SYNC[at + 1] } else { SYSTEM };
        all[34 + at] = MIXED[at];
        at += 1;
    }
    all
};
