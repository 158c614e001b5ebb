//! Numbers with units in a question: the time for the answer, bounds of latencies and throughputs, a difference that does
//! not matter, sizes and memory.

use std::time::Duration;

use fsverdict_text::{Bytes, parse_time, short_time_text};

/// The meaning of a number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum QuestionBound {
    /// How long the answer may take.
    Budget(Duration),
    Latency(LatencyLimit),
    Throughput(ThroughputLimit),
    /// A share of the time; whether it is the price of a feature that is bounded.
    Tolerance(f64, bool),
    Memory(Bytes),
}

/// A latency that must not be exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LatencyLimit {
    /// As a plan's requirement calls it: `p99`, `worst`.
    pub(super) metric: &'static str,
    pub(super) at_most: Duration,
}

/// A throughput that must be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThroughputLimit {
    pub(super) megabytes_per_second: f64,
    /// Whether it is that of reading; of writing otherwise.
    pub(super) is_of_reading: bool,
}

impl LatencyLimit {
    /// As a plan writes the bound.
    pub(super) fn bound(&self) -> String {
        format!("<= {}", short_time_text(self.at_most))
    }
}

impl ThroughputLimit {
    /// As a plan writes the bound.
    pub(super) fn bound(&self) -> String {
        format!(">= {}MB/s", self.megabytes_per_second)
    }
}

const BELOW: &[&str] = &[
    "at most",
    "no more than",
    "not more than",
    "less than",
    "lower than",
    "no longer than",
    "not longer than",
    "longer than",
    "not over",
    "up to",
    "below",
    "under",
    "within",
    "max",
    "maximum",
    "<",
    "<=",
    "≤",
];
const ABOVE: &[&str] = &[
    "no less than",
    "not less than",
    "no slower than",
    "not below",
    "more than",
    "faster than",
    "at least",
    "minimum",
    "min",
    "above",
    "over",
    ">=",
    ">",
    "≥",
];
const METRICS: &[(&str, &[&str])] = &[
    ("p50", &["p50", "median"]),
    ("p95", &["p95", "95th percentile"]),
    ("p99.9", &["p99.9", "p999", "99.9th percentile", "99.9 percentile", "99.9 % of"]),
    ("p99", &["p99", "99th percentile", "99 percentile", "99 % of", "tail latency"]),
    ("worst", &["worst case", "worst-case", "worst", "maximum latency", "max latency", "never"]),
];
/// Words that may stand between a metric and its bound.
const BESIDE_METRIC: &str = "latency latencies fsync commit commits case of must has have to be is stay stays remain should take takes at";
const BEFORE_TIME: &[&str] = &[
    "for at most",
    "in at most",
    "in under",
    "in less than",
    "within",
    "for",
    "in",
    "under",
    "i have",
    "time limit of",
    "time limit",
    "up to",
    "at most",
    "max",
];

/// The bound that begins at the first of these words, and how many words it takes. `is_alone`: these are all words of
/// their clause.
pub(super) fn parse_bound(words: &[&str], is_alone: bool) -> Option<(usize, QuestionBound)> {
    latency(words)
        .or_else(|| tolerance(words))
        .or_else(|| throughput(words))
        .or_else(|| memory(words))
        .or_else(|| budget(words, is_alone))
}

/// How many words the first of these phrases has with which the words begin.
fn phrase(words: &[&str], phrases: &[&str]) -> Option<usize> {
    phrases.iter().find_map(|phrase| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let stands = words.len() >= parts.len()
            && parts.iter().zip(words).all(|(part, word)| word.eq_ignore_ascii_case(part));
        stands.then_some(parts.len())
    })
}

/// A number with its unit, in one word or two: how many words, and the value in the unit of factor 1.
fn quantity(words: &[&str], unit: fn(&str) -> Option<f64>) -> Option<(usize, f64)> {
    let first = words.first()?.to_lowercase();
    if let (Some(number), Some(factor)) =
        (number(&first), words.get(1).and_then(|word| unit(&word.to_lowercase())))
    {
        return Some((2, number * factor));
    }
    let (digits, name) = first.split_at(first.find(|one: char| one.is_alphabetic() || one == 'µ')?);
    Some((1, number(digits)? * unit(name)?))
}

/// A number in digits or in words.
pub(super) fn number(word: &str) -> Option<f64> {
    const WORDS: [(&str, f64); 11] = [
        ("one", 1.0),
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("six", 6.0),
        ("eight", 8.0),
        ("ten", 10.0),
        ("fifteen", 15.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
    ];
    let in_words = WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    let is_plain = word.starts_with(|one: char| one.is_ascii_digit());
    in_words
        .or_else(|| word.parse().ok().filter(|number: &f64| is_plain && number.is_finite() && *number > 0.0))
}

fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "us" | "µs" | "microseconds" => Some(1e-6),
        "ms" | "msec" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        _ => None,
    }
}

fn seconds_to_wait(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hour" | "hours" => Some(3600.0),
        _ => None,
    }
}

fn bytes(unit: &str) -> Option<f64> {
    match unit {
        "kb" | "k" => Some(1e3),
        "mb" => Some(1e6),
        "gb" | "gig" | "gigs" | "g" => Some(1e9),
        "tb" | "t" => Some(1e12),
        "mib" => Some(1_048_576.0),
        "gib" => Some(1_073_741_824.0),
        "tib" => Some(1_099_511_627_776.0),
        _ => None,
    }
}

fn megabytes_per_second(unit: &str) -> Option<f64> {
    match unit {
        "kb/s" => Some(1e-3),
        "mb/s" | "mbyte/s" | "mbytes/s" => Some(1.0),
        "mib/s" => Some(1.048_576),
        "gb/s" => Some(1000.0),
        _ => None,
    }
}

/// A size: `4TB`, `500 GB`.
pub(super) fn parse_size(words: &[&str]) -> Option<(usize, Bytes)> {
    let (count, size) = quantity(words, bytes)?;
    (1e6..1e16).contains(&size).then_some((count, Bytes(size as u64)))
}

fn memory(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let (count, size) = parse_size(words)?;
    let of = usize::from(words.get(count).is_some_and(|word| *word == "of"));
    let is_memory =
        words.get(count + of).is_some_and(|word| ["ram", "memory"].contains(&word.to_lowercase().as_str()));
    is_memory.then_some((count + of + 1, QuestionBound::Memory(size)))
}

fn latency(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let metric_at =
        |at: usize| METRICS.iter().find_map(|(name, phrases)| Some((*name, phrase(&words[at..], phrases)?)));
    let bound_at = |at: usize| {
        let below = phrase(&words[at..], BELOW)?;
        let (count, at_most) = quantity(&words[at + below..], seconds)?;
        (1e-6..1e6).contains(&at_most).then(|| (at + below + count, Duration::from_secs_f64(at_most)))
    };
    if let Some((metric, mut at)) = metric_at(0) {
        while words.get(at).is_some_and(|word| BESIDE_METRIC.split(' ').any(|other| other == *word))
            && bound_at(at).is_none()
        {
            at += 1;
        }
        let (end, at_most) = bound_at(at)?;
        return Some((end, QuestionBound::Latency(LatencyLimit { metric, at_most })));
    }
    // `at most 50 ms worst case`
    let (end, at_most) = bound_at(0)?;
    let (metric, count) = metric_at(end).filter(|(metric, _)| words[end] != "never" && !metric.is_empty())?;
    Some((end + count, QuestionBound::Latency(LatencyLimit { metric, at_most })))
}

fn tolerance(words: &[&str]) -> Option<(usize, QuestionBound)> {
    const BEHIND: [&str; 8] =
        ["slower", "slowdown", "overhead", "loss", "penalty", "cost", "worse", "difference"];
    const OF_FEATURE: [&str; 5] = ["slowdown", "overhead", "loss", "penalty", "cost"];
    let below = phrase(words, BELOW)?;
    let share = number(words.get(below)?)?;
    let percent = words.get(below + 1).filter(|word| ["%", "percent"].contains(word))?;
    let behind = words.get(below + 2).filter(|word| BEHIND.contains(word) && !percent.is_empty())?;
    let than =
        phrase(&words[below + 3..], &["than plain", "than without", "than unencrypted", "than uncompressed"]);
    let is_price = than.is_some() || OF_FEATURE.contains(behind);
    Some((below + 3 + than.unwrap_or(0), QuestionBound::Tolerance(share / 100.0, is_price)))
}

fn throughput(words: &[&str]) -> Option<(usize, QuestionBound)> {
    const READS: [&str; 3] = ["reads", "reading", "read"];
    const WRITES: [&str; 3] = ["writes", "writing", "write"];
    let mut at = 0;
    let direction = |at: &mut usize| match words.get(*at) {
        Some(word) if READS.contains(word) => {
            *at += 1;
            Some(true)
        }
        Some(word) if WRITES.contains(word) => {
            *at += 1;
            Some(false)
        }
        _ => None,
    };
    let before = direction(&mut at);
    while words
        .get(at)
        .is_some_and(|word| ["throughput", "bandwidth", "speed", "must", "be", "of", "at"].contains(word))
        && phrase(&words[at..], ABOVE).is_none()
    {
        at += 1;
    }
    at += phrase(&words[at..], ABOVE)?;
    let (count, megabytes_per_second) = quantity(&words[at..], megabytes_per_second)?;
    at += count;
    let behind = direction(&mut at);
    let is_of_reading = before.or(behind) == Some(true);
    (before.is_none() || behind.is_none() || before == behind)
        .then_some((at, QuestionBound::Throughput(ThroughputLimit { megabytes_per_second, is_of_reading })))
}

fn budget(words: &[&str], is_alone: bool) -> Option<(usize, QuestionBound)> {
    let lead = phrase(words, BEFORE_TIME).unwrap_or(0);
    let rest = &words[lead..];
    let (count, time) = match (phrase(rest, &["half an hour"]), phrase(rest, &["an hour"])) {
        (Some(count), _) => (count, Duration::from_secs(1800)),
        (_, Some(count)) => (count, Duration::from_secs(3600)),
        _ => match quantity(rest, seconds_to_wait) {
            Some((count, time)) => (count, Duration::from_secs_f64(time)),
            None => (1, parse_time(rest.first()?).ok()?),
        },
    };
    let behind = phrase(&rest[count..], &["max", "tops", "at most", "maximum"]).unwrap_or(0);
    let is_said = lead > 0 || behind > 0 || is_alone && count == words.len();
    // A latency is shorter, and is no time for an answer.
    (is_said && (1.0..1e7).contains(&time.as_secs_f64()))
        .then_some((lead + count + behind, QuestionBound::Budget(time)))
}

#[cfg(test)]
mod tests {
    use super::{QuestionBound, parse_bound};

    fn bound(text: &str) -> Option<String> {
        let words: Vec<&str> = text.split(' ').collect();
        let (count, bound) = parse_bound(&words, true)?;
        assert_eq!(count, words.len(), "{text}");
        Some(match bound {
            QuestionBound::Budget(time) => format!("{} s", time.as_secs()),
            QuestionBound::Latency(limit) => format!("{} {}", limit.metric, limit.bound()),
            QuestionBound::Throughput(limit) => {
                format!("{} {}", if limit.is_of_reading { "read" } else { "write" }, limit.bound())
            }
            QuestionBound::Tolerance(share, is_price) => format!("{share} {is_price}"),
            QuestionBound::Memory(size) => size.to_string(),
        })
    }

    #[test]
    fn numbers_with_units_say_what_they_bound() {
        for (text, meaning) in [
            ("p99 below 10 ms", "p99 <= 10ms"),
            ("p99 < 10ms", "p99 <= 10ms"),
            ("99th percentile must be under 2 milliseconds", "p99 <= 2ms"),
            ("never take longer than 20ms", "worst <= 20ms"),
            ("worst case latency under 50 milliseconds", "worst <= 50ms"),
            ("at most 500us median", "p50 <= 500us"),
            ("p99.9 within 1 second", "p99.9 <= 1000ms"),
            ("for 2m", "120 s"),
            ("in under 5 minutes", "300 s"),
            ("i have five minutes", "300 s"),
            ("20 min max", "1200 s"),
            ("3 min", "180 s"),
            ("within half an hour", "1800 s"),
            ("at most 5 % slower than plain", "0.05 true"),
            ("no more than 10 % slower", "0.1 false"),
            ("at least 200 MB/s", "write >= 200MB/s"),
            ("reading at least 1.5 GB/s", "read >= 1500MB/s"),
            ("8 GB of RAM", "8 GB"),
            ("512MiB memory", "512 MiB"),
        ] {
            assert_eq!(bound(text).as_deref(), Some(meaning), "{text}");
        }
        for text in [
            "latency below 10 ms",
            "below 10",
            "p99 of 10 ms",
            "within 10ms",
            "at most 5 % full",
            "at least 200 MB",
        ] {
            assert_eq!(bound(text), None, "{text}");
        }
    }
}
