//! Compares the unit that a program prints after a number with the plan's unit: the same unit is accepted, another unit
//! of the same kind is converted, and any other unit is an error.

use fsverdict_text::Reason;

use super::own_metric::OwnMetric;
use super::unit::{Unit, unit_written};

/// Units of time, the largest first, in seconds, by the words that programs print.
const PRINTED_TIMES: [(&[&str], f64); 8] = [
    (&["week", "weeks"], 604_800.0),
    (&["d", "day", "days"], 86_400.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], 1e-3),
    (&["us", "µs", "μs", "usec", "usecs", "µsec", "μsec", "micros", "microsecond", "microseconds"], 1e-6),
    (&["ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"], 1e-9),
];

/// A unit of time that programs print.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedTimeUnit {
    /// How many units are larger.
    pub rank: usize,
    pub seconds: f64,
}

impl PrintedTimeUnit {
    pub fn find(word: &str) -> Option<Self> {
        let rank = PRINTED_TIMES.iter().position(|(names, _)| names.contains(&word))?;
        Some(Self { rank, seconds: PRINTED_TIMES[rank].1 })
    }
}

/// Bit rates, as factors to bytes per second.
const BIT_RATES: &[(&str, f64)] = &[
    ("bit/s", 0.125),
    ("kbit/s", 125.0),
    ("Mbit/s", 125_000.0),
    ("Gbit/s", 125_000_000.0),
    ("kbps", 125.0),
    ("Mbps", 125_000.0),
    ("Gbps", 125_000_000.0),
];

/// Multiplier letters directly after a number.
const MULTIPLIERS: &[(&str, f64)] = &[
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("P", 1e15),
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
];

/// Nouns that programs print behind a number of them, in lower case.
const COUNTED: &[&str] = &[
    "iops",
    "ops",
    "op",
    "ios",
    "io",
    "requests",
    "request",
    "reqs",
    "req",
    "tps",
    "qps",
    "rps",
    "txns",
    "txn",
    "tx",
    "transactions",
    "transaction",
    "queries",
    "calls",
    "files",
    "rows",
    "records",
    "messages",
    "msgs",
    "events",
    "items",
    "keys",
    "entries",
    "pages",
    "hz",
];

/// The meaning of a word after a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PrintedWord {
    Unit {
        unit: Unit,
        factor: f64,
    },
    /// Of these two units of a plan: `KB` is 1000 or 1024 bytes.
    Either(&'static str, &'static str),
    Multiplier(f64),
    /// So many thousands or millions of a noun: `kiops`, `Mops/s`.
    CountOf(f64),
    /// A rate of something, as `ops/s`.
    RateOf,
    Unknown,
}

/// Parses the word after a number.
fn read_word(word: &str, attached: bool) -> PrintedWord {
    let word = word.replace('μ', "µ");
    // `/sec` and `ps` are `/s`; the time for each operation is a time.
    let mut normal = word.clone();
    for ending in ["/second", "/sec"] {
        if let Some(before) = normal.strip_suffix(ending) {
            normal = format!("{before}/s");
        }
    }
    if let Some((before, per)) = normal.split_once('/')
        && per != "s"
    {
        normal = before.to_owned();
    }
    if let Some(bytes) = normal.strip_suffix("bytes/s").or(normal.strip_suffix("byte/s")) {
        normal = format!("{bytes}B/s");
    }
    let spelled = ["bytes", "byte", "Bytes", "Byte"].iter().find_map(|name| normal.strip_suffix(name));
    if let Some(prefix) = spelled.filter(|prefix| !prefix.is_empty()) {
        normal = format!("{prefix}B");
    }
    if let Some(rate) = normal.strip_suffix("Bps") {
        normal = format!("{rate}B/s");
    }
    match normal.as_str() {
        "KB" => return PrintedWord::Either("kB", "KiB"),
        "KB/s" => return PrintedWord::Either("kB/s", "KiB/s"),
        _ => {}
    }
    if let Some((_, factor)) = BIT_RATES.iter().find(|(name, _)| *name == normal) {
        return PrintedWord::Unit { unit: Unit::BytesPerSecond, factor: *factor };
    }
    if let Some(time) = PrintedTimeUnit::find(&normal) {
        return PrintedWord::Unit { unit: Unit::Seconds, factor: time.seconds };
    }
    let known = if matches!(normal.as_str(), "byte" | "bytes" | "Bytes") { "B" } else { &normal };
    if let Ok(written) = unit_written(known)
        && !matches!(known, "1" | "count")
    {
        return PrintedWord::Unit { unit: written.unit, factor: written.factor };
    }
    if let Some((_, factor)) = MULTIPLIERS.iter().find(|(name, _)| *name == normal).filter(|_| attached) {
        return PrintedWord::Multiplier(*factor);
    }
    if let Some(factor) = counted_factor(&normal) {
        return PrintedWord::CountOf(factor);
    }
    if normal.ends_with("/s") { PrintedWord::RateOf } else { PrintedWord::Unknown }
}

/// The factor in `kiops` and `Mops/s`; `None` where no multiplier stands before a noun.
fn counted_factor(word: &str) -> Option<f64> {
    let counted = word.strip_suffix("/s").unwrap_or(word);
    // The shorter multiplier first: `Kiops` are thousands of iops.
    let mut multipliers: Vec<&(&str, f64)> = MULTIPLIERS.iter().collect();
    multipliers.sort_by_key(|(name, _)| name.len());
    multipliers.into_iter().find_map(|(name, factor)| {
        let noun = counted.strip_prefix(name)?.to_lowercase();
        COUNTED.contains(&noun.as_str()).then_some(*factor)
    })
}

/// Whether a word that stands apart from its number multiplies it, by the word behind it: `6.68 k iops`.
pub fn is_multiplier(word: &str, next: &str) -> bool {
    let is_word = next.is_empty() || next.chars().all(char::is_alphabetic) || next.contains('/');
    MULTIPLIERS.iter().any(|(name, _)| *name == word) && is_word
}

/// Whether a word that is captured together with a number is a unit.
pub fn is_printed_unit(word: &str) -> bool {
    read_word(word, true) != PrintedWord::Unknown
}

impl OwnMetric {
    /// Converts a number to the unit that the journal keeps, by the word printed behind it. `attached` means that
    /// nothing stands between the two.
    ///
    /// # Errors
    /// When the word is a unit that does not fit the plan's, or may be one of two.
    pub fn kept_as_printed(&self, number: f64, word: &str, attached: bool) -> Result<f64, Reason> {
        let kept = self.kept_in();
        let mismatch = || {
            Reason::new(
                format!("it is printed in `{word}`, and the plan says `{}`", self.unit),
                "write the unit that the program prints, or let the pattern catch another number",
            )
        };
        let ambiguous = || {
            Reason::new(
                format!("it is printed in `{word}`, which may count by 1000 or by 1024"),
                format!(
                    "the plan says `{}`: write in the plan which of the two it is, or let the program print bytes",
                    self.unit
                ),
            )
        };
        match read_word(word, attached) {
            PrintedWord::Unknown => Ok(self.to_kept_unit(number)),
            PrintedWord::Unit { unit, factor } if unit == kept => Ok(number * factor),
            // A single letter may mean anything.
            PrintedWord::Unit { .. }
                if !attached && word.chars().count() == 1 && word != "s" && word != "%" =>
            {
                Ok(self.to_kept_unit(number))
            }
            PrintedWord::Unit { .. } => Err(mismatch()),
            PrintedWord::Either(one, other) if self.unit == one || self.unit == other => {
                Ok(self.to_kept_unit(number))
            }
            PrintedWord::Either(..) if matches!(kept, Unit::Bytes | Unit::BytesPerSecond) => Err(ambiguous()),
            PrintedWord::Either(..) => Err(mismatch()),
            PrintedWord::Multiplier(factor) => match kept {
                Unit::PerSecond | Unit::Count | Unit::Ratio => Ok(self.to_kept_unit(number * factor)),
                Unit::Bytes if word.ends_with('i') => Ok(number * factor),
                // The plan says which of the two it is.
                Unit::Bytes | Unit::BytesPerSecond
                    if self.unit.to_lowercase().starts_with(&word.to_lowercase()) =>
                {
                    Ok(self.to_kept_unit(number))
                }
                Unit::Bytes | Unit::BytesPerSecond => Err(ambiguous()),
                Unit::Seconds => Err(mismatch()),
            },
            PrintedWord::CountOf(factor) => match kept {
                Unit::PerSecond | Unit::Count | Unit::Ratio => Ok(self.to_kept_unit(number * factor)),
                _ => Err(mismatch()),
            },
            PrintedWord::RateOf if kept == Unit::PerSecond => {
                let prefix = word.split('/').next().unwrap_or_default();
                let factor =
                    MULTIPLIERS.iter().find(|(name, _)| *name == prefix).map_or(1.0, |(_, factor)| *factor);
                Ok(self.to_kept_unit(number * factor))
            }
            // `125M/s`: the plan says which of the two it is.
            PrintedWord::RateOf
                if kept == Unit::BytesPerSecond && self.unit.starts_with(word.trim_end_matches("/s")) =>
            {
                Ok(self.to_kept_unit(number))
            }
            PrintedWord::RateOf => Err(mismatch()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::own_metric::{NumberSource, OwnMetric};
    use super::super::unit::Better;

    /// A number with the word behind it, for a plan's unit: what is kept, or a word of the error.
    #[test]
    fn a_printed_unit_is_converted_or_refused() {
        for (word, attached, unit, kept) in [
            ("MB/s", false, "MB/s", Ok(2e6)),
            ("GB/s", false, "MB/s", Ok(2e9)),
            ("MiB/s", true, "MB/s", Ok(2_097_152.0)),
            ("MB/sec", false, "GB/s", Ok(2e6)),
            ("bytes/sec", false, "MB/s", Ok(2.0)),
            ("MBps", false, "MB/s", Ok(2e6)),
            ("Mbit/s", false, "MB/s", Ok(250_000.0)),
            ("ms", false, "s", Ok(0.002)),
            ("usec", false, "ms", Ok(2e-6)),
            ("μs", true, "ms", Ok(2e-6)),
            ("seconds", false, "ms", Ok(2.0)),
            ("ns/op", false, "us", Ok(2e-9)),
            ("micros/op", false, "us", Ok(2e-6)),
            ("min", false, "s", Ok(120.0)),
            ("%", true, "1", Ok(0.02)),
            ("KB", false, "KiB", Ok(2048.0)),
            ("KB/s", false, "kB/s", Ok(2000.0)),
            ("KB", false, "MB", Err("by 1000 or by 1024")),
            ("MB", false, "MB/s", Err("printed in `MB`")),
            ("MB/s", false, "MB", Err("printed in `MB/s`")),
            ("s", false, "1/s", Err("printed in `s`")),
            ("ms", false, "MB/s", Err("printed in `ms`")),
            ("ops/sec", false, "1/s", Ok(2.0)),
            ("kop/s", false, "MB/s", Err("printed in `kop/s`")),
            ("kop/s", false, "1/s", Ok(2000.0)),
            ("kiops", false, "1/s", Ok(2000.0)),
            ("Kiops", true, "1/s", Ok(2000.0)),
            ("MIOPS", false, "1/s", Ok(2e6)),
            ("kreq/sec", false, "1/s", Ok(2000.0)),
            ("Mops", true, "count", Ok(2e6)),
            ("kops", false, "ms", Err("printed in `kops`")),
            ("million", false, "1/s", Ok(2.0)),
            ("million", true, "1/s", Ok(2e6)),
            ("days", false, "s", Ok(172_800.0)),
            ("hrs", false, "s", Ok(7200.0)),
            ("Mbytes", false, "B", Ok(2e6)),
            ("KiBytes", false, "MiB", Ok(2048.0)),
            ("days", false, "1/s", Err("printed in `days`")),
            ("k", true, "1/s", Ok(2000.0)),
            ("k/s", true, "1/s", Ok(2000.0)),
            ("M", true, "count", Ok(2e6)),
            ("k", false, "1/s", Ok(2.0)),
            ("M", true, "MiB", Ok(2_097_152.0)),
            ("G", true, "MiB", Err("by 1000 or by 1024")),
            ("Gi", true, "MiB", Ok(2_147_483_648.0)),
            ("M", true, "s", Err("printed in `M`")),
            ("max", false, "ms", Ok(0.002)),
            ("operations", false, "count", Ok(2.0)),
            ("B", false, "1/s", Ok(2.0)),
            ("", false, "ms", Ok(0.002)),
        ] {
            let metric = OwnMetric {
                found: NumberSource::Json("/x".to_owned()),
                unit: unit.to_owned(),
                better: Better::Lower,
            };
            let found = metric.kept_as_printed(2.0, word, attached);
            match (&found, kept) {
                (Ok(found), Ok(kept)) => {
                    assert!((found - kept).abs() < 1e-9 * kept, "{word} {unit}: {found}");
                }
                (Err(reason), Err(part)) => assert!(reason.what.contains(part), "{word} {unit}: {reason:?}"),
                _ => panic!("{word} for {unit}: {found:?}"),
            }
        }
    }
}
