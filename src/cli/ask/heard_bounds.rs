//! Times and numbers in a question: how long it may take, which latency is too long, and how much slower is still the same.

use std::ops::Range;
use std::time::Duration;

use fsverdict_text::parse_time;

use super::sentence::{Said, Sentence, is_in};
use super::vocabulary::number_called;

/// A latency that must not be exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LatencyLimit {
    /// As a plan's requirement calls it: `p99`, `worst`.
    pub(super) metric: &'static str,
    pub(super) at_most: Duration,
}

impl LatencyLimit {
    /// As a plan writes the bound.
    pub(super) fn bound(&self) -> String {
        format!("<= {}", short_time(self.at_most))
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        format!("{} <= {}", self.metric, short_time(self.at_most))
    }
}

/// `10ms`, in a unit that a plan's requirement takes.
fn short_time(time: Duration) -> String {
    match time.as_micros() {
        micros if micros < 1000 => format!("{micros}us"),
        micros if micros < 1_000_000 => format!("{}ms", micros as f64 / 1000.0),
        _ => format!("{}s", time.as_secs_f64()),
    }
}

/// Behind one of these, a time is a limit of the work and not of the answer.
const DONE: &str = "finish finishes finished complete completes completed done ready restored restore";

/// Longer ones first.
const BELOW: &[&str] = &[
    "no more than",
    "not more than",
    "no longer than",
    "no slower than",
    "not longer than",
    "take longer than",
    "takes longer than",
    "longer than",
    "not exceed",
    "not above",
    "never above",
    "never over",
    "less than",
    "lower than",
    "at most",
    "up to",
    "below",
    "under",
    "within",
    "max",
    "maximum",
    "<",
    "≤",
];

const METRICS: &[(&str, &str)] = &[
    ("p50", "p50"),
    ("median", "p50"),
    ("p95", "p95"),
    ("95th percentile", "p95"),
    ("p99.9", "p99.9"),
    ("p999", "p99.9"),
    ("99.9th percentile", "p99.9"),
    ("99.9 percentile", "p99.9"),
    ("99.9 % of", "p99.9"),
    ("p99", "p99"),
    ("99th percentile", "p99"),
    ("99 percentile", "p99"),
    ("99 % of", "p99"),
    ("tail latency", "p99"),
    ("worst case", "worst"),
    ("worst-case", "worst"),
    ("worst", "worst"),
    ("maximum latency", "worst"),
    ("max latency", "worst"),
    ("never", "worst"),
    ("always", "worst"),
];

/// So many words may stand between a metric and its bound.
const NEAR: usize = 8;

/// The time that an answer may take: `for 10m`, `in 20 minutes`, `I have five minutes`.
pub(super) fn hear_time(sentence: &mut Sentence) -> Option<Said<Duration>> {
    let time_at = (1..sentence.len()).find_map(|at| {
        let before = sentence.is_before(at, "for within in have after under limit max most");
        let counted = || {
            let minutes = match sentence.text(at + 1).as_str() {
                "minutes" | "minute" | "min" | "mins" => 60.0,
                "hours" | "hour" => 3600.0,
                "seconds" | "sec" | "secs" => 1.0,
                _ => return None,
            };
            Some((at..at + 2, number_called(&sentence.text(at))? * minutes))
        };
        let written = || {
            let time = parse_time(&sentence.text(at)).ok()?;
            Some((at..at + 1, time.as_secs_f64()))
        };
        let half_an_hour = || Some((sentence.find_phrase(at, &["half an hour"])?, 1800.0));
        let stands_alone = |range: &Range<usize>| {
            sentence.begins_clause(at) && (range.end == sentence.len() || sentence.begins_clause(range.end))
        };
        let time = half_an_hour().or_else(counted).or_else(written);
        let is_bounded = |range: &Range<usize>| sentence.is(range.end, "max tops most maximum");
        let (range, seconds): (Range<usize>, f64) =
            time.filter(|(range, _)| before || stands_alone(range) || is_bounded(range))?;
        // A latency is shorter, and is no time for an answer.
        (1.0..1e7).contains(&seconds).then(|| (range, Duration::from_secs_f64(seconds)))
    });
    let (range, time) = time_at?;
    // `must finish in 10 minutes` is a limit of the work.
    let of_work = (range.start.saturating_sub(4)..range.start).any(|at| sentence.is(at, DONE));
    if of_work {
        return None;
    }
    // `in under 5 minutes`, `time limit 3 minutes`.
    let mut start = range.start;
    while start > 0
        && sentence.is(start - 1, "for within in have after under limit max most at time a of")
        && start + 4 > range.start
    {
        start -= 1;
    }
    let end = range.end + usize::from(sentence.is(range.end, "max tops most maximum"));
    Some(Said::new(time, sentence.take(start..end)))
}

/// Bounds of latencies: `p99 below 10 ms`, `never longer than 20ms`.
pub(super) fn hear_limits(sentence: &mut Sentence) -> Vec<Said<LatencyLimit>> {
    let mut limits = Vec::new();
    for at in 0..sentence.len() {
        let Some(below) = sentence.find_phrase(at, BELOW) else { continue };
        let Some((end, at_most)) = hear_latency(sentence, below.end) else { continue };
        let Some((metric_at, metric)) = metric_near(sentence, below.start, end) else { continue };
        let range = metric_at.start.min(below.start)..metric_at.end.max(end);
        let between: Vec<usize> = range
            .clone()
            .filter(|at| {
                sentence.is(
                    *at,
                    "latency latencies case be must of take takes has have to is should commits commit stay stays remain keep for the my",
                )
            })
            .collect();
        let mut words =
            [sentence.take(metric_at.clone()), sentence.take(below), sentence.take(end_of(end, sentence))];
        if metric_at.start > end {
            words.rotate_left(1);
        }
        between.into_iter().for_each(|at| sentence.pass_over(at..at + 1));
        // `latency` beside a percentile is no work.
        for at in [range.start.wrapping_sub(1), range.end] {
            if sentence.is(at, "latency latencies") {
                sentence.pass_over(at..at + 1);
            }
        }
        limits.push(Said::new(LatencyLimit { metric, at_most }, words.join(" ")));
    }
    limits
}

/// The words of a number that ends here: itself, and its unit where that stands alone.
fn end_of(end: usize, sentence: &Sentence) -> Range<usize> {
    let alone = end >= 2
        && number_called(&sentence.text(end - 2)).is_some()
        && time_unit(&sentence.text(end - 1)).is_some();
    if alone { end - 2..end } else { end - 1..end }
}

fn time_unit(word: &str) -> Option<f64> {
    match word {
        "us" | "µs" | "microseconds" => Some(1e-6),
        "ms" | "msec" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "second" | "seconds" => Some(1.0),
        _ => None,
    }
}

/// A number with its unit that is written from here on, in one word or two: where it ends, and its value in the unit
/// that has the factor 1.
pub(super) fn number_with_unit(
    sentence: &Sentence,
    at: usize,
    unit: fn(&str) -> Option<f64>,
) -> Option<(usize, f64)> {
    let word = sentence.text(at);
    if let (Some(number), Some(factor)) = (number_called(&word), unit(&sentence.text(at + 1))) {
        return Some((at + 2, number * factor));
    }
    let (number, name) = word.split_at(word.find(|one: char| one.is_alphabetic())?);
    Some((at + 1, number.parse::<f64>().ok()? * unit(name)?))
}

/// A latency that is written from here on, and where it ends.
fn hear_latency(sentence: &Sentence, at: usize) -> Option<(usize, Duration)> {
    let (end, seconds) = number_with_unit(sentence, at, time_unit)?;
    (1e-6..1e6).contains(&seconds).then(|| (end, Duration::from_secs_f64(seconds)))
}

/// The metric that is bounded between these places: the nearest before, or else after.
fn metric_near(sentence: &Sentence, start: usize, end: usize) -> Option<(Range<usize>, &'static str)> {
    let here = |at: usize| {
        METRICS.iter().find_map(|(words, metric)| Some((sentence.find_phrase(at, &[words])?, *metric)))
    };
    let before =
        (start.saturating_sub(NEAR)..start).rev().filter_map(here).find(|(range, _)| range.end <= start);
    before.or_else(|| (end..end + NEAR).find_map(here))
}

/// Finds the tolerated slowdown: `at most 5 % slower than plain`. The result also tells whether the comparison is with
/// candidates without the feature.
pub(super) fn hear_tolerance(sentence: &mut Sentence) -> Option<Said<Tolerance>> {
    const BEHIND: &str = "slower slowdown overhead loss penalty cost faster worse difference";
    let (range, share) = (0..sentence.len()).find_map(|at| {
        let below = sentence.find_phrase(at, BELOW)?;
        let number = number_called(&sentence.text(below.end))?;
        let is_share = sentence.is(below.end + 1, "% percent") && sentence.is(below.end + 2, BEHIND);
        is_share.then_some((at..below.end + 3, number / 100.0))
    })?;
    let mut end = range.end;
    let mut is_of_what_it_costs = is_in(&sentence.text(end - 1), "overhead penalty cost loss slowdown");
    if sentence.is(end, "than") && sentence.is(end + 1, "plain without unencrypted uncompressed") {
        is_of_what_it_costs = true;
        end += 2;
    }
    let words = sentence.take(range.start..end);
    Some(Said::new(Tolerance { share, is_of_what_it_costs }, words))
}

/// A difference that does not matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    pub(super) share: f64,
    /// Whether it is the price of something that is bounded.
    pub(super) is_of_what_it_costs: bool,
}

#[cfg(test)]
mod tests {
    use super::{hear_limits, hear_time, hear_tolerance};
    use crate::cli::ask::sentence::Sentence;

    fn sentence(text: &str) -> Sentence {
        Sentence::new(&[text.to_owned()])
    }

    #[test]
    fn latencies_are_bounded_in_many_words() {
        for (said, meant) in [
            ("p99 below 10 ms", "p99 <= 10ms"),
            ("etcd p99<10ms", "p99 <= 10ms"),
            ("the 99th percentile must be under 2 milliseconds", "p99 <= 2ms"),
            ("commits must never take longer than 20ms", "worst <= 20ms"),
            ("worst case latency under 50 milliseconds", "worst <= 50ms"),
            ("at most 500us median", "p50 <= 500us"),
            ("p99.9 within 1 second", "p99.9 <= 1s"),
            ("p99 commit latency has to stay under 5 ms", "p99 <= 5ms"),
        ] {
            let heard = hear_limits(&mut sentence(said));
            assert_eq!(heard.iter().map(|one| one.value.shown()).collect::<Vec<_>>(), [meant], "{said}");
        }
        for said in ["latency below 10 ms", "below 10", "p99 of 10 ms", "in 10 minutes"] {
            assert!(hear_limits(&mut sentence(said)).is_empty(), "{said}");
        }
    }

    #[test]
    fn a_time_for_the_answer_is_no_latency() {
        let time = |said| hear_time(&mut sentence(said)).map(|said| said.value.as_secs());
        assert_eq!(time("mail for 2m"), Some(120));
        assert_eq!(time("in 20 minutes for photos"), Some(1200));
        assert_eq!(time("I have five minutes"), Some(300));
        assert_eq!(time("I have half a day"), None);
        assert_eq!(time("within 10ms"), None);
        assert_eq!(time("photos in under 5 minutes"), Some(300));
        assert_eq!(time("photos on a stick, 3 min"), Some(180));
        assert_eq!(time("mail, time limit 3 minutes"), Some(180));
        assert_eq!(time("mail within half an hour"), Some(1800));
        assert_eq!(time("vm images and 20 min max"), Some(1200));
    }

    #[test]
    fn a_tolerance_says_what_it_is_of() {
        let heard = |said| {
            hear_tolerance(&mut sentence(said)).map(|said| (said.value.share, said.value.is_of_what_it_costs))
        };
        assert_eq!(heard("at most 5 % slower than plain"), Some((0.05, true)));
        assert_eq!(heard("no more than 10% slower"), Some((0.1, false)));
        assert_eq!(heard("at most 5 % full"), None);
    }
}
