//! db_bench: operations a second of RocksDB, and how long one takes, from a line and a histogram for each of its benchmarks.
//!
//! Metrics carry the names of the benchmarks. The histogram is of microseconds. Its seed is fixed, so that all candidates have the
//! same keys.

use fsverdict_judgement::journal::{MetricInfo, db_bench};

use super::number::{microseconds, number};
use super::{Adapter, AdapterProblem, Reading, of_debian, tool};
use crate::filesystem::Tool;

pub(super) struct DbBench;

/// Its benchmarks that move something and measure nothing of it.
const UNMEASURED: [&str; 8] =
    ["compact", "compactall", "flush", "waitforcompaction", "stats", "levelstats", "sstables", "resetstats"];

impl Adapter for DbBench {
    fn name(&self) -> &'static str {
        "db_bench"
    }

    fn summary(&self) -> &'static str {
        "db_bench of RocksDB 5 to 9: operations a second and their latencies, for each of its benchmarks"
    }

    fn tool(&self) -> Tool {
        tool("db_bench", &["--version"], of_debian("rocksdb-tools"))
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        db_bench::METRICS
    }

    fn line(&self, options: &str) -> String {
        // It begins with its version and the processor, and goes on with how far it is, on the stream where it says what is wrong.
        let run = format!("db_bench --db=\"$FOLDER/rocksdb\" --seed=1 --histogram {options}");
        let sift = "tr '\\r' '\\n' <\"$LOG/said\" | grep -vE '^(RocksDB|Date|CPU|CPUCache): |^[.][.][.] finished|^ *$' >&2";
        format!("{} 2>\"$LOG/said\"; STATUS=$?; {sift}; exit $STATUS", run.trim_end())
    }

    fn hint(&self, said: &str) -> Option<String> {
        let about = |word: &str| said.contains(word);
        if about("unknown benchmark") {
            return Some(format!("those that are read: {}", db_bench::NAMES.join(", ")));
        }
        about("unknown command line flag").then(|| {
            "`db_bench --help` lists its options; --db, --seed and --histogram are there already".to_owned()
        })
    }

    fn understand(&self, output: &str, _: &str) -> Result<Reading, AdapterProblem> {
        read(output)
    }
}

fn read(output: &str) -> Result<Reading, AdapterProblem> {
    let hint = "db_bench of RocksDB 5 to 9 is known; try its options by hand";
    let mut reading = Reading::default();
    // The metrics of the benchmark whose histogram comes next.
    let mut current: Option<&[MetricInfo; 5]> = None;
    let mut seen: Vec<&str> = Vec::new();
    for line in output.lines() {
        if let Some((name, told)) = line.split_once(" : ").map(|(name, told)| (name.trim(), told))
            && told.contains(" micros/op ")
        {
            current = None;
            if UNMEASURED.contains(&name) {
                continue;
            }
            let Some(metrics) = db_bench::of(name) else {
                let hint = "those that are read stand in `fsverdict list metrics`; of others take numbers of your own (command, and [phase.metric.NAME])";
                let what = format!(
                    "nothing is known of its benchmark `{}`",
                    name.chars().take(60).collect::<String>()
                );
                return Err((what, hint));
            };
            if seen.contains(&name) {
                let hint = "do each once; blocks repeat the phase, and a further phase measures the same benchmark later (--use_existing_db)";
                return Err((format!("it did `{name}` more than once"), hint));
            }
            seen.push(name);
            let words: Vec<&str> = told.split_whitespace().collect();
            let [_, "micros/op", rate, "ops/sec" | "ops/sec;", ..] = words[..] else {
                return Err((
                    format!("it says of `{name}`: \"{}\"", told.trim().chars().take(100).collect::<String>()),
                    hint,
                ));
            };
            if number(rate).map_err(|what| (what, hint))? == 0.0 {
                reading.too_fast("db_bench", &[metrics[0].name]);
            } else {
                reading.add(&metrics[0], number(rate).map_err(|what| (what, hint))?);
            }
            current = Some(metrics);
        } else if let Some(metrics) = current {
            latencies(line, metrics, &mut reading).map_err(|what| (what, hint))?;
        }
    }
    if seen.is_empty() {
        return Err(("no benchmark has a result".to_owned(), hint));
    }
    if output.contains("Assertions are enabled") {
        reading
            .notes
            .push("this db_bench was built with assertions, which cost it processor time".to_owned());
    }
    Ok(reading)
}

/// Of `Min: 3  Median: 3.0  Max: 31539` and `Percentiles: P50: 3.00 P75: … P99: 6.36 P99.9: …`.
fn latencies(line: &str, metrics: &[MetricInfo; 5], reading: &mut Reading) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let told: &[(&str, usize)] = match words.first() {
        Some(&"Percentiles:") => &[("P50:", 1), ("P99:", 2), ("P99.9:", 3)],
        Some(&"Min:") => &[("Max:", 4)],
        _ => return Ok(()),
    };
    for (name, place) in told {
        let at = words.iter().position(|word| word == name);
        let value =
            at.and_then(|at| words.get(at + 1)).ok_or_else(|| format!("a histogram lacks its {name}"))?;
        reading.add(&metrics[*place], microseconds(value)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::DbBench;
    use fsverdict_judgement::journal::db_bench::METRICS;

    /// Printed by db_bench 7.8.3 with --benchmarks=fillsync,overwrite,compact,readrandom --num=2000, on a tmpfs.
    const PRINTED: &str = include_str!("fixtures/db_bench-7.8.txt");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(METRICS.iter().any(|known| known.name == metric), "{metric}");
        reading.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    /// The number behind this word in the part of the output about a benchmark.
    fn printed(benchmark: &str, word: &str) -> f64 {
        let part = &PRINTED[PRINTED.find(&format!("\n{benchmark}")).unwrap()..];
        part[part.find(word).unwrap() + word.len()..].split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn each_benchmark_has_its_rate_and_latencies() {
        let reading = DbBench.read(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "db_bench_fillsync_rate"), Some(printed("fillsync", "micros/op ")));
        for (metric, word) in [("p50", "P50:"), ("p99", "P99:"), ("p999", "P99.9:"), ("max", "Max:")] {
            for benchmark in ["fillsync", "overwrite", "readrandom"] {
                let found = value(&reading, &format!("db_bench_{benchmark}_latency_{metric}")).unwrap();
                assert!((found - printed(benchmark, word) / 1e6).abs() < 1e-12, "{benchmark} {metric}");
            }
        }
        assert_eq!(reading.measurements.len(), 15);
        assert!(reading.notes[0].contains("assertions"), "{:?}", reading.notes);
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
            let shown = DbBench.read(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(DbBench.hint("unknown benchmark 'nonsense'").unwrap().contains("fillsync"));
        assert!(DbBench.hint("ERROR: unknown command line flag 'frob'").unwrap().contains("--help"));
        assert_eq!(DbBench.hint("IO error: No space left"), None);
    }
}
