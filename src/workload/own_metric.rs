//! A number of the user's own out of what a program printed. What cannot be read fails the trial, and shows its last lines:
//! a benchmark that says nothing must not look like one that was fast.

use fsverdict_judgement::journal::Measurement;
use fsverdict_judgement::plan::{NumberSource, OwnMetric, number_pattern};

/// Of the last lines of an output so many are shown, and so many characters of each.
const LINES: usize = 6;
const CHARACTERS: usize = 200;
/// Reasons are told on one line.
const BETWEEN: &str = " / ";

/// What a program printed, as far as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// Bytes that are kept of either at most, the last ones.
    pub kept: usize,
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
    let found = match &metric.found {
        NumberSource::Match(pattern) => matched(pattern, printed),
        NumberSource::Json(pointer) => pointed_at(pointer, printed),
    };
    let value = found.and_then(|text| number(&text)).and_then(|printed| {
        let kept = metric.kept(printed);
        let what = format!("{printed:e} {} are more than any number here", metric.unit);
        kept.is_finite().then_some(kept).ok_or_else(|| Unread::new(what, "is the unit the right one?"))
    });
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

fn matched(pattern: &str, printed: Printed<'_>) -> Result<String, Unread> {
    let compiled = number_pattern(pattern).map_err(|reason| Unread::new(reason.what, reason.hint))?;
    let last = |text: &str| {
        let found = compiled.captures_iter(text).last()?;
        Some(found.get(1)?.as_str().to_owned())
    };
    last(printed.stdout).ok_or_else(|| match last(printed.stderr) {
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
    })
}

fn pointed_at(pointer: &str, printed: Printed<'_>) -> Result<String, Unread> {
    // A program may say something before its JSON, on lines of their own.
    let text = printed.stdout;
    let is_begin = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let begin = text.match_indices(['{', '[']).map(|(at, _)| at).find(|at| is_begin(*at));
    let Some(begin) = begin else {
        return Err(Unread::new(
            "there is no JSON on its standard output",
            "JSON begins with { or [ on a line of its own",
        ));
    };
    let mut reader = serde_json::Deserializer::from_str(&text[begin..]);
    let tree: serde_json::Value = serde::Deserialize::deserialize(&mut reader).map_err(|error| {
        let hint = match text.len() >= printed.kept {
            true => format!("the last {} bytes of an output are kept: let it print less", printed.kept),
            false => String::new(),
        };
        Unread::new(format!("its standard output is no JSON: {error}"), hint)
    })?;
    match tree.pointer(pointer) {
        Some(serde_json::Value::Number(number)) => Ok(number.to_string()),
        Some(serde_json::Value::String(text)) => Ok(text.clone()),
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

fn number(text: &str) -> Result<f64, Unread> {
    let shown: String = text.chars().take(CHARACTERS).collect();
    let hint = "let the pattern catch the digits and the point alone: ([0-9.]+)";
    let value: f64 = text.trim().parse().map_err(|_| Unread::new(format!("`{shown}` is no number"), hint))?;
    match value {
        usual if usual.is_finite() && (0.0..=1e300).contains(&usual) => Ok(usual),
        below if below < 0.0 => {
            Err(Unread::new(format!("it is {shown}, which is below 0"), "numbers here are 0 or more"))
        }
        _ => Err(Unread::new(
            format!("it is `{shown}`, which is no finite number"),
            "the program did not measure anything",
        )),
    }
}

/// The end of what was printed, of standard error where the other is empty.
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
        let printed = Printed { stdout, stderr, kept: 1000 };
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
            (pattern("tps = (.*)"), "tps = 1,234", "", "`1,234` is no number", "1,234"),
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
