//! Tests with fio's JSON of every kind of run: reported values are measured, missing ones are absent.

use serde_json::Value;

use super::adapter_by_name;
use fsverdict_judgement::journal::adapter_metric;

/// Printed by fio 3.33, cut to the values that are read.
const FDATASYNC: &str = include_str!("fixtures/fio-3.33-fdatasync.json");
const STATUS: &str = include_str!("fixtures/fio-3.33-status-interval.json");
const GTOD_REDUCE: &str = include_str!("fixtures/fio-3.33-gtod-reduce.json");
const MIXED: &str = include_str!("fixtures/fio-3.33-mixed.json");
const BOTH: &str = include_str!("fixtures/fio-3.33-both.json");
const UNGROUPED: &str = include_str!("fixtures/fio-3.33-ungrouped.json");
const NAMED: &str = include_str!("fixtures/fio-3.33-named-jobs.json");
const NO_LATENCY: &str = include_str!("fixtures/fio-3.33-disable-lat.json");

/// A hand-written document in the form of fio 2.16: KiB and microseconds.
const OLD: &str = r#"{
  "fio version" : "fio-2.16",
  "jobs" : [ {
    "jobname" : "x", "groupid" : 0, "error" : 0,
    "read" : { "io_bytes" : 0, "bw" : 0, "iops" : 0.00, "runtime" : 0, "total_ios" : 0,
      "clat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00, "percentile" : { "50.000000" : 0 } },
      "lat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00 } },
    "write" : { "io_bytes" : 4096, "bw" : 2048, "iops" : 512.00, "runtime" : 2000, "total_ios" : 1024,
      "clat" : { "min" : 2, "max" : 900, "mean" : 12.50, "stddev" : 1.00, "percentile" : { "50.000000" : 11, "99.000000" : 80 } },
      "lat" : { "min" : 2, "max" : 901, "mean" : 13.50, "stddev" : 1.00 } },
    "trim" : { "io_bytes" : 0, "bw" : 0, "iops" : 0.00, "runtime" : 0, "total_ios" : 0,
      "clat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00 },
      "lat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00 } },
    "usr_cpu" : 1.00, "sys_cpu" : 2.00 } ]
}"#;

/// A metric, where its number stands in the last document, and by how much it is multiplied.
type Expected = (&'static str, &'static str, f64);

struct FioMember {
    name: &'static str,
    text: &'static str,
    expected: &'static [Expected],
    /// Parts of names of metrics that must not be there.
    absent: &'static [&'static str],
    written: u64,
}

const NS: f64 = 1e-9;

const MEMBERS: &[FioMember] = &[
    FioMember {
        name: "fdatasync, which fio 3.33 does not count in total_ios",
        text: FDATASYNC,
        expected: &[
            ("fio_sync_latency_mean", "/jobs/0/sync/lat_ns/mean", NS),
            ("fio_sync_latency_p50", "/jobs/0/sync/lat_ns/percentile/50.000000", NS),
            ("fio_sync_latency_p99", "/jobs/0/sync/lat_ns/percentile/99.000000", NS),
            ("fio_sync_latency_max", "/jobs/0/sync/lat_ns/max", NS),
            ("fio_write_iops", "/jobs/0/write/iops", 1.0),
        ],
        absent: &["read", "trim", "mixed"],
        written: 128 << 10,
    },
    FioMember {
        name: "several documents, of which the last is the whole",
        text: STATUS,
        expected: &[
            ("fio_write_bandwidth", "/jobs/0/write/bw_bytes", 1.0),
            ("fio_write_latency_mean", "/jobs/0/write/lat_ns/mean", NS),
            ("fio_write_latency_p99", "/jobs/0/write/clat_ns/percentile/99.000000", NS),
        ],
        absent: &["read", "sync"],
        written: 3 << 20,
    },
    FioMember {
        name: "no clock was read",
        text: GTOD_REDUCE,
        expected: &[
            ("fio_read_bandwidth", "/jobs/0/read/bw_bytes", 1.0),
            ("fio_write_iops", "/jobs/0/write/iops", 1.0),
        ],
        absent: &["latency"],
        written: 0,
    },
    FioMember {
        name: "reads and writes as one",
        text: MIXED,
        expected: &[
            ("fio_mixed_bandwidth", "/jobs/0/mixed/bw_bytes", 1.0),
            ("fio_mixed_iops", "/jobs/0/mixed/iops", 1.0),
            ("fio_mixed_latency_mean", "/jobs/0/mixed/lat_ns/mean", NS),
            ("fio_mixed_latency_p99", "/jobs/0/mixed/clat_ns/percentile/99.000000", NS),
        ],
        absent: &["read", "write"],
        written: 0,
    },
    FioMember {
        name: "reads and writes apart and as one",
        text: BOTH,
        expected: &[
            ("fio_mixed_iops", "/jobs/0/mixed/iops", 1.0),
            ("fio_read_iops", "/jobs/0/read/iops", 1.0),
            ("fio_write_iops", "/jobs/0/write/iops", 1.0),
        ],
        absent: &["trim"],
        written: 0,
    },
    FioMember {
        name: "the whole latency was not measured, but that of completion",
        text: NO_LATENCY,
        expected: &[("fio_write_latency_p50", "/jobs/0/write/clat_ns/percentile/50.000000", NS)],
        absent: &["mean", "max"],
        written: 1 << 20,
    },
    FioMember {
        name: "fio 2 counts microseconds and KiB",
        text: OLD,
        expected: &[
            ("fio_write_bandwidth", "/jobs/0/write/bw", 1024.0),
            ("fio_write_latency_mean", "/jobs/0/write/lat/mean", 1e-6),
            ("fio_write_latency_p99", "/jobs/0/write/clat/percentile/99.000000", 1e-6),
        ],
        absent: &["read", "trim", "sync"],
        written: 4 << 20,
    },
];

fn last_document(text: &str) -> Value {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().map(Result::unwrap).last().unwrap()
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 + 1e-9 * other.abs()
}

#[test]
fn what_fio_measured_is_read_and_what_it_did_not_is_absent() {
    for FioMember { name, text, expected, absent, written } in MEMBERS {
        let reading = adapter_by_name("fio")
            .unwrap()
            .read_output(text, "")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let document = last_document(text);
        for (metric, pointer, factor) in *expected {
            let found = reading.measurements.iter().find(|found| found.metric == *metric);
            let found =
                found.unwrap_or_else(|| panic!("{name}: {metric} of {:?}", reading.measurements)).value;
            let said = document.pointer(pointer).and_then(Value::as_f64).unwrap() * factor;
            assert!(said > 0.0 && is_near(found, said), "{name}: {metric} is {found}, not {said}");
        }
        for part in *absent {
            let found = reading.measurements.iter().find(|found| found.metric.contains(part));
            assert_eq!(found, None, "{name}");
        }
        let unknown = reading.measurements.iter().find(|found| adapter_metric(&found.metric).is_none());
        assert_eq!(unknown, None, "{name}");
        if *written > 0 {
            assert_eq!(reading.bytes_written, *written, "{name}");
        }
    }
}

#[test]
fn what_stands_around_the_json_does_not_matter() {
    for before in [
        "Jobs: 1 (f=1): [W(1)][100.0%][w=1025KiB/s][w=256 IOPS][eta 00m:00s] ",
        "x: (g=0): rw=write, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n",
        "fio: a warning with a { in it\n",
        "[1] fio\n{x}\n",
    ] {
        let text = format!("{before}{FDATASYNC}\n\n  write: IOPS=191, BW=382KiB/s {{not JSON}}\n");
        assert_eq!(
            adapter_by_name("fio").unwrap().read_output(&text, ""),
            adapter_by_name("fio").unwrap().read_output(FDATASYNC, ""),
            "{before}"
        );
    }
}

#[test]
fn jobs_of_one_group_are_added_up_where_fio_does_not() {
    let reading = adapter_by_name("fio").unwrap().read_output(UNGROUPED, "").unwrap();
    let jobs = last_document(UNGROUPED);
    let jobs = jobs["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 3);
    let of_each = |pointer: &str| -> Vec<f64> {
        jobs.iter().map(|job| job.pointer(pointer).and_then(Value::as_f64).unwrap()).collect()
    };
    let value = |metric: &str| {
        let found: Vec<f64> = reading
            .measurements
            .iter()
            .filter(|found| found.metric == metric)
            .map(|found| found.value)
            .collect();
        assert!(found.len() < 2, "{metric}");
        found.first().copied()
    };
    let samples = of_each("/write/lat_ns/N");
    let weighted: f64 = of_each("/write/lat_ns/mean").iter().zip(&samples).map(|(mean, n)| mean * n).sum();
    let mean = weighted / samples.iter().sum::<f64>() / 1e9;
    assert!(is_near(value("fio_write_latency_mean").unwrap(), mean));
    let max = of_each("/write/lat_ns/max").into_iter().fold(0.0, f64::max) / 1e9;
    assert!(is_near(value("fio_write_latency_max").unwrap(), max));
    assert_eq!(value("fio_write_bandwidth"), Some(of_each("/write/bw_bytes").iter().sum()));
    assert!(is_near(value("fio_write_iops").unwrap(), of_each("/write/iops").iter().sum()));
    assert_eq!(value("fio_write_latency_p99"), None);
    assert!(reading.notes[0].contains("group_reporting"), "{:?}", reading.notes);
    assert_eq!(reading.bytes_written, 3 << 20);
    // Jobs with names of their own are there one by one, too.
    let reading = adapter_by_name("fio").unwrap().read_output(NAMED, "").unwrap();
    for metric in ["fio_write_iops", "fio_write_iops@log", "fio_write_latency_p99@data"] {
        assert_eq!(reading.measurements.iter().filter(|found| found.metric == metric).count(), 1, "{metric}");
    }
}

#[test]
fn what_is_no_whole_run_is_an_error() {
    let failed = UNGROUPED.replacen("\"error\" : 0", "\"error\" : 5", 1);
    let interrupted = format!("\nfio: terminating on signal 2\n{FDATASYNC}");
    let cut = &STATUS[..STATUS.len() - 40];
    let broken = format!("x\n{}", FDATASYNC.replacen("131072", "nan", 1));
    let idle = FDATASYNC
        .replace("131072", "0")
        .replace("\"total_ios\": 64", "\"total_ios\": 0")
        .replace("\"N\": 63", "\"N\": 0");
    for (text, why) in [
        (failed.as_str(), "ended with error 5"),
        (&interrupted, "ended by signal 2"),
        (cut, "is cut off"),
        (&broken, "its JSON begins in line 2 and breaks in line 13"),
        (&idle, "no job read, wrote or discarded anything"),
        ("x: (groupid=0, jobs=1): err= 0\n", "no JSON"),
    ] {
        let error = adapter_by_name("fio").unwrap().read_output(text, "").unwrap_err();
        let what = error.fault.to_string();
        assert!(what.contains(why), "{why}: {what}");
    }
}

#[test]
fn a_rate_over_no_time_is_absent() {
    let text = FDATASYNC
        .replace("\"bw_bytes\": 391259", "\"bw_bytes\": 0")
        .replace("\"iops\": 191.044776", "\"iops\": 0.0");
    let reading = adapter_by_name("fio").unwrap().read_output(&text, "").unwrap();
    assert!(
        !reading
            .measurements
            .iter()
            .any(|found| found.metric.contains("bandwidth") || found.metric.contains("iops"))
    );
    assert!(reading.notes[0].contains("fio_write_bandwidth, fio_write_iops"), "{:?}", reading.notes);
}

/// Inputs of others, which lie beside the repository where they are there at all: metrics with their values, and those that are absent.
#[test]
fn inputs_that_were_read_wrongly_once_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/faults");
    type Input = (&'static str, &'static [(&'static str, f64)], &'static [&'static str]);
    let inputs: [Input; 6] = [
        (
            "fio-fdatasync.json",
            &[
                ("fio_sync_latency_mean", 84.813_619_048e-6),
                ("fio_sync_latency_p50", 77.312e-6),
                ("fio_sync_latency_p95", 89.6e-6),
                ("fio_sync_latency_p99", 362.496e-6),
                ("fio_sync_latency_max", 362.463e-6),
            ],
            &[],
        ),
        (
            "fio-status-interval.json",
            &[
                ("fio_write_iops", 256.192_144),
                ("fio_write_latency_mean", 15.670_083_984e-6),
                ("fio_write_latency_p99", 62.208e-6),
            ],
            &[],
        ),
        ("fio-gtod-reduce.json", &[("fio_read_iops", 29_000.0), ("fio_write_iops", 35_000.0)], &["latency"]),
        (
            "fio-mixed.json",
            &[("fio_mixed_bandwidth", 87_381_333.0), ("fio_mixed_latency_mean", 20.407_125e-6)],
            &["read", "write"],
        ),
        (
            "fio-ungrouped.json",
            &[
                ("fio_write_bandwidth", 524_288_000.0),
                ("fio_write_iops", 128_000.0),
                ("fio_write_latency_mean", 1.420_585_937_5e-6),
                ("fio_write_latency_max", 18.709e-6),
            ],
            &["p50", "p99", "@"],
        ),
        ("fio-normal-and-json.json", &[("fio_write_bandwidth", 524_288_000.0)], &[]),
    ];
    let mut read = 0;
    for (name, expected, absent) in inputs {
        let Ok(text) = std::fs::read_to_string(folder.join(name)) else { continue };
        read += 1;
        let reading = adapter_by_name("fio")
            .unwrap()
            .read_output(&text, "")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (metric, value) in expected {
            let found: Vec<f64> = reading
                .measurements
                .iter()
                .filter(|found| found.metric == *metric)
                .map(|found| found.value)
                .collect();
            assert!(
                matches!(found[..], [one] if is_near(one, *value)),
                "{name}: {metric} is {found:?}, not {value}"
            );
        }
        for part in absent {
            assert!(!reading.measurements.iter().any(|found| found.metric.contains(part)), "{name}: {part}");
        }
    }
    assert!(read == 0 || read == inputs.len(), "{read} inputs of {} in {}", inputs.len(), folder.display());
}
