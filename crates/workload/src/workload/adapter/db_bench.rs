//! db_bench: operations a second of RocksDB, and how long one takes, from a line and a histogram for each of its benchmarks.
//!
//! Metrics carry the names of the benchmarks. The histogram is of microseconds. Its seed is fixed, so that all candidates have the
//! same keys.

use fsverdict_judgement::journal::adapter_metric;

use super::number::{parse_microseconds, parse_number};
use super::{AdapterProblem, OutputFault, Reading};

/// Its benchmarks that move something and measure nothing of it.
const UNMEASURED: [&str; 8] =
    ["compact", "compactall", "flush", "waitforcompaction", "stats", "levelstats", "sstables", "resetstats"];

/// A benchmark that looks up missing keys, by design.
const FINDS_NOTHING: &str = "readmissing";

/// One benchmark: its line and the histograms that follow it.
struct Benchmark<'a> {
    name: &'a str,
    /// Operations a second.
    rate: f64,
    /// How many it did; older versions do not say.
    operations: Option<f64>,
    /// The text in parentheses at the end of the line.
    remark: &'a str,
    histograms: Vec<KindHistogram<'a>>,
}

/// The latencies of one kind of operation.
struct KindHistogram<'a> {
    /// `read`, `write`, …
    kind: &'a str,
    count: f64,
    /// The median, the 99th and 99.9th percentile and the longest, in seconds.
    latencies: [Option<f64>; 4],
}

pub(super) fn parse_db_bench(output: &str, hint: &'static str) -> Result<Reading, AdapterProblem> {
    let mut benchmarks: Vec<Benchmark<'_>> = Vec::new();
    let mut is_unmeasured = false;
    for line in output.lines() {
        if let Some((name, text)) = line.split_once(" : ").map(|(name, text)| (name.trim(), text))
            && text.contains(" micros/op ")
        {
            is_unmeasured = UNMEASURED.contains(&name);
            if is_unmeasured {
                continue;
            }
            if benchmarks.iter().any(|known| known.name == name) {
                let hint = "run each once; blocks repeat the phase, and another phase can measure the same benchmark later (--use_existing_db)";
                return Err((
                    OutputFault::Unsupported(format!("it ran `{name}` more than once").into()),
                    hint,
                ));
            }
            benchmarks.push(read_benchmark(name, text, hint)?);
        } else if let Some(benchmark) = benchmarks.last_mut().filter(|_| !is_unmeasured) {
            read_histogram_line(line, benchmark).map_err(|fault| (fault, hint))?;
        }
    }
    if benchmarks.is_empty() {
        return Err((OutputFault::NothingDone("no benchmark has a result".into()), hint));
    }
    let mut reading = Reading::default();
    benchmarks.iter().for_each(|benchmark| add_benchmark(&mut reading, benchmark));
    if output.contains("Assertions are enabled") {
        reading
            .notes
            .push("this db_bench was built with assertions, which cost it processor time".to_owned());
    }
    Ok(reading)
}

/// Of `fillsync     :      23.497 micros/op 42520 ops/sec 0.047 seconds 2000 operations;    6.4 MB/s (764 of 2000 found)`.
fn read_benchmark<'a>(
    name: &'a str,
    text: &'a str,
    hint: &'static str,
) -> Result<Benchmark<'a>, AdapterProblem> {
    if adapter_metric(&format!("db_bench_{name}_rate")).is_none() {
        let hint = "`fsverdict list metrics` lists the supported ones; for others define your own metrics (command, and [phase.metric.NAME])";
        let problem = format!("its benchmark `{}` is not known", name.chars().take(60).collect::<String>());
        return Err((OutputFault::Unsupported(problem.into()), hint));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, "micros/op", rate, "ops/sec" | "ops/sec;", ..] = words[..] else {
        return Err((OutputFault::of_line(format!("it says of `{name}`:"), text.trim(), 100), hint));
    };
    // For no operations or no time it prints `inf` or `nan`.
    let rate = match rate {
        "inf" | "nan" | "-nan" => 0.0,
        rate => parse_number(rate).map_err(|fault| (fault, hint))?,
    };
    let operations = words.iter().position(|word| *word == "operations;");
    let operations = operations.and_then(|at| parse_number(words.get(at.checked_sub(1)?)?).ok());
    let remark = text.split_once('(').map_or("", |(_, remark)| remark.trim_end().trim_end_matches(')'));
    Ok(Benchmark { name, rate, operations, remark, histograms: Vec::new() })
}

/// Of `Microseconds per read:`, `Count: 1800 Average: …`, `Min: 3  Median: 3.0  Max: 31539` and `Percentiles: P50: 3.00 P75: …`.
fn read_histogram_line<'a>(line: &'a str, benchmark: &mut Benchmark<'a>) -> Result<(), OutputFault> {
    if let Some(kind) = line.trim().strip_prefix("Microseconds per ") {
        let kind = kind.trim_end_matches(':');
        benchmark.histograms.push(KindHistogram { kind, count: 0.0, latencies: [None; 4] });
        return Ok(());
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name);
        at.and_then(|at| words.get(at + 1))
            .copied()
            .ok_or_else(|| OutputFault::Missing(format!("a histogram lacks its {name}").into()))
    };
    let first = words.first().copied().unwrap_or_default();
    let Some(histogram) = benchmark.histograms.last_mut() else {
        return match first {
            "Percentiles:" => Err(OutputFault::Missing("a histogram does not say of what it is".into())),
            _ => Ok(()),
        };
    };
    let metrics: &[(&str, usize)] = match first {
        "Count:" => {
            histogram.count = parse_number(after("Count:")?)?;
            return Ok(());
        }
        // Of no samples the numbers mean nothing.
        "Percentiles:" if histogram.count > 0.0 => &[("P50:", 0), ("P99:", 1), ("P99.9:", 2)],
        "Min:" if histogram.count > 0.0 => &[("Max:", 3)],
        _ => return Ok(()),
    };
    for (name, place) in metrics {
        histogram.latencies[*place] = Some(parse_microseconds(after(name)?)?);
    }
    Ok(())
}

fn add_benchmark(reading: &mut Reading, benchmark: &Benchmark<'_>) {
    let Benchmark { name, rate, operations, remark, histograms } = benchmark;
    let rate_metric = format!("db_bench_{name}_rate");
    let sampled: Vec<&KindHistogram<'_>> =
        histograms.iter().filter(|histogram| histogram.count > 0.0).collect();
    // Where it did none it prints "1 operations", a rate, and no histogram.
    if sampled.is_empty() && operations.is_some_and(|count| count <= 1.0) {
        reading.notes.push(format!("db_bench did no operation of {name}, and there is no number of it"));
        return;
    }
    if *rate > 0.0 {
        reading.add_named(&rate_metric, *rate);
    } else {
        reading.too_fast("db_bench", &[rate_metric.as_str()]);
    }
    for histogram in &sampled {
        for (part, latency) in ["p50", "p99", "p999", "max"].iter().zip(histogram.latencies) {
            let metric = format!("db_bench_{name}_latency_{part}");
            let before = reading.measurements.len();
            reading.add_latency(&metric, latency.unwrap_or(0.0));
            // Each of several kinds of operation has its own latencies.
            if sampled.len() > 1 {
                for added in &mut reading.measurements[before..] {
                    added.metric = format!("{metric}@{}", histogram.kind).into();
                }
            }
        }
    }
    if found_nothing(remark) && *name != FINDS_NOTHING {
        reading.notes.push(format!(
            "db_bench's {name} found none of the keys that it looked for ({}): it read an empty or another database",
            remark.trim()
        ));
    }
}

/// Of `0 of 2000 found`, `reads:1800 writes:200 total:2000 found:0`, `updates:2000 found:0`.
fn found_nothing(remark: &str) -> bool {
    let words: Vec<&str> = remark.split_whitespace().collect();
    match words[..] {
        ["0", "of", all, "found"] => all != "0",
        _ => words.contains(&"found:0"),
    }
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::journal::adapter_metric;

    use super::super::{Reading, adapter_by_name};

    /// Printed by db_bench 7.8.3 with --benchmarks=fillsync,overwrite,compact,readrandom --num=2000, on a tmpfs.
    const PRINTED: &str = include_str!("fixtures/db_bench-7.8.txt");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(adapter_metric(metric).is_some(), "{metric}");
        reading
            .measurements
            .iter()
            .find(|measurement| measurement.metric == metric)
            .map(|measurement| measurement.value)
    }

    /// The number behind this word in the part of the output about a benchmark.
    fn printed(benchmark: &str, word: &str) -> f64 {
        let part = &PRINTED[PRINTED.find(&format!("\n{benchmark}")).unwrap()..];
        part[part.find(word).unwrap() + word.len()..].split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn each_benchmark_has_its_rate_and_latencies() {
        let reading = adapter_by_name("db_bench").unwrap().read_output(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "db_bench_fillsync_rate"), Some(printed("fillsync", "micros/op ")));
        for (metric, word) in [("p50", "P50:"), ("p99", "P99:"), ("p999", "P99.9:"), ("max", "Max:")] {
            for benchmark in ["fillsync", "overwrite", "readrandom"] {
                let found = value(&reading, &format!("db_bench_{benchmark}_latency_{metric}")).unwrap();
                assert!((found - printed(benchmark, word) / 1e6).abs() < 1e-12, "{benchmark} {metric}");
            }
        }
        assert_eq!(reading.measurements.len(), 15);
        assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
        assert!(reading.notes[0].contains("assertions"), "{:?}", reading.notes);
    }

    /// Of --benchmarks=readrandomwriterandom,updaterandom,readmissing by 7.8.3.
    const KINDS: &str = include_str!("fixtures/db_bench-7.8-kinds.txt");
    /// With --reads=0 behind a fillseq: a rate without an operation.
    const NOTHING: &str = include_str!("fixtures/db_bench-7.8-no-operations.txt");
    /// Of a readrandom on a database without a key.
    const EMPTY: &str = include_str!("fixtures/db_bench-7.8-empty.txt");

    #[test]
    fn each_kind_of_operation_has_latencies_of_its_own() {
        let reading = adapter_by_name("db_bench").unwrap().read_output(KINDS, "").unwrap();
        let mut names: Vec<&str> =
            reading.measurements.iter().map(|measurement| measurement.metric.as_ref()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "each name once: {names:?}");
        let part = KINDS.split("Microseconds per write:").nth(1).unwrap();
        let median: f64 = part.split("P50: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let of = |metric: &str| reading.measurements.iter().find(|measurement| measurement.metric == metric);
        let write = of("db_bench_readrandomwriterandom_latency_p50@write").unwrap();
        assert!((write.value - median / 1e6).abs() < 1e-12, "{write:?}");
        assert!(of("db_bench_readrandomwriterandom_latency_p50@read").is_some());
        assert!(of("db_bench_readrandomwriterandom_latency_p50").is_none());
        assert!(of("db_bench_updaterandom_latency_p50").is_some(), "one kind needs no name");
        for measurement in &reading.measurements {
            assert!(
                fsverdict_judgement::journal::adapter_metric(&measurement.metric).is_some(),
                "{measurement:?}"
            );
        }
        // Keys that are missing by design are no fault.
        assert!(reading.notes.is_empty(), "{:?}", reading.notes);
    }

    /// An input of others, which lies beside the repository where it is there at all.
    #[test]
    fn an_input_that_was_read_wrongly_once_is_read() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../shared/faults/db_bench-two-histograms.txt");
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let reading = adapter_by_name("db_bench").unwrap().read_output(&text, "").unwrap();
        for (metric, expected) in [("read", 0.56e-6), ("write", 2.76e-6)] {
            let name = format!("db_bench_readrandomwriterandom_latency_p50@{metric}");
            let found: Vec<f64> = reading
                .measurements
                .iter()
                .filter(|measurement| measurement.metric == name)
                .map(|measurement| measurement.value)
                .collect();
            assert!(matches!(found[..], [one] if (one - expected).abs() < 1e-12), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_found_or_did_nothing_is_told() {
        let reading = adapter_by_name("db_bench").unwrap().read_output(NOTHING, "").unwrap();
        let of =
            |name: &str| reading.measurements.iter().any(|measurement| measurement.metric.contains(name));
        assert!(of("fillseq_rate") && !of("readrandom") && !of("seekrandom"), "{:?}", reading.measurements);
        assert!(
            reading.notes.iter().any(|note| note.contains("no operation of readrandom")),
            "{:?}",
            reading.notes
        );
        let reading = adapter_by_name("db_bench").unwrap().read_output(EMPTY, "").unwrap();
        assert!(
            reading.notes.iter().any(|note| note.contains("found none of the keys")),
            "{:?}",
            reading.notes
        );
        for (line, is_noted) in [
            ("(0 of 2000 found)", true),
            ("(1 of 2000 found)", false),
            ("( reads:1800 writes:200 total:2000 found:0)", true),
            ("( updates:200 found:0)", true),
            ("( updates:200 found:10)", false),
        ] {
            let text = EMPTY.replacen("(0 of 2000 found)", line, 1);
            assert_eq!(
                !adapter_by_name("db_bench").unwrap().read_output(&text, "").unwrap().notes.is_empty(),
                is_noted,
                "{line}"
            );
        }
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let word = PRINTED.replacen("P99: ", "P99: about ", 1);
        let lacks = PRINTED.replacen("P99.9: ", "", 1);
        let other =
            PRINTED.replacen("\noverwrite ", "\nseekrandom ", 1).replacen("\nreadrandom ", "\nsomething ", 1);
        let twice = PRINTED.replacen("\noverwrite ", "\nfillsync ", 1);
        for (wrong, why) in [
            ("", "no benchmark has a result"),
            (word.as_str(), "\"about\" is not a number"),
            (lacks.as_str(), "lacks its P99.9:"),
            (other.as_str(), "benchmark `something`"),
            (twice.as_str(), "more than once"),
        ] {
            let shown = adapter_by_name("db_bench").unwrap().read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(
            adapter_by_name("db_bench")
                .unwrap()
                .hint_for_output("unknown benchmark 'nonsense'")
                .unwrap()
                .contains("fillsync")
        );
        assert!(
            adapter_by_name("db_bench")
                .unwrap()
                .hint_for_output("ERROR: unknown command line flag 'frob'")
                .unwrap()
                .contains("--help")
        );
        assert_eq!(adapter_by_name("db_bench").unwrap().hint_for_output("IO error: No space left"), None);
    }
}
