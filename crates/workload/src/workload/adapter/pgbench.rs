//! pgbench: transactions per second and their latency, from its output and from its log of every transaction.
//!
//! The log has a line for each: client, number, microseconds, script, and the time when it was over, in seconds and microseconds
//! (PostgreSQL's documentation of pgbench, "Per-Transaction Logging"). The server is a `[[service]]` of the plan; its socket is
//! looked for in `$SCRATCH`.

use std::collections::BTreeMap;
use std::time::Duration;

use fsverdict_judgement::plan::Unit;

use super::number::{parse_number, text_after};
use super::{AdapterProblem, OutputFault, Reading};
use crate::workload::course::CourseCounter;

pub(super) fn parse_pgbench(output: &str, log: &str, hint: &'static str) -> Result<Reading, AdapterProblem> {
    if output.trim().is_empty() {
        let hint = "a run that makes tables (-i) measures nothing: use a phase with `command`, or `before`";
        return Err((OutputFault::NothingDone("it measured nothing".into()), hint));
    }
    let summary = PrintedSummary::parse(output).map_err(|fault| (fault, hint))?;
    let logged = TransactionLog::parse(log).map_err(|fault| {
        (fault, "leave out --aggregate-interval and --sampling-rate: every transaction is looked at")
    })?;
    if logged.latencies.len() as u64 != summary.transactions {
        let problem = format!(
            "it says {} transactions, and its log has {}",
            summary.transactions,
            logged.latencies.len()
        );
        return Err((
            OutputFault::Implausible(problem),
            "leave out --sampling-rate: every transaction is looked at",
        ));
    }
    let mut reading = Reading::default();
    match summary.tps {
        Some(tps) => reading.add_named("pgbench_tps", tps),
        None => reading.too_fast("pgbench", &["pgbench_tps"]),
    }
    if let Some(mean) = logged.mean_latency() {
        reading.add_named("pgbench_latency_mean", mean);
    }
    for (metric, permille) in [
        ("pgbench_latency_p50", 500),
        ("pgbench_latency_p95", 950),
        ("pgbench_latency_p99", 990),
        ("pgbench_latency_p999", 999),
        ("pgbench_latency_max", 1000),
    ] {
        if let Some(latency) = logged.latency_at(permille) {
            reading.add_named(metric, latency.as_secs_f64());
        }
    }
    if summary.failed > 0.0 {
        let note = format!("{} transactions failed and are not among those counted", summary.failed);
        reading.notes.push(note);
    }
    reading.set_course(logged.course.to_course(Unit::PerSecond), "pgbench_slowest_second");
    Ok(reading)
}

/// The summary that it prints at its end.
struct PrintedSummary {
    transactions: u64,
    /// None where no time passed.
    tps: Option<f64>,
    failed: f64,
}

impl PrintedSummary {
    fn parse(output: &str) -> Result<Self, OutputFault> {
        let need = |start: &str| {
            text_after(output, start).ok_or_else(|| {
                let problem =
                    format!("it does not say \"{start}\" (is it another language's? it runs with LC_ALL=C)");
                OutputFault::Missing(problem.into())
            })
        };
        let first = |text: &str| text.split([' ', '/']).next().unwrap_or_default().to_owned();
        let optional =
            |start: &str| text_after(output, start).map_or(Ok(0.0), |text| parse_number(&first(text)));
        // Of `399/400`: so many of those that were asked for.
        let processed = need("number of transactions actually processed:")?;
        let transactions = first(processed);
        let transactions: u64 = transactions
            .parse()
            .map_err(|_| OutputFault::of_word(&transactions, "is no number of transactions"))?;
        let failed = optional("number of failed transactions:")?;
        let skipped = optional("number of transactions skipped:")?;
        let asked = processed.split_once('/').and_then(|(_, asked)| parse_number(&first(asked)).ok());
        if let Some(asked) = asked.filter(|asked| transactions as f64 + failed + skipped < *asked) {
            return Err(OutputFault::Unfinished(format!("{transactions} of {asked} transactions")));
        }
        if transactions == 0 {
            let problem = format!("it did no transaction ({failed} failed, {skipped} were skipped)");
            return Err(OutputFault::NothingDone(problem.into()));
        }
        // Before version 14 there were two lines, the one with the time to connect first.
        let tps = match first(need("tps =")?).as_str() {
            "inf" | "nan" | "-nan" => None,
            text => Some(parse_number(text)?).filter(|tps| *tps > 0.0),
        };
        Ok(Self { transactions, tps, failed })
    }
}

/// The content of its log: sorted latencies, and the number of transactions that ended in each second.
struct TransactionLog {
    latencies: Vec<u64>,
    course: CourseCounter,
}

impl TransactionLog {
    fn parse(log: &str) -> Result<Self, OutputFault> {
        let mut ended: BTreeMap<u64, u64> = BTreeMap::new();
        let mut latencies = Vec::new();
        for line in log.lines().filter(|line| !line.trim().is_empty()) {
            let read = || {
                let mut words = line.split(' ').skip(2);
                let took = words.next()?;
                // A skipped or failed transaction has a word here.
                let took = match took {
                    "skipped" | "failed" | "serialization" | "deadlock" => None,
                    number => Some(number.parse::<u64>().ok()?),
                };
                let seconds = words.nth(1)?.parse::<u64>().ok()?;
                let micros = words.next()?.parse::<u64>().ok().filter(|micros| *micros < 1_000_000)?;
                Some((took, seconds.checked_mul(1_000_000)?.checked_add(micros)?))
            };
            let (took, at) = read().ok_or_else(|| OutputFault::of_line("its log has the line", line, 80))?;
            if let Some(took) = took {
                latencies.push(took);
                *ended.entry(at).or_default() += 1;
            }
        }
        latencies.sort_unstable();
        let mut course = CourseCounter::default();
        if let Some((begin, _)) = ended.first_key_value().map(|(at, count)| (*at, *count)) {
            for (at, count) in ended {
                course.add_amount(Duration::from_micros(at - begin), count);
            }
        }
        Ok(Self { latencies, course })
    }

    /// In seconds. The mean that pgbench prints is another: that of the time of all clients.
    fn mean_latency(&self) -> Option<f64> {
        let sum: f64 = self.latencies.iter().map(|micros| *micros as f64).sum();
        (!self.latencies.is_empty()).then(|| sum / 1e6 / self.latencies.len() as f64)
    }

    /// The percentile by nearest rank.
    fn latency_at(&self, permille: usize) -> Option<Duration> {
        let rank = (self.latencies.len() * permille).div_ceil(1000).max(1);
        self.latencies.get(rank - 1).map(|micros| Duration::from_micros(*micros))
    }
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::journal::adapter_metric;

    use super::super::{Reading, adapter_by_name};

    /// Printed by pgbench 15.18 with -c 2 -t 200, and its log.
    const PRINTED: &str = include_str!("fixtures/pgbench-15.txt");
    const LOG: &str = include_str!("fixtures/pgbench-15.log");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(adapter_metric(metric).is_some(), "{metric}");
        reading
            .measurements
            .iter()
            .find(|measurement| measurement.metric == metric)
            .map(|measurement| measurement.value)
    }

    #[test]
    fn rates_are_what_it_says_and_latencies_what_its_log_has() {
        let reading = adapter_by_name("pgbench").unwrap().read_output(PRINTED, LOG).unwrap();
        let rate = PRINTED.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()).unwrap();
        assert_eq!(value(&reading, "pgbench_tps"), rate.parse().ok());
        let mut latencies: Vec<u64> =
            LOG.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
        latencies.sort_unstable();
        let [p50, max] =
            ["pgbench_latency_p50", "pgbench_latency_max"].map(|name| value(&reading, name).unwrap());
        assert!(
            (p50 - latencies[199] as f64 / 1e6).abs() < 1e-9
                && (max - latencies[399] as f64 / 1e6).abs() < 1e-9
        );
        let mean = latencies.iter().sum::<u64>() as f64 / 400.0 / 1e6;
        assert!((value(&reading, "pgbench_latency_mean").unwrap() - mean).abs() < 1e-9, "{mean}");
        assert!(reading.notes.is_empty(), "{:?}", reading.notes);
    }

    #[test]
    fn each_second_counts_what_ended_in_it() {
        let line = |at: u64| format!("0 {at} 500 0 {} {}\n", 1_700_000_000 + at / 10, at % 10 * 100_000);
        // Ten a second for four seconds, but none from 1.5 to 2.4 s.
        let log: String = (0..=40).filter(|at| !(15..=24).contains(at)).map(line).collect();
        let printed = "number of transactions actually processed: 31\nlatency average = 0.5 ms\ntps = 8.0 (without initial connection time)\n";
        let reading = adapter_by_name("pgbench").unwrap().read_output(printed, &log).unwrap();
        assert_eq!(value(&reading, "pgbench_slowest_second"), Some(0.0));
        assert_eq!(reading.course.unwrap().rates.len(), 40);
    }

    #[test]
    fn transactions_that_failed_are_told() {
        let log = "0 0 skipped 0 1700000000 5\n0 1 300 0 1700000000 400\n0 2 failed 0 1700000000 500\n";
        let printed = "number of transactions actually processed: 1\nnumber of failed transactions: 1 (50.000%)\nlatency average = 0.3 ms\ntps = 8.0 (including connections establishing)\ntps = 9.0 (excluding connections establishing)\n";
        let reading = adapter_by_name("pgbench").unwrap().read_output(printed, log).unwrap();
        assert_eq!((value(&reading, "pgbench_tps"), reading.measurements.len()), (Some(9.0), 7));
        assert!(reading.notes[0].contains("1 transactions failed"), "{:?}", reading.notes);
    }

    #[test]
    fn what_did_nothing_or_ended_early_is_told() {
        let end = "latency average = 0.3 ms\ntps = 9.0 (without initial connection time)\n";
        for (printed, why) in [
            (format!("number of transactions actually processed: 150/400\n{end}"), "it ended before it was done: 150 of 400"),
            ("number of transactions actually processed: 0/400\nnumber of failed transactions: 400 (100.000%)\n".to_owned(), "it did no transaction (400 failed"),
            ("number of transactions actually processed: 0\n".to_owned(), "it did no transaction"),
            (PRINTED.replacen("tps = 921.421200", "tps = 921,421200", 1), "\"921,421200\" is not a number"),
            ("Anzahl tatsächlich verarbeiteter Transaktionen: 400/400\n".to_owned(), "LC_ALL=C"),
        ] {
            let error = adapter_by_name("pgbench").unwrap().read_output(&printed, LOG).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        // Failed and skipped transactions are among those that were asked for.
        let printed = format!(
            "number of transactions actually processed: 1/3\nnumber of failed transactions: 1 (33.3%)\nnumber of transactions skipped: 1 (33.3%)\n{end}"
        );
        let log = "0 0 skipped 0 1700000000 5\n0 1 300 0 1700000000 400\n0 2 failed 0 1700000000 500\n";
        assert_eq!(
            value(&adapter_by_name("pgbench").unwrap().read_output(&printed, log).unwrap(), "pgbench_tps"),
            Some(9.0)
        );
        let no_time = printed.replacen("tps = 9.0", "tps = inf", 1);
        assert_eq!(
            value(&adapter_by_name("pgbench").unwrap().read_output(&no_time, log).unwrap(), "pgbench_tps"),
            None
        );
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let short: String = LOG.lines().take(300).map(|line| format!("{line}\n")).collect();
        let word = PRINTED.replacen("tps = ", "tps = about ", 1);
        for (printed, log, why) in [
            ("", "", "measured nothing"),
            (&PRINTED[..PRINTED.len() / 2], LOG, "does not say"),
            (&word, LOG, "\"about\" is not a number"),
            (PRINTED, &short, "its log has 300"),
            (PRINTED, "17000000 20 300 5 6 7\n", "its log has"),
            (PRINTED, "0 1 300 0 then 5\n", "its log has the line"),
        ] {
            let error = adapter_by_name("pgbench").unwrap().read_output(printed, log).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn a_refusal_of_its_own_gets_a_way_out() {
        for (output, hint) in [
            ("pgbench: error: connection to server on socket \"/x\" failed", "[[service]]"),
            ("pgbench: error: ERROR:  relation \"pgbench_branches\" does not exist", "-i -s 10"),
            ("pgbench: unrecognized option '--frob'", "pgbench --help"),
        ] {
            assert!(
                adapter_by_name("pgbench").unwrap().hint_for_output(output).unwrap().contains(hint),
                "{output}"
            );
        }
        assert_eq!(adapter_by_name("pgbench").unwrap().hint_for_output("could not extend file"), None);
    }
}
