//! fio: bandwidth, requests per second, latencies and CPU of one group of jobs, from its JSON.

use std::collections::BTreeMap;

use serde::Deserialize;

use fsverdict_judgement::journal::{Measurement, MetricInfo, fio};

use super::{Adapter, AdapterProblem, Reading};

pub(super) struct Fio;

/// Percentiles by the names fio gives them, with the place of their metric.
const PERCENTILES: [(&str, usize); 4] =
    [("50.000000", 3), ("95.000000", 4), ("99.000000", 5), ("99.900000", 6)];

#[derive(Deserialize)]
struct Output {
    jobs: Vec<FioJob>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
    error: i64,
    usr_cpu: f64,
    sys_cpu: f64,
    read: Direction,
    write: Direction,
    trim: Direction,
    #[serde(default)]
    sync: Option<Sync>,
}

#[derive(Deserialize)]
struct Direction {
    io_bytes: u64,
    bw_bytes: f64,
    iops: f64,
    total_ios: u64,
    lat_ns: FioLatency,
    clat_ns: FioLatency,
}

#[derive(Deserialize)]
struct Sync {
    #[serde(default)]
    total_ios: u64,
    lat_ns: FioLatency,
}

#[derive(Deserialize)]
struct FioLatency {
    max: f64,
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl Adapter for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn summary(&self) -> &'static str {
        "fio 3: bandwidth, requests per second, latencies and CPU of one group of jobs (options, or a job file)"
    }

    fn program(&self) -> &'static str {
        "fio"
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        fio::METRICS
    }

    fn line(&self, options: &str) -> String {
        // Options before the first job hold for all of them. The processor's own clock (TSC), fio's default, goes on by the
        // machine's time where the kernel's is simulated: a USB disk then wrote 10 GB/s.
        format!("exec fio --output-format=json --clocksource=clock_gettime --directory=\"$FOLDER\" --group_reporting {options}")
            .trim_end()
            .to_owned()
    }

    fn hint(&self, said: &str) -> Option<String> {
        let about = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if about(&["unable to open"]) {
            return Some("a job file is named by its absolute path".to_owned());
        }
        about(&["unrecognized option", "failed parsing", "Bad option", "bad option"]).then(|| {
            "`fio --cmdhelp` lists its options, and `fio --cmdhelp=rw` what one of them takes".to_owned()
        })
    }

    fn understand(&self, output: &str) -> Result<Reading, AdapterProblem> {
        read(output)
    }
}

fn read(output: &str) -> Result<Reading, AdapterProblem> {
    let hint = "fio 3 is known; try its options by hand, with --output-format=json";
    // fio may say something before its JSON, on the same stream.
    let start = output
        .match_indices('{')
        .map(|(at, _)| at)
        .find(|at| *at == 0 || output.as_bytes()[at - 1] == b'\n')
        .ok_or_else(|| ("there is no JSON in it".to_owned(), hint))?;
    let output = Output::deserialize(&mut serde_json::Deserializer::from_str(&output[start..]))
        .map_err(|error| (error.to_string(), hint))?;
    let [job] = output.jobs.as_slice() else {
        let hint = "leave out stonewall and new_group, and make each other group a phase of its own";
        let names: Vec<String> = output.jobs.iter().map(|job| format!("`{}`", job.jobname)).collect();
        let what =
            format!("it reports {} groups of jobs ({}), and a phase is one", names.len(), names.join(", "));
        return Err((what, hint));
    };
    if job.error != 0 {
        let hint = "try its options by hand";
        return Err((format!("the job `{}` ended with error {}", job.jobname, job.error), hint));
    }
    let mut measurements = Vec::new();
    for (direction, metrics) in [(&job.read, &fio::READ), (&job.write, &fio::WRITE), (&job.trim, &fio::TRIM)]
    {
        if direction.total_ios > 0 {
            add(&mut measurements, &metrics[0], direction.bw_bytes);
            add(&mut measurements, &metrics[1], direction.iops);
            add_latency(&mut measurements, metrics, &direction.lat_ns, &direction.clat_ns);
        }
    }
    if let Some(sync) = job.sync.as_ref().filter(|sync| sync.total_ios > 0) {
        add_latency(&mut measurements, &fio::SYNC, &sync.lat_ns, &sync.lat_ns);
    }
    if measurements.is_empty() {
        return Err(("no job read, wrote or discarded anything".to_owned(), hint));
    }
    add(&mut measurements, &fio::USER, job.usr_cpu / 100.0);
    add(&mut measurements, &fio::SYSTEM, job.sys_cpu / 100.0);
    if let Some(odd) = measurements.iter().find(|found| !found.value.is_finite() || found.value < 0.0) {
        return Err((format!("`{}` is {}", odd.metric, odd.value), hint));
    }
    Ok(Reading {
        measurements,
        bytes_read: job.read.io_bytes,
        bytes_written: job.write.io_bytes,
        ..Reading::default()
    })
}

fn add(measurements: &mut Vec<Measurement>, metric: &MetricInfo, value: f64) {
    measurements.push(Measurement::new(metric.name, metric.unit, value));
}

/// Mean and longest of the whole latency; percentiles where fio was let count them, usually of completion alone.
fn add_latency(
    measurements: &mut Vec<Measurement>,
    metrics: &[MetricInfo; 8],
    whole: &FioLatency,
    completion: &FioLatency,
) {
    let seconds = |nanoseconds: f64| nanoseconds / 1e9;
    let counted = if completion.percentile.is_empty() { whole } else { completion };
    add(measurements, &metrics[2], seconds(whole.mean));
    for (name, place) in PERCENTILES {
        if let Some(value) = counted.percentile.get(name) {
            add(measurements, &metrics[place], seconds(*value));
        }
    }
    add(measurements, &metrics[7], seconds(whole.max));
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::Fio;
    use fsverdict_judgement::journal::fio::METRICS;

    /// Printed by fio 3.33 with --rw=randrw --bs=4k --size=32M, on a tmpfs.
    const MIXED: &str = include_str!("fixtures/fio-3.33.json");
    /// With --rw=write --numjobs=2 --fsync=8.
    const JOBS: &str = include_str!("fixtures/fio-3.33-two-jobs.json");
    /// A writing job, then after `--stonewall` a reading one.
    const GROUPS: &str = include_str!("fixtures/fio-3.33-two-groups.json");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(METRICS.iter().any(|known| known.name == metric), "{metric}");
        reading.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    #[test]
    fn both_directions_are_read() {
        let reading = Fio.read(MIXED).unwrap();
        assert_eq!(value(&reading, "fio_read_bandwidth"), Some(572_027_586.0));
        assert_eq!(value(&reading, "fio_write_iops"), Some(142_827.586_207));
        assert_eq!(value(&reading, "fio_read_latency_p99"), Some(7328e-9));
        assert_eq!(value(&reading, "fio_write_latency_max"), Some(6_145_596e-9));
        assert_eq!((reading.bytes_read, reading.bytes_written), (16_588_800, 16_965_632));
        assert_eq!(value(&reading, "fio_sync_latency_p99"), None);
    }

    #[test]
    fn jobs_of_one_group_are_one_and_syncs_are_their_own() {
        let reading = Fio.read(JOBS).unwrap();
        assert_eq!(reading.bytes_written, 32 << 20);
        assert!(value(&reading, "fio_sync_latency_p99").unwrap() > 0.0);
        assert_eq!(value(&reading, "fio_read_iops"), None);
        assert!(value(&reading, "fio_cpu_system").unwrap() <= 2.0);
    }

    #[test]
    fn what_fio_says_before_its_json_does_not_matter() {
        let shown = format!("fio: a warning with a {{ in it\n{JOBS}\n");
        assert_eq!(Fio.read(&shown), Fio.read(JOBS));
    }

    #[test]
    fn a_refusal_of_its_own_gets_a_way_out() {
        assert!(Fio.hint("fio: failed parsing rw=randwrit").unwrap().contains("--cmdhelp"));
        assert!(Fio.hint("fio: unable to open '/x.fio' job file").unwrap().contains("absolute path"));
        assert_eq!(Fio.hint("fio: io_u error on file"), None);
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let failed = JOBS.replacen("\"error\" : 0", "\"error\" : 28", 1);
        for (wrong, why) in [
            ("", "no JSON"),
            ("fio: unrecognized option", "no JSON"),
            (&MIXED[..MIXED.len() / 2], "EOF"),
            (GROUPS, "2 groups"),
            (failed.as_str(), "error 28"),
            ("{}", "missing field `jobs`"),
        ] {
            let shown = Fio.read(wrong).unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
            assert!(shown.contains(wrong.trim().get(..1000).unwrap_or(wrong.trim())), "{shown}");
        }
    }
}
