//! dbench: throughput of a file server's load, replayed by several clients, and the latencies of its calls.
//!
//! Each second prints a line with the average since the beginning; a megabyte is 1 000 000 bytes.

use fsverdict_judgement::journal::{MetricInfo, WorkCourse, dbench};
use fsverdict_judgement::plan::Unit;

use super::number::{parse_milliseconds, parse_number, text_after};
use super::{Adapter, AdapterProblem, OutputFault, Reading, new_tool, of_debian};
use fsverdict_stack::filesystem::Tool;

pub(super) struct Dbench;

const MEGABYTE: f64 = 1e6;

/// The calls with recorded latencies, by their names in the table, in the order of their metrics.
const CALLS: [&str; 8] = ["NTCreateX", "ReadX", "WriteX", "Flush", "Rename", "Unlink", "Find", "Qpathinfo"];

impl Adapter for Dbench {
    fn name(&self) -> &'static str {
        "dbench"
    }

    fn summary(&self) -> &'static str {
        "dbench 4: a file server's load by several clients for some time: throughput, and latencies of its calls"
    }

    fn tool(&self) -> Tool {
        new_tool("dbench", &["--version"], of_debian("dbench"))
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        dbench::METRICS
    }

    fn command_line(&self, options: &str) -> String {
        format!("exec dbench -D \"$FOLDER\" {options}").trim_end().to_owned()
    }

    fn hint_for_output(&self, said: &str) -> Option<String> {
        if said.contains("unable to open") || said.contains("loadfile") {
            return Some(
                "its load is /usr/share/dbench/client.txt, or the file after -c, an absolute path".to_owned(),
            );
        }
        ["Usage:", "unknown option", "You need to specify", "missing argument"].iter().any(|word| said.contains(word)).then(|| {
            "dbench(1) describes its options; -D FOLDER is there already, and the number of clients stands last: `-t 30 4`".to_owned()
        })
    }

    fn parse_output(&self, output: &str, _: &str) -> Result<Reading, AdapterProblem> {
        parse_dbench(output).map_err(|fault| (fault, "dbench 4 is known; try its options by hand"))
    }
}

fn parse_dbench(output: &str) -> Result<Reading, OutputFault> {
    let throughput_line = text_after(output, "Throughput ")
        .ok_or_else(|| OutputFault::Unfinished("it does not say \"Throughput\"".to_owned()))?;
    let (rate, rest) = throughput_line
        .split_once(" MB/sec")
        .ok_or(OutputFault::Unsupported("its throughput is not in MB/sec".into()))?;
    let worst = rest
        .split_once("max_latency=")
        .ok_or(OutputFault::Missing("it does not say \"max_latency\"".into()))?
        .1;
    let mut reading = Reading::default();
    match parse_number(rate.trim())? {
        rate if rate > 0.0 => reading.add_metric(&dbench::THROUGHPUT, rate * MEGABYTE),
        _ => reading.too_fast("dbench", &[dbench::THROUGHPUT.name]),
    }
    reading.add_latency(&dbench::LATENCY_MAX, parse_milliseconds(worst)?);
    let mut did_any = false;
    let mut table = output.lines().skip_while(|line| !line.trim_start().starts_with("Operation "));
    table.next().ok_or(OutputFault::Missing("there is no table of operations in it".into()))?;
    for line in table.skip(1).take_while(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, count, mean, longest] = words[..] else {
            return Err(OutputFault::of_line("its table has the line", line.trim(), 100));
        };
        let (count, mean, longest) =
            (parse_number(count)?, parse_milliseconds(mean)?, parse_milliseconds(longest)?);
        if let Some([of_mean, of_longest]) = CALLS
            .iter()
            .position(|call| *call == name)
            .and_then(|at| dbench::CALLS.get(at))
            .filter(|_| count > 0.0)
        {
            did_any = true;
            reading.add_latency(of_mean, mean);
            reading.add_latency(of_longest, longest);
        }
    }
    if !did_any {
        return Err(OutputFault::NothingDone("its clients did no operation".into()));
    }
    reading.set_course(parse_course(output)?, &dbench::SLOWEST);
    Ok(reading)
}

/// The throughput of each second, from lines such as `2  32796  352.76 MB/sec  execute  1 sec  latency 207.063 ms`; the
/// warm-up is excluded.
fn parse_course(output: &str) -> Result<Option<WorkCourse>, OutputFault> {
    let mut rates = Vec::new();
    let mut before = 0.0;
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, rate, "MB/sec", "execute", second, "sec", ..] = words[..] else { continue };
        let (rate, second) = (parse_number(rate)? * MEGABYTE, parse_number(second)?);
        // On a busy machine a line may be late; its average covers all the time until then.
        if second != rates.len() as f64 + 1.0 {
            return Ok(None);
        }
        rates.push((rate * second - before).max(0.0));
        before = rate * second;
    }
    Ok((rates.len() > 1).then_some(WorkCourse { unit: Unit::BytesPerSecond, every: 1.0, rates }))
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::Dbench;
    use fsverdict_judgement::journal::dbench::METRICS;

    /// Printed by dbench 4.00 with -t 4 2, on a tmpfs.
    const PRINTED: &str = include_str!("fixtures/dbench-4.00.txt");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(METRICS.iter().any(|known| known.name == metric), "{metric}");
        reading.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    #[test]
    fn throughput_latencies_and_the_slowest_second_are_read() {
        let reading = Dbench.read_output(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "dbench_throughput"), Some(382.734e6));
        assert!((value(&reading, "dbench_latency_max").unwrap() - 0.207_133).abs() < 1e-9);
        assert!((value(&reading, "dbench_write_latency_max").unwrap() - 0.080_097).abs() < 1e-9);
        assert!((value(&reading, "dbench_read_latency_mean").unwrap() - 0.009e-3).abs() < 1e-12);
        let course = reading.course.clone().unwrap();
        assert_eq!(course.rates.len(), 3);
        assert!((course.rates[2] - (3.0 * 382.73 - 2.0 * 365.91) * 1e6).abs() < 1.0, "{course:?}");
        assert!((value(&reading, "dbench_slowest_second").unwrap() - 352.76e6).abs() < 1.0);
    }

    #[test]
    fn synced_writes_change_the_words_of_its_last_line_and_no_number() {
        let synced = PRINTED.replacen("MB/sec  2 clients", "MB/sec (sync open) (sync dirs)  2 clients", 1);
        assert_eq!(Dbench.read_output(&synced, "").unwrap(), Dbench.read_output(PRINTED, "").unwrap());
    }

    #[test]
    fn a_mean_that_is_printed_as_0_is_absent() {
        assert!(PRINTED.contains("Flush           3510     0.000     0.003"));
        let reading = Dbench.read_output(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "dbench_flush_latency_mean"), None);
        assert!(value(&reading, "dbench_flush_latency_max").unwrap() > 0.0);
        let none = PRINTED.replacen("Throughput 382.734", "Throughput 0", 1);
        let reading = Dbench.read_output(&none, "").unwrap();
        assert_eq!(value(&reading, "dbench_throughput"), None);
        assert!(reading.notes[0].contains("dbench_throughput"), "{:?}", reading.notes);
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let table = PRINTED.find(" NTCreateX").unwrap()..PRINTED.find("\nThroughput").unwrap();
        let idle = PRINTED.replacen(&PRINTED[table], "", 1);
        assert!(Dbench.read_output(&idle, "").unwrap_err().to_string().contains("did no operation"));
        let word = PRINTED.replacen("382.734", "many", 1);
        let row = PRINTED.replacen(" Flush           3510", " Flush", 1);
        for (wrong, why) in [
            ("", "does not say"),
            (&PRINTED[..PRINTED.len() - 90], "does not say"),
            (word.as_str(), "\"many\" is not a number"),
            (row.as_str(), "its table has the line"),
        ] {
            let shown = Dbench.read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(Dbench.hint_for_output("Usage: [OPTION...]").unwrap().contains("dbench(1)"));
        assert_eq!(Dbench.hint_for_output("write failed on handle"), None);
    }
}
