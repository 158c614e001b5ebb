//! bonnie++: rates, CPU and worst latencies of sequential and random work, from its line of comma-separated values.
//!
//! The order of the values is that of bon_csv2html(1) for 1.98 and 2.00. 1.96 and 1.97 lack the two seek values; 1.03
//! lacks the first eight and the latencies. A test that took less than half a second has pluses for a value, and an
//! empty one if the clock did not move, as in simulated time: such a test has no number, which is not an error.

use fsverdict_judgement::journal::bonnie::METRICS;
use fsverdict_judgement::journal::{Measurement, MetricInfo, Unit};

use super::number::parse_number;
use super::{Adapter, AdapterProblem, OutputFault, Reading, new_tool, option_words};
use fsverdict_stack::filesystem::{Packages, Tool};

pub(super) struct Bonnie;

/// Tests of a big file; the others are of many small ones.
const OF_THE_FILE: usize = 6;

/// Where things stand among the values of one version.
struct Layout {
    count: usize,
    size: usize,
    file_tests: usize,
    small_tests: usize,
    latencies: Option<usize>,
}

const LAYOUTS: [Layout; 3] = [
    Layout { count: 50, size: 5, file_tests: 9, small_tests: 26, latencies: Some(38) },
    Layout { count: 48, size: 5, file_tests: 7, small_tests: 24, latencies: Some(36) },
    Layout { count: 27, size: 1, file_tests: 2, small_tests: 15, latencies: None },
];

impl Adapter for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie++"
    }

    fn summary(&self) -> &'static str {
        "bonnie++ 1.03 to 2.00: rates, CPU and worst latencies on one big file and many small ones"
    }

    fn tool(&self) -> Tool {
        new_tool("bonnie++", &["--version"], Packages::everywhere("bonnie++"))
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        METRICS
    }

    fn command_line(&self, options: &str) -> String {
        // It refuses to run as root unless it is given a user; -q leaves nothing but the values on standard output.
        let user = if option_words(options).contains("-u") { "" } else { "-u root " };
        format!("exec bonnie++ -q -d \"$FOLDER\" {user}{options}").trim_end().to_owned()
    }

    fn hint_for_output(&self, said: &str) -> Option<String> {
        if said.contains("double RAM") {
            let hint = "let the file be twice the memory (-s), so that its reads ask the device; or add `-r 0`, and it \
                        measures nevertheless: the report then says that reads may have come from memory";
            return Some(hint.to_owned());
        }
        said.to_lowercase().contains("usage:").then(|| {
            "bonnie++(8) describes its options; `-q -d FOLDER -u root` are there already, and -s 0 -n 0 leave nothing to do"
                .to_owned()
        })
    }

    fn parse_output(&self, output: &str, _: &str) -> Result<Reading, AdapterProblem> {
        parse_bonnie(output)
    }
}

fn parse_bonnie(output: &str) -> Result<Reading, AdapterProblem> {
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default();
    if lines.next().is_some() {
        let fault =
            OutputFault::Unsupported("there is more than one line of values, and a phase is one run".into());
        return Err((fault, "leave out -x: blocks repeat the phase"));
    }
    read_line(line).map_err(|fault| {
        (fault, "versions 1.03 and 1.96 to 2.00 are known; try its options by hand, with -q")
    })
}

fn read_line(line: &str) -> Result<Reading, OutputFault> {
    if line.is_empty() {
        return Err(OutputFault::Missing("there is no line of values".into()));
    }
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    let layout = LAYOUTS.iter().find(|layout| layout.count == values.len()).ok_or_else(|| {
        let fault = format!("it has {} values, not 27, 48 or 50", values.len());
        OutputFault::Unsupported(fault.into())
    })?;
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    let mut reading = Reading { working_set: parse_size(at(layout.size))?, ..Reading::default() };
    let mut too_short = Vec::new();
    for (test, metrics) in METRICS.chunks_exact(3).enumerate() {
        let [rate, cpu, latency] = metrics else { continue };
        let place = if test < OF_THE_FILE {
            layout.file_tests + 2 * test
        } else {
            layout.small_tests + 2 * (test - OF_THE_FILE)
        };
        let worst = layout.latencies.map(|first| at(first + test)).unwrap_or_default();
        let mut add = |metric: &MetricInfo, value: f64| {
            reading.measurements.push(Measurement::new(metric.name, metric.unit, value));
        };
        match parse_value(at(place))? {
            BonnieValue::Absent if at(place + 1).is_empty() && worst.is_empty() => continue,
            BonnieValue::Absent | BonnieValue::TooShort => too_short.push(rate.name),
            BonnieValue::Number(number) if rate.unit == Unit::BytesPerSecond => add(rate, number * 1024.0),
            BonnieValue::Number(number) => add(rate, number),
        }
        // A share of the processor may be 0 where there is a rate.
        let percent = at(place + 1);
        if !percent.is_empty() && !percent.bytes().all(|byte| byte == b'+') {
            add(cpu, parse_number(percent)? / 100.0);
        }
        if let Some(seconds) = parse_seconds(worst)?.filter(|seconds| *seconds > 0.0) {
            add(latency, seconds);
        }
    }
    if reading.measurements.is_empty() && too_short.is_empty() {
        return Err(OutputFault::NothingDone("no test has a result".into()));
    }
    if !too_short.is_empty() {
        let note = "too fast for a rate (bonnie++ gives none below half a second, and nothing where no time passed): ".to_owned();
        reading.notes.push(note + &too_short.join(", "));
    }
    Ok(reading)
}

enum BonnieValue {
    Absent,
    TooShort,
    Number(f64),
}

fn parse_value(text: &str) -> Result<BonnieValue, OutputFault> {
    if text.is_empty() {
        return Ok(BonnieValue::Absent);
    }
    if text.bytes().all(|byte| byte == b'+') {
        return Ok(BonnieValue::TooShort);
    }
    match parse_number(text)? {
        // A rate of nothing is none: no time passed, or nothing was done.
        value if value > 0.0 => Ok(BonnieValue::Number(value)),
        _ => Ok(BonnieValue::TooShort),
    }
}

/// A latency with its unit; absent where the test was not run.
fn parse_seconds(text: &str) -> Result<Option<f64>, OutputFault> {
    if text.is_empty() {
        return Ok(None);
    }
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let parsed =
        units.iter().find_map(|(unit, scale)| Some(parse_number(text.strip_suffix(unit)?).ok()? * scale));
    parsed.map(Some).ok_or_else(|| OutputFault::of_word(text, "is not a latency (us, ms or s)"))
}

/// The size of the big file: in MiB, or with its unit; absent if the test did not run.
fn parse_size(text: &str) -> Result<Option<u64>, OutputFault> {
    let text = text.split(':').next().unwrap_or_default();
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let units = [("G", 30), ("M", 20), ("k", 10), ("", 20)];
    let parsed = units.iter().find_map(|(unit, shift)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
        number.checked_mul(1 << shift)
    });
    parsed.map(Some).ok_or_else(|| OutputFault::of_word(text, "is not the size of a file"))
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::Bonnie;
    use fsverdict_judgement::journal::Unit;

    /// Printed by bonnie++ 2.00a with -s 1024 -r 0 -n 16:1024:1024, on a tmpfs.
    const FULL: &str = include_str!("fixtures/bonnie-2.00.csv");
    /// With -s 64 -r 0 -n 1: most tests too short.
    const SHORT: &str = include_str!("fixtures/bonnie-2.00-too-short.csv");
    /// With -s 0 -n 4: no big file.
    const FILES: &str = include_str!("fixtures/bonnie-2.00-files-only.csv");
    /// In the order of 1.03 (format 1 of bon_csv2html(1)), the numbers made up.
    const OLD: &str = "host,2000M,31220,92,33851,15,16401,6,40303,94,71220,11,182.5,1,16,+++++,+++,+++++,+++,+++++,+++,9120,88,+++++,+++,8210,71\n";

    fn value(reading: &Reading, metric: &str) -> Option<(f64, Unit)> {
        reading
            .measurements
            .iter()
            .find(|found| found.metric == metric)
            .map(|found| (found.value, found.unit))
    }

    #[test]
    fn the_line_of_version_2_gives_rates_cpu_and_latencies() {
        let reading = Bonnie.read_output(FULL, "").unwrap();
        assert_eq!(value(&reading, "bonnie_block_write"), Some((222_901.0 * 1024.0, Unit::BytesPerSecond)));
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some((0.49, Unit::Ratio)));
        assert_eq!(value(&reading, "bonnie_char_write_latency"), Some((20_963.0 * 1e-6, Unit::Seconds)));
        assert_eq!(value(&reading, "bonnie_random_delete_latency"), Some((12_084.0 * 1e-6, Unit::Seconds)));
        assert_eq!(value(&reading, "bonnie_block_read"), None);
        assert_eq!(reading.working_set, Some(1 << 30));
        assert!(reading.notes[0].contains("bonnie_block_read, bonnie_seeks"), "{}", reading.notes[0]);
    }

    #[test]
    fn tests_left_out_or_too_short_are_left_out() {
        let reading = Bonnie.read_output(SHORT, "").unwrap();
        assert_eq!(reading.working_set, Some(64 << 20));
        assert_eq!(value(&reading, "bonnie_char_read"), Some((1035.0 * 1024.0, Unit::BytesPerSecond)));
        let reading = Bonnie.read_output(FILES, "").unwrap();
        assert_eq!(reading.working_set, None);
        assert!(reading.measurements.iter().all(|found| found.metric.ends_with("_latency")));
    }

    #[test]
    fn what_took_no_time_has_no_number_and_fails_nothing() {
        // A rate, its CPU, both, or a latency, for which the guest's clock did not move.
        for (from, to) in
            [("222901,49,", ",49,"), ("222901,49,", "222901,,"), ("222901,49,", ",,"), (",20963us,", ",,")]
        {
            assert!(FULL.contains(from), "{from}");
            let reading = Bonnie.read_output(&FULL.replacen(from, to, 1), "").unwrap();
            assert!(value(&reading, "bonnie_block_read_cpu").is_some() || !reading.measurements.is_empty());
            let kept = value(&reading, "bonnie_block_write").is_some();
            assert_eq!(kept, !to.starts_with(",") || from.starts_with(",20963us"), "{to}");
            assert_eq!(reading.notes[0].contains("bonnie_block_write,"), !kept, "{}", reading.notes[0]);
        }
    }

    #[test]
    fn a_rate_of_0_is_absent_and_a_share_of_the_processor_is_not() {
        let reading = Bonnie.read_output(&FULL.replacen("222901,49,", "0,0,", 1), "").unwrap();
        assert_eq!(value(&reading, "bonnie_block_write"), None);
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some((0.0, Unit::Ratio)));
        assert!(reading.notes[0].contains("bonnie_block_write"), "{}", reading.notes[0]);
    }

    #[test]
    fn the_line_of_version_1_has_no_latencies() {
        let reading = Bonnie.read_output(OLD, "").unwrap();
        assert_eq!(value(&reading, "bonnie_seeks"), Some((182.5, Unit::PerSecond)));
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some((0.15, Unit::Ratio)));
        assert_eq!(value(&reading, "bonnie_random_delete"), Some((8210.0, Unit::PerSecond)));
        assert_eq!(reading.working_set, Some(2000 << 20));
        assert!(!reading.measurements.iter().any(|found| found.metric.ends_with("_latency")));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let cut = &FULL[..FULL.len() / 2];
        let word = FULL.replacen("222901", "fast", 1);
        for (wrong, why) in [
            ("", "no line"),
            (cut, "values, not 27, 48 or 50"),
            (word.as_str(), "\"fast\" is not a number"),
            (&format!("{FULL}{FULL}"), "leave out -x"),
        ] {
            let error = Bonnie.read_output(wrong, "").unwrap_err();
            let shown = format!("{error}\n{}", error.hint);
            assert!(shown.contains(why) && shown.contains(wrong.trim()), "{shown}");
        }
    }

    #[test]
    fn a_refusal_of_its_own_gets_a_way_out() {
        let hint = Bonnie
            .hint_for_output("File size should be double RAM for good results, RAM is 24104M.\nusage:\n");
        assert!(hint.unwrap().contains("-r 0"));
        assert!(
            Bonnie
                .hint_for_output("bonnie++: invalid option -- '-'\nusage:\n")
                .unwrap()
                .contains("bonnie++(8)")
        );
        assert_eq!(Bonnie.hint_for_output("Can't write block 7380."), None);
    }

    #[test]
    fn it_runs_as_root_only_when_nobody_says_otherwise() {
        assert_eq!(Bonnie.command_line("-s 2000"), "exec bonnie++ -q -d \"$FOLDER\" -u root -s 2000");
        assert_eq!(Bonnie.command_line("-u nobody"), "exec bonnie++ -q -d \"$FOLDER\" -u nobody");
    }
}
