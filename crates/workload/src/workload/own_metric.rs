//! Reads a user-defined metric from a program's output. A missing number fails the trial and shows the last lines: a
//! benchmark that prints nothing must not look like a fast one.

use fsverdict_judgement::journal::Measurement;
use fsverdict_judgement::plan::{NumberPattern, NumberSource, OwnMetric, Unit, is_printed_unit};
use fsverdict_text::Reason;

use super::json::{BrokenJson, last_document};
use super::printed_number::{NumberPlace, parse_captured_number, parse_whole_time};

/// Of the last lines of an output so many are shown, and so many characters of each.
const LINES: usize = 6;
const CHARACTERS: usize = 200;
/// Reasons are told on one line.
const BETWEEN: &str = " / ";

/// A program's output, as far as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// Bytes that are kept of either at most, the last ones.
    pub kept: usize,
    /// Seconds that the trial has run for: no time that it measured is longer.
    pub longest: f64,
}

/// A metric of a plan's own that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its metric `{metric}` cannot be read: {what}; {lines}")]
pub struct OwnMetricError {
    pub metric: String,
    pub what: String,
    pub hint: String,
    lines: String,
}

struct Unread {
    what: String,
    hint: String,
}

impl Unread {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// The metric of this name in an output.
///
/// # Errors
/// When the number is not there, is none, or is below 0.
pub fn read_own_metric(
    name: &str,
    metric: &OwnMetric,
    printed: Printed<'_>,
) -> Result<Measurement, OwnMetricError> {
    let value = match &metric.found {
        NumberSource::Match(pattern) => match_pattern(pattern, printed, metric),
        NumberSource::Json(pointer) => pointed_at(pointer, printed, metric),
    };
    let value = value.and_then(|value| check_magnitude(value, metric, printed.longest));
    match value {
        Ok(value) => Ok(Measurement {
            better: Some(metric.better),
            ..Measurement::new(name.to_owned(), metric.kept_in(), value)
        }),
        Err(Unread { what, hint }) => {
            Err(OwnMetricError { metric: name.to_owned(), what, hint, lines: last_lines(printed) })
        }
    }
}

fn match_pattern(pattern: &str, printed: Printed<'_>, metric: &OwnMetric) -> Result<f64, Unread> {
    let compiled = NumberPattern::new(pattern).map_err(|reason| Unread::new(reason.what, reason.hint))?;
    let number = compiled.find_last(printed.stdout).ok_or_else(|| match compiled.find_last(printed.stderr) {
        Some(_) => Unread::new(
            format!(
                "nothing on its standard output matches `{pattern}`, but something on its standard error does"
            ),
            "put 2>&1 behind the command whose number it is",
        ),
        None => Unread::new(
            format!("nothing that it printed matches `{pattern}`"),
            "the pattern is a regular expression; try it with: … | grep -E 'pattern'",
        ),
    })?;
    kept_of(
        &NumberPlace {
            text: printed.stdout,
            begin: number.start,
            end: number.end,
            separated_before: pattern.contains(",(") || pattern.contains(":("),
            separated_behind: pattern.contains("),") || pattern.contains("):"),
        },
        metric,
    )
}

fn pointed_at(pointer: &str, printed: Printed<'_>, metric: &OwnMetric) -> Result<f64, Unread> {
    // A program may say something before its JSON and behind it; of several documents the last one counts.
    let tree = last_document(printed.stdout).map_err(|broken| {
        let hint = match printed.stdout.len() >= printed.kept {
            true => format!(
                "only the last {} bytes of an output are kept: make the program print less",
                printed.kept
            ),
            false => String::new(),
        };
        let BrokenJson { begins, breaks, what, .. } = broken;
        let problem = format!(
            "what begins as JSON in line {begins} of its standard output is no JSON in line {breaks}: {what}"
        );
        Unread::new(problem, hint)
    })?;
    let tree = tree.ok_or_else(|| {
        Unread::new(
            "there is no JSON on its standard output",
            "JSON is an object, { … }, or a list on lines of its own",
        )
    })?;
    match tree.pointer(pointer) {
        Some(serde_json::Value::Number(number)) => {
            kept_of(&NumberPlace::whole_text(&number.to_string()), metric)
        }
        Some(serde_json::Value::String(text)) => {
            let place = NumberPlace::whole_text(text);
            kept_of(&place, metric).map_err(|unread| Unread {
                what: format!("the text at {pointer}, {}", unread.what),
                ..unread
            })
        }
        Some(_) => Err(Unread::new(
            format!("what stands at {pointer} is no number"),
            "let the pointer go on to the number",
        )),
        None => Err(Unread::new(
            format!("nothing stands at {pointer} of its JSON"),
            "a pointer has a slash before each key, and before each number of a list, from 0",
        )),
    }
}

/// Refuses a time that the trial cannot have measured.
fn check_magnitude(value: f64, metric: &OwnMetric, longest: f64) -> Result<f64, Unread> {
    if metric.kept_in() != Unit::Seconds || value <= longest {
        return Ok(value);
    }
    Err(Unread::new(
        format!("it is {value} s, and the trial had run for {longest:.1} s, all processors together"),
        "is the unit the right one? A sum over threads is printed without a unit, and has the unit `count` in the plan",
    ))
}

/// The number at a place, with the unit behind it, in the unit that the journal keeps.
fn kept_of(place: &NumberPlace<'_>, metric: &OwnMetric) -> Result<f64, Unread> {
    let unread = |reason: Reason| Unread::new(reason.what, reason.hint);
    if metric.kept_in() == Unit::Seconds
        && let Some(seconds) = parse_whole_time(&place.text[place.begin..place.end])
    {
        return Ok(seconds);
    }
    let printed = parse_captured_number(place).map_err(unread)?;
    if printed.value < 0.0 {
        let problem = format!("it is {}, which is below 0", printed.value);
        return Err(Unread::new(problem, "numbers here are 0 or more"));
    }
    if printed.unit_is_captured && !is_printed_unit(printed.word) {
        let shown: String = place.text[place.begin..place.end].chars().take(CHARACTERS).collect();
        return Err(Unread::new(
            format!("`{shown}` is not a number"),
            "let the pattern catch the number alone",
        ));
    }
    let value = metric.kept_as_printed(printed.value, printed.word, printed.attached).map_err(unread)?;
    let problem = || format!("{:e} {} are more than any number here", printed.value, metric.unit);
    value.is_finite().then_some(value).ok_or_else(|| Unread::new(problem(), "is the unit the right one?"))
}

/// The end of the standard output, or of standard error if the former is empty.
fn last_lines(printed: Printed<'_>) -> String {
    let lines = |text: &str| -> Vec<String> {
        let filled: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let cut = |line: &&str| line.chars().take(CHARACTERS).collect();
        filled[filled.len().saturating_sub(LINES)..].iter().map(cut).collect()
    };
    let (stdout, stderr) = (lines(printed.stdout), lines(printed.stderr));
    match (stdout.is_empty(), stderr.is_empty()) {
        (true, true) => "it printed nothing".to_owned(),
        (true, false) => format!("its last lines, on standard error, were: {}", stderr.join(BETWEEN)),
        (false, _) => format!("its last lines were: {}", stdout.join(BETWEEN)),
    }
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::plan::{Better, NumberSource, OwnMetric};

    use super::{OwnMetricError, Printed, read_own_metric};

    fn read(found: NumberSource, unit: &str, stdout: &str, stderr: &str) -> Result<f64, OwnMetricError> {
        let metric = OwnMetric { found, unit: unit.to_owned(), better: Better::Higher };
        let printed = Printed { stdout, stderr, kept: 1000, longest: 3600.0 };
        let found = read_own_metric("tps", &metric, printed)?;
        assert_eq!((found.metric.as_ref(), found.better), ("tps", Some(Better::Higher)));
        Ok(found.value)
    }

    fn pattern(pattern: &str) -> NumberSource {
        NumberSource::Match(pattern.to_owned())
    }

    fn pointer(pointer: &str) -> NumberSource {
        NumberSource::Json(pointer.to_owned())
    }

    #[test]
    fn the_last_match_counts_in_its_unit() {
        let progress = "progress: 1 s, tps = 10.5\nprogress: 2 s, tps = 20.5\ntps = 15.25 (without)\n";
        assert_eq!(read(pattern("tps = ([0-9.]+)"), "1/s", progress, ""), Ok(15.25));
        assert_eq!(read(pattern("^tps = ([0-9.]+)"), "1/s", progress, ""), Ok(15.25));
        assert_eq!(read(pattern("took ([0-9.]+) ms"), "ms", "took 250 ms", ""), Ok(0.25));
        let json = "a warning\n{\"jobs\": [{\"read\": {\"iops\": 12.5, \"text\": \"7\"}}]}\n";
        assert_eq!(read(pointer("/jobs/0/read/iops"), "1/s", json, ""), Ok(12.5));
        assert_eq!(read(pointer("/jobs/0/read/text"), "1/s", json, ""), Ok(7.0));
    }

    #[test]
    fn a_number_is_read_whole_with_its_unit_or_shown() {
        let dd = |line: &'static str| format!("1073741824 bytes copied, {line}\n");
        let plain = pattern("copied, ([0-9.]+)");
        let rate = pattern(", ([0-9.]+) [kMG]B/s");
        let whole = pattern("copied, ([-+0-9.,eE]+)");
        for (found, unit, line, expected) in [
            (&plain, "s", "0.75 s, 1.4 GB/s", Ok(0.75)),
            (&plain, "ms", "0.75 s, 1.4 GB/s", Ok(0.75)),
            (&rate, "MB/s", "0.75 s, 1.4 GB/s", Ok(1.4e9)),
            (&rate, "MB/s", "0.75 s, 961 MB/s", Ok(961e6)),
            (&rate, "s", "0.75 s, 961 MB/s", Err("it is printed in `MB/s`, and the plan says `s`")),
            (&plain, "s", "0,00437 s, 961 MB/s", Err("line 1, column 26: `0` goes on with `,00437`")),
            (&plain, "s", "8.6e-05 s, 961 MB/s", Err("`8.6` goes on with `e-05`")),
            (&whole, "s", "0,00437 s, 961 MB/s", Ok(0.00437)),
            (&whole, "s", "8.6e-05 s, 961 MB/s", Ok(8.6e-5)),
            (&whole, "s", "12,345 s, 961 MB/s", Err("`12,345` may be 12345 or 12.345")),
            (&pattern("([0-9.]+)$"), "1/s", "rate 12,345", Err("begins before what was captured: `12,345`")),
            (&pattern(",([0-9.]+),"), "1/s", "3122,92,33851", Ok(92.0)),
            (&pattern("IOPS=([0-9.]+)"), "1/s", "IOPS=12.3k, BW=1", Ok(12_300.0)),
        ] {
            let read = read(found.clone(), unit, &dd(line), "");
            match (read, expected) {
                (Ok(value), Ok(expected)) => {
                    assert!((value - expected).abs() < 1e-9 * expected, "{line}: {value}");
                }
                (Err(error), Err(why)) => assert!(error.what.contains(why), "{line}: {}", error.what),
                (read, _) => panic!("{line}: {read:?}"),
            }
        }
    }

    #[test]
    fn a_number_with_a_multiplier_or_a_second_unit_is_whole_or_refused() {
        let rate = pattern("completed in .*, ([0-9.]+) (?:k )?iops");
        let last = pattern("([0-9.]+)s$");
        let time = pattern("took ([0-9.]+)");
        let whole = pattern("took (.*)");
        for (found, unit, line, expected) in [
            (&rate, "1/s", "9 requests completed in 1.1 ms, 8.25 k iops", Ok(8250.0)),
            (&rate, "1/s", "9 requests completed in 1.1 ms, 825 iops", Ok(825.0)),
            (&pattern("([0-9.]+) iops"), "1/s", "8.25 iops", Ok(8.25)),
            (&time, "1/s", "took 8.25 M ops/s", Ok(8.25e6)),
            (&time, "1/s", "took 8.25 kiops", Ok(8250.0)),
            (&time, "1/s", "took 8.25 million iops", Ok(8.25e6)),
            (&time, "1/s", "took 8.25 K, all", Ok(8250.0)),
            (&time, "MB", "took 8.25 G blocks", Err("by 1000 or by 1024")),
            (&last, "s", "real 1m7.25s", Err("begins before what was captured: `1m7.25`")),
            (&last, "s", "real 1h 2m 7.25s", Err("begins before what was captured: `2m 7.25`")),
            (&last, "s", "bs_4m 7.25s", Ok(7.25)),
            (&last, "s", "took 3 s 7.25s", Ok(7.25)),
            (&time, "s", "took 1 min 7 s", Err("`1` goes on with `min 7 s`")),
            (&time, "s", "took 1 min, 7 errors", Ok(60.0)),
            (&whole, "s", "took 1m7.25s", Ok(67.25)),
            (&whole, "ms", "took 1 min 7 s", Ok(67.0)),
            (&whole, "s", "took 1:07.25", Ok(67.25)),
            (&whole, "s", "took 0:59:07", Ok(3547.0)),
            (&whole, "s", "took 1:72", Err("goes on with")),
            (&time, "s", "took 1:07.25", Err("goes on with")),
            (&whole, "1/s", "took 1m7.25s", Err("goes on with")),
            (&time, "ms", "took 18446744073709.55 ms", Err("a counter of 64 bits holds below 0")),
            (
                &pattern("took ([0-9.e]+)"),
                "B",
                "took 1.8446744073709552e19 B",
                Err("a counter of 64 bits holds below 0"),
            ),
            (&time, "count", "took 9223372036854775807 x", Err("a counter of 64 bits holds below 0")),
            (&time, "count", "took 184467 x", Ok(184_467.0)),
            (&time, "ms", "took 4294967295 ms", Err("and the trial had run for")),
            (&time, "count", "took 4294967295 ms", Err("printed in `ms`")),
        ] {
            match (read(found.clone(), unit, line, ""), expected) {
                (Ok(value), Ok(expected)) => {
                    assert!((value - expected).abs() < 1e-9 * expected, "{line}: {value}");
                }
                (Err(error), Err(why)) => assert!(error.what.contains(why), "{line}: {}", error.what),
                (read, _) => panic!("{line}: {read:?}"),
            }
        }
    }

    #[test]
    fn the_last_of_several_documents_counts() {
        for (stdout, expected) in [
            ("[warn] cache is cold\n{\"lat\": 1.5}\n", Ok(0.0015)),
            ("{\"lat\": 1}\n{\"lat\": 2}\n", Ok(0.002)),
            ("{\"lat\": \"2.5 s\"}\n", Ok(2.5)),
            ("{\"lat\": 8.6e-05}\n", Ok(8.6e-8)),
            ("{\"lat\": \"1.4 GB/s\"}\n", Err("printed in `GB/s`")),
            ("{\"lat\": \"12 apples\"}\n", Err("is not a number")),
            ("{\"lat\": 1}\n{\"lat\": 2,\n", Err("what begins as JSON in line 2")),
            ("{\"lat\": 1}\n{\"other\": 2}\n", Err("nothing stands at /lat")),
        ] {
            match (read(pointer("/lat"), "ms", stdout, ""), expected) {
                (Ok(value), Ok(expected)) => assert!((value - expected).abs() < 1e-12, "{stdout}: {value}"),
                (Err(error), Err(why)) => assert!(error.what.contains(why), "{stdout}: {}", error.what),
                (read, _) => panic!("{stdout}: {read:?}"),
            }
        }
    }

    /// The patterns that hints and documents offer read whole numbers.
    #[test]
    fn patterns_that_are_offered_read_no_part_of_a_number() {
        let offered = pattern("tps = ([-+0-9.,eE]+)");
        for (text, value) in
            [("0,00437", 0.00437), ("8.6e-05", 8.6e-5), ("1,234,567.5", 1_234_567.5), ("12.5, and", 12.5)]
        {
            let found = read(offered.clone(), "1/s", &format!("tps = {text}\n"), "");
            assert_eq!(found, Ok(value), "{text}");
        }
    }

    #[test]
    fn a_number_that_its_unit_makes_too_large_fails() {
        let error = read(pattern("x (.*)"), "TiB", "x 1e300", "").unwrap_err();
        assert!(error.what.contains("1e300 TiB are more than any number"), "{}", error.what);
        assert!(read(pattern("x (.*)"), "1/s", "x 1e300", "").is_ok());
    }

    #[test]
    fn what_is_no_number_fails_with_the_last_lines() {
        let many: String = (1..=50).map(|line| format!("line {line}\n")).collect();
        for (found, stdout, stderr, why, shown) in [
            (pattern("tps = ([0-9.]+)"), many.as_str(), "", "matches `tps", "line 45 / line 46"),
            (
                pattern("tps = ([0-9.]+)"),
                "",
                "connection refused",
                "matches `tps",
                "on standard error, were: connection",
            ),
            (pattern("tps = ([0-9.]+)"), "", "tps = 7", "on its standard error does", "tps = 7"),
            (pattern("tps = (.*)"), "tps = nan", "", "no finite number", "tps = nan"),
            (pattern("tps = (.*)"), "tps = inf", "", "no finite number", "tps = inf"),
            (pattern("tps = (.*)"), "tps = -3", "", "below 0", "tps = -3"),
            (pattern("tps = (.*)"), "tps = 1,234", "", "`1,234` may be 1234 or 1.234", "1,234"),
            (pattern("tps = (.*)"), "", "", "matches", "it printed nothing"),
            (pointer("/a"), "no JSON", "", "no JSON", "no JSON"),
            (pointer("/a"), "{\"a\": ", "", "is no JSON", "{\"a\""),
            (pointer("/a"), "{\"a\": {}}", "", "is no number", "{\"a\""),
            (pointer("/b"), "{\"a\": 1}", "", "nothing stands at /b", "{\"a\""),
            (pointer("/a"), "{\"a\": \"nan\"}", "", "no finite number", "nan"),
        ] {
            let error = read(found, "1/s", stdout, stderr).unwrap_err();
            let said = error.to_string();
            assert!(said.contains(why) && said.contains(shown), "{said}");
            assert!(said.len() < 2500 && !error.what.is_empty());
        }
        let long = "x".repeat(100_000);
        let said = read(pattern("tps = (.*)"), "1", &long, "").unwrap_err().to_string();
        assert!(said.len() < 1000, "{}", said.len());
    }
}
