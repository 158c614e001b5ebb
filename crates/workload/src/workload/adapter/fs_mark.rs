//! fs_mark: files a second, and how long creating, writing, syncing and removing one takes, from its table.
//!
//! Each iteration is a row. With -v there are the shortest, the mean and the longest time of six calls in microseconds; a call that
//! was not made has three zeros. A rate over no time at all, as in simulated time, is printed as `inf`.

use fsverdict_judgement::journal::{MetricInfo, WorkCourse, fs_mark};
use fsverdict_judgement::plan::Unit;

use super::number::{parse_microseconds, parse_number};
use super::{Adapter, AdapterProblem, OutputFault, Reading, new_tool, of_debian};
use fsverdict_stack::filesystem::Tool;

pub(super) struct FsMark;

/// The words of a row: how full, files, size, rate, overhead; then three for each of six calls.
const SHORT_ROW: usize = 5;
const CALLS: usize = 6;

impl Adapter for FsMark {
    fn name(&self) -> &'static str {
        "fs_mark"
    }

    fn summary(&self) -> &'static str {
        "fs_mark 3.3: files made in a second, each synced in one of several ways, and the time of each call"
    }

    fn tool(&self) -> Tool {
        new_tool("fs_mark", &["-h"], of_debian("fsmark"))
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        fs_mark::METRICS
    }

    fn command_line(&self, options: &str) -> String {
        format!("exec fs_mark -v -d \"$FOLDER\" -l \"$LOG/fs_mark\" {options}").trim_end().to_owned()
    }

    fn hint_for_output(&self, said: &str) -> Option<String> {
        ["Usage: fs_mark", "invalid option", "requires an argument"].iter().any(|word| said.contains(word)).then(|| {
            "fs_mark(1) describes its options; -v, -d FOLDER and -l are there already: -n files, -s bytes, -S how they are synced, -L times"
                .to_owned()
        })
    }

    fn parse_output(&self, output: &str, _: &str) -> Result<Reading, AdapterProblem> {
        parse_fs_mark(output).map_err(|fault| (fault, "fs_mark 3.3 is known; try its options by hand"))
    }
}

/// One iteration.
struct FsMarkRow {
    /// Files until its end, and bytes of each.
    files: f64,
    size: f64,
    /// Files a second; none where no time passed.
    rate: Option<f64>,
    /// Mean and longest time of each call, in seconds.
    calls: Vec<(f64, f64)>,
}

fn parse_fs_mark(output: &str) -> Result<Reading, OutputFault> {
    let mut lines = output.lines().skip_while(|line| !line.starts_with("FSUse%"));
    lines.next().ok_or(OutputFault::Missing("there is no table in it".into()))?;
    let rows: Vec<FsMarkRow> =
        lines.filter(|line| !line.trim().is_empty()).map(parse_row).collect::<Result<_, _>>()?;
    let last = rows.last().ok_or(OutputFault::Missing("its table is empty".into()))?;
    if let Some(asked) = iterations_asked(output)
        && (rows.len() as u64) < asked
    {
        return Err(OutputFault::Unfinished(format!("its table has {} of {asked} iterations", rows.len())));
    }
    if last.files == 0.0 {
        return Err(OutputFault::NothingDone("it made no file".into()));
    }
    let mut reading = Reading { bytes_written: (last.files * last.size) as u64, ..Reading::default() };
    match rows.iter().map(|row| row.rate).collect::<Option<Vec<f64>>>() {
        Some(rates) if rates.iter().all(|rate| *rate > 0.0) => {
            // Each iteration makes as many files as the others: the mean of their times.
            reading.add_metric(
                &fs_mark::RATE,
                rates.len() as f64 / rates.iter().map(|rate| rate.recip()).sum::<f64>(),
            );
            if rates.len() > 1 {
                reading.add_metric(&fs_mark::SLOWEST, rates.iter().copied().fold(f64::INFINITY, f64::min));
            }
            reading.course = course_of_rows(&rows, &rates);
        }
        _ => reading.too_fast("fs_mark", &[fs_mark::RATE.name]),
    }
    for (at, [mean, longest]) in fs_mark::CALLS.iter().enumerate() {
        let column =
            |pick: fn(&(f64, f64)) -> f64| rows.iter().filter_map(move |row| row.calls.get(at).map(pick));
        let worst = column(|call| call.1).fold(0.0, f64::max);
        if worst > 0.0 {
            reading.add_latency(mean, column(|call| call.0).sum::<f64>() / rows.len() as f64);
            reading.add_latency(longest, worst);
        }
    }
    Ok(reading)
}

/// How often it was to go through its work: the number behind -L in its first line, which has its options.
fn iterations_asked(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.starts_with('#') && line.contains("fs_mark"))?;
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix("-L").map(ToOwned::to_owned)).and_then(|attached| {
        let number = if attached.is_empty() { words.next()?.to_owned() } else { attached };
        number.parse().ok()
    })
}

/// Iterations of about the same length, drawn as if they were.
fn course_of_rows(rows: &[FsMarkRow], rates: &[f64]) -> Option<WorkCourse> {
    let each = rows.first()?.files;
    let every = rates.iter().map(|rate| each / rate).sum::<f64>() / rates.len() as f64;
    (rates.len() > 1 && every.is_finite()).then(|| WorkCourse {
        unit: Unit::PerSecond,
        every,
        rates: rates.to_vec(),
    })
}

fn parse_row(line: &str) -> Result<FsMarkRow, OutputFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() != SHORT_ROW && words.len() != SHORT_ROW + 3 * CALLS {
        return Err(OutputFault::of_line(format!("a row has {} words:", words.len()), line.trim(), 120));
    }
    let rate = match words[3] {
        "inf" | "nan" | "-nan" => None,
        text => Some(parse_number(text)?),
    };
    let calls = words[SHORT_ROW..].chunks_exact(3);
    Ok(FsMarkRow {
        files: parse_number(words[1])?,
        size: parse_number(words[2])?,
        rate,
        calls: calls
            .map(|call| Ok((parse_microseconds(call[1])?, parse_microseconds(call[2])?)))
            .collect::<Result<_, OutputFault>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::FsMark;
    use fsverdict_judgement::journal::fs_mark::METRICS;

    /// Printed by fs_mark 3.3 with -v -n 200 -s 4096 -S 1 -L 3, on a tmpfs.
    const VERBOSE: &str = include_str!("fixtures/fs_mark-3.3.txt");
    /// The same without -v.
    const TERSE: &str = include_str!("fixtures/fs_mark-3.3-terse.txt");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(METRICS.iter().any(|known| known.name == metric), "{metric}");
        reading.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    fn rates(output: &str) -> Vec<f64> {
        output
            .lines()
            .skip_while(|line| !line.starts_with("FSUse"))
            .skip(1)
            .map(|line| line.split_whitespace().nth(3).unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn rates_and_the_time_of_each_call_are_read() {
        let reading = FsMark.read_output(VERBOSE, "").unwrap();
        let rates = rates(VERBOSE);
        assert_eq!(rates.len(), 3);
        let mean = 3.0 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
        assert!((value(&reading, "fs_mark_rate").unwrap() - mean).abs() < 1e-6);
        assert_eq!(value(&reading, "fs_mark_slowest"), rates.iter().copied().reduce(f64::min));
        assert!(value(&reading, "fs_mark_create_max") >= value(&reading, "fs_mark_create_mean"));
        assert_eq!(value(&reading, "fs_mark_sync_max"), None, "sync(2) was not called");
        assert_eq!(reading.bytes_written, 600 * 4096);
        assert_eq!(reading.course.unwrap().rates, rates);
    }

    #[test]
    fn without_v_there_are_rates_alone() {
        let reading = FsMark.read_output(TERSE, "").unwrap();
        assert!(value(&reading, "fs_mark_rate").is_some());
        assert_eq!(value(&reading, "fs_mark_fsync_mean"), None);
    }

    #[test]
    fn what_took_no_time_has_no_rate_and_fails_nothing() {
        let rate = VERBOSE.lines().last().unwrap().split_whitespace().nth(3).unwrap();
        let reading = FsMark.read_output(&VERBOSE.replacen(rate, "inf", 1), "").unwrap();
        assert_eq!(value(&reading, "fs_mark_rate"), None);
        assert!(reading.notes[0].contains("fs_mark_rate"), "{:?}", reading.notes);
    }

    #[test]
    fn a_run_that_ended_early_is_an_error() {
        let lines: Vec<&str> = VERBOSE.lines().collect();
        let short = lines[..lines.len() - 1].join("\n");
        let error = FsMark.read_output(&short, "").unwrap_err().to_string();
        assert!(error.contains("its table has 2 of 3 iterations"), "{error}");
        let attached = short.replacen("-L  3", "-L3", 1);
        assert!(FsMark.read_output(&attached, "").unwrap_err().to_string().contains("2 of 3"));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let cut = &VERBOSE[..VERBOSE.trim_end().len() - 40];
        let word = TERSE.replace("4096", "some");
        for (wrong, why) in [
            ("", "no table"),
            ("FSUse% Count\n", "is empty"),
            (cut, "a row has"),
            (word.as_str(), "\"some\" is not a number"),
        ] {
            let shown = FsMark.read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(FsMark.hint_for_output("Usage: fs_mark\n").unwrap().contains("fs_mark(1)"));
        assert_eq!(FsMark.hint_for_output("Error in creat: No space"), None);
    }
}
