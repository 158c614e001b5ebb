//! fio's JSON output: its jobs in their groups, and the measurements of a group.
//!
//! A number that fio did not measure is absent: a latency of which there is no sample (`gtod_reduce`, `disable_lat`), a rate over no time.
//! fio 3 counts nanoseconds and bytes; fio 2 counts microseconds and KiB, under other names.

use std::collections::BTreeMap;

use serde::Deserialize;

use fsverdict_judgement::journal::Measurement;

use super::measure;

/// Percentiles by the names fio gives them, with the end of their metric's.
const PERCENTILES: [(&str, &str); 4] =
    [("50.000000", "p50"), ("95.000000", "p95"), ("99.000000", "p99"), ("99.900000", "p999")];

#[derive(Debug, Deserialize)]
pub(super) struct FioOutput {
    pub(super) jobs: Vec<FioJob>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FioJob {
    pub(super) jobname: String,
    #[serde(default)]
    groupid: Option<u64>,
    pub(super) error: i64,
    usr_cpu: f64,
    sys_cpu: f64,
    /// Milliseconds.
    #[serde(default)]
    job_runtime: f64,
    /// Absent where reads, writes and discards are reported as one.
    #[serde(default)]
    read: Option<FioDirection>,
    #[serde(default)]
    write: Option<FioDirection>,
    #[serde(default)]
    trim: Option<FioDirection>,
    #[serde(default)]
    mixed: Option<FioDirection>,
    #[serde(default)]
    sync: Option<FioSync>,
}

#[derive(Debug, Deserialize)]
struct FioDirection {
    /// Bytes; KiB in fio 2, which has no `io_kbytes` beside it.
    io_bytes: u64,
    #[serde(default)]
    io_kbytes: Option<u64>,
    #[serde(default)]
    bw_bytes: Option<f64>,
    /// KiB per second.
    #[serde(default)]
    bw: Option<f64>,
    iops: f64,
    #[serde(default)]
    total_ios: u64,
    #[serde(default)]
    lat_ns: Option<FioLatency>,
    #[serde(default)]
    clat_ns: Option<FioLatency>,
    /// Of fio 2, in microseconds.
    #[serde(default)]
    lat: Option<FioLatency>,
    #[serde(default)]
    clat: Option<FioLatency>,
}

#[derive(Debug, Deserialize)]
struct FioSync {
    #[serde(default)]
    lat_ns: Option<FioLatency>,
}

#[derive(Debug, Deserialize)]
struct FioLatency {
    max: f64,
    mean: f64,
    /// Samples. Older versions do not print how many there are.
    #[serde(default, rename = "N")]
    samples: Option<u64>,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl FioLatency {
    /// Whether a latency was measured at all.
    fn is_measured(&self) -> bool {
        self.samples.map_or(self.max > 0.0 || self.mean > 0.0, |samples| samples > 0)
    }
}

/// A latency that was measured, in a unit of which so many are a second.
struct Sampled<'a> {
    latency: &'a FioLatency,
    per_second: f64,
}

impl FioDirection {
    fn is_idle(&self) -> bool {
        self.total_ios == 0 && self.io_bytes == 0
    }

    fn total_bytes(&self) -> u64 {
        let is_old = self.io_kbytes.is_none() && self.bw_bytes.is_none();
        if is_old { self.io_bytes.saturating_mul(1024) } else { self.io_bytes }
    }

    fn bytes_per_second(&self) -> f64 {
        self.bw_bytes.or(self.bw.map(|rate| rate * 1024.0)).unwrap_or(0.0)
    }

    fn whole_latency(&self) -> Option<Sampled<'_>> {
        finer_latency(self.lat_ns.as_ref(), self.lat.as_ref())
    }

    fn completion_latency(&self) -> Option<Sampled<'_>> {
        finer_latency(self.clat_ns.as_ref(), self.clat.as_ref())
    }
}

fn finer_latency<'a>(ns: Option<&'a FioLatency>, us: Option<&'a FioLatency>) -> Option<Sampled<'a>> {
    let latency = ns.map(|latency| Sampled { latency, per_second: 1e9 });
    let latency = latency.or(us.map(|latency| Sampled { latency, per_second: 1e6 }));
    latency.filter(|sampled| sampled.latency.is_measured())
}

impl FioJob {
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.as_ref().map_or(0, FioDirection::total_bytes)
    }

    pub(super) fn bytes_written(&self) -> u64 {
        self.write.as_ref().map_or(0, FioDirection::total_bytes)
    }
}

/// The jobs of each group, in the order in which they come. With group_reporting fio prints one job for a group.
pub(super) fn groups_of(jobs: &[FioJob]) -> Vec<Vec<&FioJob>> {
    let mut groups: Vec<Vec<&FioJob>> = Vec::new();
    for job in jobs {
        let of_same = |group: &&mut Vec<&FioJob>| {
            job.groupid.is_some() && group.first().is_some_and(|first| first.groupid == job.groupid)
        };
        match groups.iter_mut().find(of_same) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

/// The results of a group, and the metrics that it was too fast for.
#[derive(Debug, Default)]
pub(super) struct GroupReading {
    pub(super) measurements: Vec<Measurement>,
    pub(super) too_fast: Vec<String>,
}

/// The results of a job in one direction.
type DirectionOf = fn(&FioJob) -> Option<&FioDirection>;

/// The measurements of jobs that ran at the same time; nothing where they did nothing.
pub(super) fn measure_group(jobs: &[&FioJob]) -> GroupReading {
    let mut reading = GroupReading::default();
    let directions: [(DirectionOf, &str); 4] = [
        (|job| job.read.as_ref(), "fio_read"),
        (|job| job.write.as_ref(), "fio_write"),
        (|job| job.trim.as_ref(), "fio_trim"),
        (|job| job.mixed.as_ref(), "fio_mixed"),
    ];
    for (direction, begin) in directions {
        let active: Vec<&FioDirection> =
            jobs.iter().filter_map(|job| direction(job)).filter(|direction| !direction.is_idle()).collect();
        if active.is_empty() {
            continue;
        }
        let rates: [(&str, f64); 2] = [
            ("bandwidth", active.iter().map(|direction| direction.bytes_per_second()).sum()),
            ("iops", active.iter().map(|direction| direction.iops).sum()),
        ];
        for (end, rate) in rates {
            let metric = format!("{begin}_{end}");
            match rate > 0.0 {
                true => reading.measurements.extend(measure(&metric, rate)),
                false => reading.too_fast.push(metric),
            }
        }
        let whole: Vec<Sampled<'_>> =
            active.iter().filter_map(|direction| direction.whole_latency()).collect();
        let completion: Vec<Sampled<'_>> =
            active.iter().filter_map(|direction| direction.completion_latency()).collect();
        // A mean of some of the jobs is none of the group.
        if whole.len() == active.len() {
            add_mean_and_max(&mut reading.measurements, begin, &whole);
        }
        if let [_] = active[..] {
            let counted =
                completion.iter().chain(&whole).find(|sampled| !sampled.latency.percentile.is_empty());
            add_percentiles(&mut reading.measurements, begin, counted);
        }
    }
    let syncs: Vec<Sampled<'_>> = jobs
        .iter()
        .filter_map(|job| finer_latency(job.sync.as_ref().and_then(|sync| sync.lat_ns.as_ref()), None))
        .collect();
    if !syncs.is_empty() {
        add_mean_and_max(&mut reading.measurements, "fio_sync", &syncs);
        if let [only] = &syncs[..] {
            add_percentiles(&mut reading.measurements, "fio_sync", Some(only));
        }
    }
    if !reading.measurements.is_empty() || !reading.too_fast.is_empty() {
        reading.measurements.extend(measure("fio_cpu_user", mean_cpu(jobs, |job| job.usr_cpu)));
        reading.measurements.extend(measure("fio_cpu_system", mean_cpu(jobs, |job| job.sys_cpu)));
    }
    reading
}

/// The share of a CPU, as fio takes it of a group: over the run time of all of its jobs.
fn mean_cpu(jobs: &[&FioJob], percent: fn(&FioJob) -> f64) -> f64 {
    let total: f64 = jobs.iter().map(|job| job.job_runtime).sum();
    let share = match total > 0.0 {
        true => jobs.iter().map(|job| percent(job) * job.job_runtime).sum::<f64>() / total,
        false => jobs.iter().map(|job| percent(job)).sum::<f64>() / jobs.len().max(1) as f64,
    };
    share / 100.0
}

/// Mean and longest of the whole latency, over the samples of all jobs.
fn add_mean_and_max(measurements: &mut Vec<Measurement>, begin: &str, latencies: &[Sampled<'_>]) {
    let weight = |sampled: &Sampled<'_>| sampled.latency.samples.unwrap_or(1) as f64;
    let total: f64 = latencies.iter().map(weight).sum();
    let sum: f64 =
        latencies.iter().map(|sampled| sampled.latency.mean / sampled.per_second * weight(sampled)).sum();
    let mean = match latencies {
        [only] => only.latency.mean / only.per_second,
        _ => sum / total,
    };
    let max = latencies.iter().map(|sampled| sampled.latency.max / sampled.per_second).fold(0.0, f64::max);
    measurements.extend(measure(&format!("{begin}_latency_mean"), mean));
    measurements.extend(measure(&format!("{begin}_latency_max"), max));
}

/// Percentiles where fio was let count them, usually of completion alone. Those of several jobs cannot be merged.
fn add_percentiles(measurements: &mut Vec<Measurement>, begin: &str, sampled: Option<&Sampled<'_>>) {
    let Some(Sampled { latency, per_second }) = sampled else { return };
    for (name, end) in PERCENTILES {
        if let Some(value) = latency.percentile.get(name) {
            measurements.extend(measure(&format!("{begin}_latency_{end}"), value / per_second));
        }
    }
}
