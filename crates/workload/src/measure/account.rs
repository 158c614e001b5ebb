//! From counters before and after a phase to its measurements: arithmetic only, nothing is read here.

use std::time::Duration;

use fsverdict_judgement::journal::{FINEST_TIME, Histogram, Measurement, Unit, WorkCourse};

use super::dirty::DirtyPeak;
use super::latency::percentiles;
use super::sample::{DeviceCounters, Sample};
use super::space::Space;

/// The work of a phase in its user's units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkDone {
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub files: u64,
    /// Bytes of the files that the filesystem then held, where the phase is about that.
    pub held: Option<u64>,
    pub histograms: Vec<Histogram>,
    /// How much was done from moment to moment, where it was counted.
    pub course: Option<WorkCourse>,
    /// The call that represents the operation's latency; `None` gives no percentiles.
    pub main_call: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AccountReadings {
    /// The start of the phase on the kernel's monotonic clock.
    pub(super) began: Duration,
    /// Wall time until the work returned.
    pub(super) returned: Duration,
    /// Wall time until it was durable.
    pub(super) durable: Duration,
    /// Counters before the phase …
    pub(super) before: Sample,
    /// … and when it was durable.
    pub(super) after: Sample,
    /// CPU time of this process and its children until the work returned, as the meter read it.
    pub(super) own_cpu: Duration,
    /// CPU seconds per wall second the machine uses without the phase.
    pub(super) idle_load: f64,
    pub(super) dirty: DirtyPeak,
    /// The phase's effect on the filesystem's space; `None` if none is mounted.
    pub(super) space: Option<Space>,
    /// The number of kernel clock ticks per second.
    pub(super) ticks_per_second: u64,
}

/// Computes the measurements of a phase, in the order of [`METRICS`](fsverdict_judgement::journal::METRICS). Unknown
/// values are left out, never reported as zero.
pub(super) fn compute_measurements(readings: &AccountReadings, work: &WorkDone) -> Vec<Measurement> {
    let mut list = MeasurementList(Vec::with_capacity(28));
    let durable = readings.durable.as_secs_f64();
    list.push_seconds("durable", readings.durable);
    list.push_seconds("returned", readings.returned);
    push_cpu(&mut list, readings);
    if let Some((before, after)) = readings.before.device.zip(readings.after.device) {
        push_device(&mut list, &before, &after, work.bytes_written);
    }
    let logical = work.bytes_read + work.bytes_written;
    if logical > 0 {
        list.push("logical_bytes", Unit::Bytes, to_float(logical));
    }
    if work.files > 0 {
        list.push("files", Unit::Count, to_float(work.files));
    }
    if logical > 0 && durable > 0.0 {
        list.push("throughput", Unit::BytesPerSecond, to_float(logical) / durable);
    }
    if work.files > 0 && durable > 0.0 {
        list.push("file_rate", Unit::PerSecond, to_float(work.files) / durable);
    }
    if let Some(held) = work.held {
        list.push("held", Unit::Bytes, to_float(held));
    }
    if let Some(space) = readings.space {
        list.push("space_grown", Unit::Bytes, to_float(space.grown));
        list.push("space_lost", Unit::Bytes, to_float(space.lost));
    }
    list.push("dirty_peak", Unit::Bytes, to_float(readings.dirty.bytes));
    if let Some((before, after)) = readings.before.stalled.zip(readings.after.stalled) {
        list.push_seconds("io_pressure", after.saturating_sub(before));
    }
    push_latencies(&mut list, work);
    list.push_seconds("began", readings.began);
    list.0
}

fn push_cpu(list: &mut MeasurementList, readings: &AccountReadings) {
    list.push_seconds("cpu", readings.own_cpu);
    let seconds = |before: u64, after: u64| {
        to_float(after.saturating_sub(before)) / to_float(readings.ticks_per_second)
    };
    let machine = seconds(readings.before.cpu.busy_ticks(), readings.after.cpu.busy_ticks());
    let explained = readings.idle_load * readings.durable.as_secs_f64()
        + readings.own_cpu.as_secs_f64()
        + readings.dirty.cpu.as_secs_f64();
    // The machine's time is sampled in ticks, the tool's is exact: in short phases the difference may be negative, or a
    // rounding error.
    let beyond = Some(machine - explained).filter(|seconds| *seconds >= FINEST_TIME).unwrap_or(0.0);
    list.push("cpu_kernel", Unit::Seconds, beyond);
    list.push("cpu_stolen", Unit::Seconds, seconds(readings.before.cpu.steal, readings.after.cpu.steal));
}

fn push_device(
    list: &mut MeasurementList,
    before: &DeviceCounters,
    after: &DeviceCounters,
    logical_written: u64,
) {
    let written = after.bytes_written.saturating_sub(before.bytes_written);
    list.push("device_read", Unit::Bytes, to_float(after.bytes_read.saturating_sub(before.bytes_read)));
    list.push("device_written", Unit::Bytes, to_float(written));
    list.push("device_reads", Unit::Count, to_float(after.reads.saturating_sub(before.reads)));
    list.push("device_writes", Unit::Count, to_float(after.writes.saturating_sub(before.writes)));
    if let Some((before, after)) = before.flushes.zip(after.flushes) {
        list.push("device_flushes", Unit::Count, to_float(after.saturating_sub(before)));
    }
    if let Some((before, after)) = before.bytes_discarded.zip(after.bytes_discarded) {
        list.push("device_discarded", Unit::Bytes, to_float(after.saturating_sub(before)));
    }
    list.push_seconds("device_busy", after.busy.saturating_sub(before.busy));
    if logical_written > 0 {
        list.push("write_amplification", Unit::Ratio, to_float(written) / to_float(logical_written));
    }
}

fn push_latencies(list: &mut MeasurementList, work: &WorkDone) {
    let Some(main) = &work.main_call else { return };
    let histogram = work.histograms.iter().find(|histogram| &histogram.call == main);
    let Some(found) = histogram.and_then(percentiles) else { return };
    for (metric, nanoseconds) in [
        ("latency_p50", found.p50),
        ("latency_p95", found.p95),
        ("latency_p99", found.p99),
        ("latency_p999", found.p999),
        ("latency_max", found.max),
    ] {
        list.push_seconds(metric, Duration::from_nanos(nanoseconds));
    }
    if let Some(rate) = work.course.as_ref().and_then(WorkCourse::slowest_second) {
        list.push("slowest_second", Unit::PerSecond, rate);
    }
}

struct MeasurementList(Vec<Measurement>);

impl MeasurementList {
    fn push(&mut self, metric: &'static str, unit: Unit, value: f64) {
        self.0.push(Measurement::new(metric, unit, value));
    }

    fn push_seconds(&mut self, metric: &'static str, value: Duration) {
        self.push(metric, Unit::Seconds, value.as_secs_f64());
    }
}

/// The conversion is exact up to 2⁵³: nine petabytes in bytes.
fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AccountReadings, WorkDone, compute_measurements};
    use crate::measure::dirty::DirtyPeak;
    use crate::measure::sample::{DeviceCounters, Sample};
    use crate::measure::space::Space;
    use fsverdict_judgement::journal::{Histogram, Measurement, metric};
    use fsverdict_linux::host::procfs::CpuTimes;

    fn readings() -> AccountReadings {
        let before = Sample {
            cpu: CpuTimes { user: 1000, system: 500, idle: 9000, steal: 3, ..CpuTimes::default() },
            device: Some(DeviceCounters {
                reads: 10,
                bytes_read: 4096,
                writes: 20,
                bytes_written: 8192,
                flushes: Some(1),
                bytes_discarded: Some(0),
                busy: Duration::from_millis(100),
            }),
            stalled: Some(Duration::from_millis(5)),
        };
        let after = Sample {
            cpu: CpuTimes { user: 1100, system: 650, idle: 9500, steal: 8, ..CpuTimes::default() },
            device: Some(DeviceCounters {
                reads: 14,
                bytes_read: 4096 + 1000,
                writes: 220,
                bytes_written: 8192 + 3_000_000,
                flushes: Some(8),
                bytes_discarded: Some(512),
                busy: Duration::from_millis(1600),
            }),
            stalled: Some(Duration::from_millis(1005)),
        };
        AccountReadings {
            began: Duration::from_secs(9),
            returned: Duration::from_secs(1),
            durable: Duration::from_secs(4),
            before,
            after,
            own_cpu: Duration::from_millis(700),
            idle_load: 0.1,
            dirty: DirtyPeak { bytes: 5 << 20, course: Vec::new(), cpu: Duration::from_millis(100) },
            space: Some(Space { grown: 77, lost: 99 }),
            ticks_per_second: 100,
        }
    }

    fn value(list: &[Measurement], name: &str) -> Option<f64> {
        list.iter().find(|measurement| measurement.metric == name).map(|measurement| measurement.value)
    }

    fn near(list: &[Measurement], name: &str, expected: f64) {
        let found = value(list, name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{name}: {found}, not {expected}");
    }

    #[test]
    fn accounts_for_everything() {
        let work = WorkDone {
            bytes_written: 2_000_000,
            files: 100,
            histograms: vec![
                Histogram { call: "write".to_owned(), buckets: vec![(9, 1)] },
                Histogram { call: "create".to_owned(), buckets: vec![(1000, 98), (2_000_000, 2)] },
            ],
            main_call: Some("create".to_owned()),
            ..WorkDone::default()
        };
        let list = compute_measurements(&readings(), &work);
        near(&list, "returned", 1.0);
        near(&list, "durable", 4.0);
        near(&list, "cpu", 0.7);
        // 2.5 s of the machine − 0.1 × 4 s idle − 0.7 s tool − 0.1 s watching.
        near(&list, "cpu_kernel", 1.3);
        near(&list, "cpu_stolen", 0.05);
        near(&list, "device_read", 1000.0);
        near(&list, "device_written", 3_000_000.0);
        near(&list, "device_reads", 4.0);
        near(&list, "device_writes", 200.0);
        near(&list, "device_flushes", 7.0);
        near(&list, "device_discarded", 512.0);
        near(&list, "device_busy", 1.5);
        near(&list, "write_amplification", 1.5);
        near(&list, "logical_bytes", 2_000_000.0);
        near(&list, "files", 100.0);
        near(&list, "throughput", 500_000.0);
        near(&list, "file_rate", 25.0);
        near(&list, "space_grown", 77.0);
        near(&list, "space_lost", 99.0);
        near(&list, "dirty_peak", 5.0 * 1024.0 * 1024.0);
        near(&list, "io_pressure", 1.0);
        near(&list, "latency_p50", 1e-6);
        near(&list, "latency_p95", 1e-6);
        near(&list, "latency_p99", 2e-3);
        near(&list, "latency_p999", 2e-3);
        near(&list, "latency_max", 2e-3);
        for one in &list {
            let known = metric(&one.metric).unwrap_or_else(|| panic!("{} is not in METRICS", one.metric));
            assert_eq!(known.unit, one.unit, "{}", one.metric);
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut poor = readings();
        poor.before.device = None;
        poor.before.stalled = None;
        poor.space = None;
        let list = compute_measurements(&poor, &WorkDone::default());
        let names: Vec<_> = list.iter().map(|measurement| &*measurement.metric).collect();
        assert_eq!(names, ["durable", "returned", "cpu", "cpu_kernel", "cpu_stolen", "dirty_peak", "began"]);
        let mut old = readings();
        if let Some(device) = &mut old.after.device {
            device.flushes = None;
            device.bytes_discarded = None;
        }
        let list = compute_measurements(&old, &WorkDone { bytes_read: 8, ..WorkDone::default() });
        assert_eq!(value(&list, "device_flushes"), None);
        assert_eq!(value(&list, "device_discarded"), None);
        assert_eq!(value(&list, "write_amplification"), None, "nothing was written");
        near(&list, "throughput", 2.0);
    }

    #[test]
    fn the_kernel_s_share_is_never_below_nothing() {
        let busy = AccountReadings { own_cpu: Duration::from_secs(5), ..readings() };
        near(&compute_measurements(&busy, &WorkDone::default()), "cpu_kernel", 0.0);
    }

    #[test]
    fn a_phase_of_no_time_has_no_rates() {
        let mut instant = readings();
        instant.durable = Duration::ZERO;
        let work = WorkDone { bytes_read: 1, files: 1, ..WorkDone::default() };
        let list = compute_measurements(&instant, &work);
        assert_eq!((value(&list, "throughput"), value(&list, "file_rate")), (None, None));
        assert!(list.iter().all(|measurement| measurement.value.is_finite()));
    }
}
