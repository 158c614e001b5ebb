//! Parses the reports that `iostat -x` prints: the rates of each device, and the time of day if it is shown.

use std::collections::BTreeMap;

use fsverdict_text::Reason;

/// Lines in which a heading is looked for.
const LOOKED_AT: usize = 200;
pub(super) const RECORD: &str = "record a line each second, with its time: iostat -x -t 1 60";

/// A device's average rates in one interval, per second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeviceRates {
    pub(super) reads: StreamRate,
    pub(super) writes: StreamRate,
    pub(super) discards: StreamRate,
    pub(super) flushes: StreamRate,
    pub(super) line: usize,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamRate {
    pub(super) per_second: f64,
    /// Bytes of each.
    pub(super) size: f64,
    /// Seconds that each took.
    pub(super) took: f64,
}

/// One report: when it was printed, in seconds of its day, and each device's line.
#[derive(Debug, Default)]
pub(super) struct IostatReport<'a> {
    pub(super) at: Option<f64>,
    pub(super) devices: BTreeMap<&'a str, DeviceRates>,
}

/// A heading of a table of devices.
fn parse_heading(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_heading = matches!(words.first(), Some(&"Device" | &"Device:"));
    (is_heading && (words.contains(&"tps") || (words.contains(&"r/s") && words.contains(&"w/s"))))
        .then_some(words)
}

/// Whether a text is output of iostat: one of its first lines is the heading of a device table.
pub(super) fn looks_like(text: &str) -> bool {
    text.lines().take(LOOKED_AT).any(|line| parse_heading(line).is_some())
}

pub(super) fn parse_reports(text: &str) -> Result<Vec<IostatReport<'_>>, Reason> {
    let mut reports: Vec<IostatReport<'_>> = Vec::new();
    let mut columns: Option<Vec<&str>> = None;
    let mut at = None;
    let last = text.lines().count();
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        if let Some(words) = parse_heading(line) {
            if !words.contains(&"r/s") {
                return Err(Reason::new(
                    format!("line {number}: iostat ran without -x, so it has no data about single requests"),
                    RECORD,
                ));
            }
            columns = Some(words);
            reports.push(IostatReport { at: at.take(), devices: BTreeMap::new() });
            continue;
        }
        if line.trim().is_empty() {
            columns = None;
            continue;
        }
        let (Some(names), Some(report)) = (&columns, reports.last_mut()) else {
            at = time_of_day(line).or(at);
            continue;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        // A recording that is cut off ends within a line.
        if number == last && (words.len() < names.len() || !text.ends_with('\n')) {
            continue;
        }
        let wrong = |what: String| Reason::plain(format!("line {number}: {what}"));
        if words.len() != names.len() {
            return Err(wrong(format!("it has {} columns, and the heading {}", words.len(), names.len())));
        }
        let rates = rates_of(names, &words, number).map_err(|error| wrong(error.to_string()))?;
        report.devices.insert(words[0], rates);
    }
    Ok(reports)
}

/// The beginning of a word where a number is wanted.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no number")]
struct NoNumber(String);

/// The rates of a device's line. Columns differ between versions: kB/s, MB/s or sectors, sizes for reads and writes or for both.
fn rates_of(names: &[&str], words: &[&str], line: usize) -> Result<DeviceRates, NoNumber> {
    let column = |name: &str| -> Result<Option<f64>, NoNumber> {
        let Some(place) = names.iter().position(|known| *known == name) else { return Ok(None) };
        // A locale may have a comma for the decimal point.
        let word = words.get(place).copied().unwrap_or_default();
        let plain = word.replacen(',', ".", 1);
        let number = plain.parse::<f64>().ok().filter(|number| (0.0..1e15).contains(number));
        number.map(Some).ok_or_else(|| NoNumber(word.chars().take(40).collect()))
    };
    let stream = |prefix: &str| -> Result<StreamRate, NoNumber> {
        let per_second = column(&format!("{prefix}/s"))?.unwrap_or(0.0);
        let mut bytes = None;
        for (unit, factor) in [("kB/s", 1024.0), ("MB/s", 1_048_576.0), ("sec/s", 512.0)] {
            bytes = bytes.or(column(&format!("{prefix}{unit}"))?.map(|rate| rate * factor));
        }
        let took = column(&format!("{prefix}_await"))?.or(column("await")?).unwrap_or(0.0) / 1e3;
        let size = if per_second > 0.0 { bytes.unwrap_or(0.0) / per_second } else { 0.0 };
        Ok(StreamRate { per_second, size, took })
    };
    Ok(DeviceRates {
        reads: stream("r")?,
        writes: stream("w")?,
        discards: stream("d")?,
        flushes: stream("f")?,
        line,
    })
}

/// The time in a line that `iostat -t` prints before a report: `11/26/26 14:15:10`, `02:15:10 PM`, `2026-11-26T14:15:10+0000`.
fn time_of_day(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split(|letter: char| letter.is_whitespace() || letter == 'T').collect();
    let clock = words.iter().find(|word| word.matches(':').count() >= 2)?;
    let mut parts = clock.split(':').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<f64>().ok()
    });
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let hours = match words.last() {
        Some(&"PM") if hours < 12.0 => hours + 12.0,
        Some(&"AM") if (hours - 12.0).abs() < 0.5 => 0.0,
        _ => hours,
    };
    (hours < 24.0 && minutes < 60.0 && seconds < 61.0).then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}
