//! Numbers with units in a question: the time for the answer, limits of latencies and throughputs, a difference that does
//! not matter, sizes and memory.

use std::time::Duration;

use fsverdict_text::{Bytes, parse_time, short_time_text};

use super::lexicon::Meaning;
use super::parsed::{QuestionBound, QuestionLimit, THROUGHPUT};
use super::parser::Parser;

/// Units of latencies, waiting times, sizes and rates: their names, and how many seconds, bytes or megabytes a second they are.
const UNITS: [(&str, &str, f64); 17] = [
    ("latency", "us µs microseconds", 1e-6),
    ("latency", "ms msec millisecond milliseconds", 1e-3),
    ("latency", "s sec secs second seconds", 1.0),
    ("wait", "s sec secs second seconds", 1.0),
    ("wait", "m min mins minute minutes", 60.0),
    ("wait", "h hour hours", 3600.0),
    ("size", "kb k", 1e3),
    ("size", "mb", 1e6),
    ("size", "gb gig gigs g", 1e9),
    ("size", "tb t", 1e12),
    ("size", "mib", 1_048_576.0),
    ("size", "gib", 1_073_741_824.0),
    ("size", "tib", 1_099_511_627_776.0),
    ("rate", "kb/s", 1e-3),
    ("rate", "mb/s mbyte/s mbytes/s", 1.0),
    ("rate", "mib/s", 1.048_576),
    ("rate", "gb/s", 1000.0),
];

/// A number in digits or in words.
pub(super) fn parse_number(word: &str) -> Option<f64> {
    const WORDS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let in_words = WORDS.iter().position(|name| *name == word).map(|before| (before + 1) as f64);
    let is_plain = word.starts_with(|letter: char| letter.is_ascii_digit());
    in_words
        .or_else(|| word.parse().ok().filter(|number: &f64| is_plain && number.is_finite() && *number > 0.0))
}

impl Parser<'_> {
    /// The bound that begins here, and where it ends. `is_alone`: a clause begins here.
    pub(super) fn bound_at(&self, at: usize, is_alone: bool) -> Option<(usize, QuestionBound)> {
        self.latency_at(at)
            .or_else(|| self.tolerance_at(at))
            .or_else(|| self.throughput_at(at))
            .or_else(|| self.memory_at(at))
            .or_else(|| self.budget_at(at, is_alone))
    }

    /// Where the longest phrase of a class of bounds ends that begins here.
    fn bound_words(&self, at: usize, class: &str) -> Option<usize> {
        self.phrase_end(at, |meaning| matches!(meaning, Meaning::Bound(name) if *name == class))
    }

    /// A number with its unit, in one word or two: where it ends, and the value in the unit of factor 1.
    fn quantity_at(&self, at: usize, kind: &str) -> Option<(usize, f64)> {
        let factor = |name: &str| {
            let unit = UNITS
                .iter()
                .find(|(of, names, _)| *of == kind && names.split(' ').any(|known| known == name));
            unit.map(|(.., factor)| *factor)
        };
        let first = self.word(at)?;
        if let (Some(number), Some(factor)) =
            (parse_number(&first), self.word(at + 1).and_then(|unit| factor(&unit)))
        {
            return Some((at + 2, number * factor));
        }
        let (digits, unit) = first.split_at(first.find(char::is_alphabetic)?);
        Some((at + 1, parse_number(digits)? * factor(unit)?))
    }

    /// A size: `4TB`, `500 GB`.
    pub(super) fn size_at(&self, at: usize) -> Option<(usize, Bytes)> {
        let (end, size) = self.quantity_at(at, "size")?;
        (1e6..1e16).contains(&size).then_some((end, Bytes(size as u64)))
    }

    fn memory_at(&self, at: usize) -> Option<(usize, QuestionBound)> {
        let (end, size) = self.size_at(at)?;
        let end = end + usize::from(self.is_word(end, &["of"]));
        self.is_word(end, &["ram", "memory"]).then_some((end + 1, QuestionBound::Memory(size)))
    }

    fn latency_at(&self, at: usize) -> Option<(usize, QuestionBound)> {
        let metric_at = |at: usize| {
            let all = ["p50", "p95", "p99.9", "p99", "worst"].into_iter();
            all.filter_map(|name| Some((self.bound_words(at, name)?, name))).max_by_key(|(end, _)| *end)
        };
        let below_at = |at: usize| {
            let (end, seconds) = self.quantity_at(self.bound_words(at, "below")?, "latency")?;
            (1e-6..1e6).contains(&seconds).then(|| (end, Duration::from_secs_f64(seconds)))
        };
        let (end, metric, at_most) = match metric_at(at) {
            Some((mut next, metric)) => {
                while below_at(next).is_none() {
                    next = self.bound_words(next, "beside-metric")?;
                }
                below_at(next).map(|(end, time)| (end, metric, time))?
            }
            // `at most 50 ms worst case`
            None => {
                let (next, time) = below_at(at)?;
                let (end, metric) = metric_at(next).filter(|_| !self.is_word(next, &["never"]))?;
                (end, metric, time)
            }
        };
        let bound = format!("<= {}", short_time_text(at_most));
        Some((end, QuestionBound::Limit(QuestionLimit { metric, bound, is_of_reading: false })))
    }

    fn tolerance_at(&self, at: usize) -> Option<(usize, QuestionBound)> {
        let number_at = self.bound_words(at, "below")?;
        let share = parse_number(&self.word(number_at)?)? / 100.0;
        let percent = self.is_word(number_at + 1, &["%", "percent"]).then_some(number_at + 2)?;
        let price = self.bound_words(percent, "slowdown");
        let end = self.bound_words(percent, "slower").or(price)?;
        let than = self.bound_words(end, "than-plain");
        Some((than.unwrap_or(end), QuestionBound::Tolerance(share, than.or(price).is_some())))
    }

    fn throughput_at(&self, at: usize) -> Option<(usize, QuestionBound)> {
        let is_reading = |at: usize| {
            let reads = self.is_word(at, &["reads", "reading", "read"]);
            (reads || self.is_word(at, &["writes", "writing", "write"])).then_some(reads)
        };
        let before = is_reading(at);
        let next = at + usize::from(before.is_some());
        let next = self.bound_words(next, "beside-throughput").unwrap_or(next);
        let (end, megabytes) = self.quantity_at(self.bound_words(next, "above")?, "rate")?;
        let behind = is_reading(end);
        let limit = QuestionLimit {
            metric: THROUGHPUT,
            bound: format!(">= {megabytes}MB/s"),
            is_of_reading: before.or(behind) == Some(true),
        };
        (before.is_none() || behind.is_none() || before == behind)
            .then_some((end + usize::from(behind.is_some()), QuestionBound::Limit(limit)))
    }

    fn budget_at(&self, at: usize, is_alone: bool) -> Option<(usize, QuestionBound)> {
        let lead = self.bound_words(at, "before-time");
        let start = lead.unwrap_or(at);
        let (end, seconds) = match self.bound_words(start, "half-an-hour") {
            Some(end) => (end, 1800.0),
            None => self
                .quantity_at(start, "wait")
                .or_else(|| Some((start + 1, parse_time(self.words(start).first()?).ok()?.as_secs_f64())))?,
        };
        let behind = self.bound_words(end, "at-most");
        let is_budget = lead.or(behind).is_some() || is_alone && self.words(end).is_empty();
        // A latency is shorter, and is no time for an answer.
        (is_budget && (1.0..1e7).contains(&seconds))
            .then(|| (behind.unwrap_or(end), QuestionBound::Budget(Duration::from_secs_f64(seconds))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed::QuestionBound;
    use super::super::parser::Parser;
    use super::super::tokens::tokenize;

    fn bound(text: &str) -> Option<String> {
        let tokens = tokenize(&[text.to_owned()]);
        let (end, bound) = Parser::new(&tokens).bound_at(0, true)?;
        assert_eq!(end, tokens.len(), "{text}");
        Some(match bound {
            QuestionBound::Budget(time) => format!("{} s", time.as_secs()),
            QuestionBound::Limit(limit) => {
                let metric = match limit.metric {
                    "throughput" if limit.is_of_reading => "read",
                    "throughput" => "write",
                    latency => latency,
                };
                format!("{metric} {}", limit.bound)
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
