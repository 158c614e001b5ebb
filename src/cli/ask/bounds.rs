//! Numbers with units in a question: the time for the answer, bounds of latencies and throughputs, a difference that does
//! not matter, sizes and memory.

use std::time::Duration;

use fsverdict_text::{Bytes, parse_time, short_time_text};

use super::lexicon::CLASSES;

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

/// The bound that begins at the first of these words, and how many words it takes. `is_alone`: these are all words of
/// their clause.
pub(super) fn parse_bound(words: &[&str], is_alone: bool) -> Option<(usize, QuestionBound)> {
    parse_latency(words)
        .or_else(|| parse_tolerance(words))
        .or_else(|| parse_throughput(words))
        .or_else(|| parse_memory(words))
        .or_else(|| parse_budget(words, is_alone))
}

/// How many words the longest phrase of a class of `words.txt` has with which the words begin.
fn count_phrase_words(words: &[&str], class: &str) -> Option<usize> {
    let (_, phrases) = CLASSES.iter().find(|(name, _)| name.strip_prefix("bound ") == Some(class))?;
    let counts = phrases.iter().filter_map(|phrase| {
        let mut parts = phrase.split(' ').enumerate();
        let stands =
            parts.all(|(at, part)| words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(part)));
        stands.then(|| phrase.split(' ').count())
    });
    counts.max()
}

/// A number with its unit, in one word or two: how many words, and the value in the unit of factor 1.
fn parse_quantity(words: &[&str], unit: fn(&str) -> Option<f64>) -> Option<(usize, f64)> {
    let first = words.first()?.to_lowercase();
    if let (Some(number), Some(factor)) =
        (parse_number(&first), words.get(1).and_then(|word| unit(&word.to_lowercase())))
    {
        return Some((2, number * factor));
    }
    let (digits, name) = first.split_at(first.find(|one: char| one.is_alphabetic() || one == 'µ')?);
    Some((1, parse_number(digits)? * unit(name)?))
}

/// A number in digits or in words.
pub(super) fn parse_number(word: &str) -> Option<f64> {
    const WORDS: [&str; 11] =
        ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let in_words =
        WORDS.iter().position(|name| *name == word && !word.is_empty()).map(|number| number as f64);
    let is_plain = word.starts_with(|one: char| one.is_ascii_digit());
    in_words
        .or_else(|| word.parse().ok().filter(|number: &f64| is_plain && number.is_finite() && *number > 0.0))
}

fn seconds_of_unit(unit: &str) -> Option<f64> {
    match unit {
        "us" | "µs" | "microseconds" => Some(1e-6),
        "ms" | "msec" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        _ => None,
    }
}

fn waiting_seconds_of_unit(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hour" | "hours" => Some(3600.0),
        _ => None,
    }
}

fn bytes_of_unit(unit: &str) -> Option<f64> {
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

fn rate_of_unit(unit: &str) -> Option<f64> {
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
    let (count, size) = parse_quantity(words, bytes_of_unit)?;
    (1e6..1e16).contains(&size).then_some((count, Bytes(size as u64)))
}

fn parse_memory(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let (count, size) = parse_size(words)?;
    let of = usize::from(words.get(count).is_some_and(|word| *word == "of"));
    let is_memory =
        words.get(count + of).is_some_and(|word| ["ram", "memory"].contains(&word.to_lowercase().as_str()));
    is_memory.then_some((count + of + 1, QuestionBound::Memory(size)))
}

fn parse_latency(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let metric_at = |at: usize| {
        let all = ["p50", "p95", "p99.9", "p99", "worst"].into_iter();
        let named = all.filter_map(|name| Some((count_phrase_words(words.get(at..)?, name)?, name)));
        named.max_by_key(|(count, _)| *count)
    };
    let bound_at = |at: usize| {
        let below = count_phrase_words(words.get(at..)?, "below")?;
        let (count, at_most) = parse_quantity(words.get(at + below..)?, seconds_of_unit)?;
        (1e-6..1e6).contains(&at_most).then(|| (at + below + count, Duration::from_secs_f64(at_most)))
    };
    if let Some((mut at, metric)) = metric_at(0) {
        while bound_at(at).is_none() {
            at += count_phrase_words(words.get(at..)?, "beside-metric")?;
        }
        let (end, at_most) = bound_at(at)?;
        return Some((end, QuestionBound::Latency(LatencyLimit { metric, at_most })));
    }
    // `at most 50 ms worst case`
    let (end, at_most) = bound_at(0)?;
    let (count, metric) = metric_at(end).filter(|_| words[end] != "never")?;
    Some((end + count, QuestionBound::Latency(LatencyLimit { metric, at_most })))
}

fn parse_tolerance(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let below = count_phrase_words(words, "below")?;
    let share = parse_number(words.get(below)?)?;
    let percent = words.get(below + 1).filter(|word| ["%", "percent"].contains(word)).map(|_| below + 2)?;
    let (slower, price) =
        (count_phrase_words(&words[percent..], "slower"), count_phrase_words(&words[percent..], "slowdown"));
    let behind = percent + slower.or(price)?;
    let than = count_phrase_words(&words[behind..], "than-plain");
    Some((behind + than.unwrap_or(0), QuestionBound::Tolerance(share / 100.0, than.or(price).is_some())))
}

fn parse_throughput(words: &[&str]) -> Option<(usize, QuestionBound)> {
    let is_reading = |at: usize| match *words.get(at)? {
        "reads" | "reading" | "read" => Some(true),
        "writes" | "writing" | "write" => Some(false),
        _ => None,
    };
    let before = is_reading(0);
    let mut at = usize::from(before.is_some());
    at += count_phrase_words(words.get(at..)?, "beside-throughput").unwrap_or(0);
    at += count_phrase_words(words.get(at..)?, "above")?;
    let (count, megabytes_per_second) = parse_quantity(words.get(at..)?, rate_of_unit)?;
    let behind = is_reading(at + count);
    let end = at + count + usize::from(behind.is_some());
    let limit = ThroughputLimit { megabytes_per_second, is_of_reading: before.or(behind) == Some(true) };
    (before.is_none() || behind.is_none() || before == behind)
        .then_some((end, QuestionBound::Throughput(limit)))
}

fn parse_budget(words: &[&str], is_alone: bool) -> Option<(usize, QuestionBound)> {
    let lead = count_phrase_words(words, "before-time").unwrap_or(0);
    let rest = &words[lead..];
    let (count, time) =
        match (count_phrase_words(rest, "half-an-hour"), parse_quantity(rest, waiting_seconds_of_unit)) {
            (Some(count), _) => (count, Duration::from_secs(1800)),
            (None, Some((count, time))) => (count, Duration::from_secs_f64(time)),
            (None, None) => (1, parse_time(rest.first()?).ok()?),
        };
    let behind = count_phrase_words(&rest[count..], "at-most").unwrap_or(0);
    let is_budget = lead > 0 || behind > 0 || is_alone && count == words.len();
    // A latency is shorter, and is no time for an answer.
    (is_budget && (1.0..1e7).contains(&time.as_secs_f64()))
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
