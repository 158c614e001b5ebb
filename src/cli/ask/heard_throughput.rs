//! Throughputs in a question that must be reached: `writes at least 200 MB/s`.

use std::ops::Range;

use super::heard_bounds::number_with_unit;
use super::sentence::{Said, Sentence};

/// A throughput that must be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThroughputLimit {
    pub(super) megabytes_per_second: f64,
    /// Whether it is that of reading; of writing otherwise.
    pub(super) is_of_reading: bool,
}

impl ThroughputLimit {
    /// As a plan writes the bound.
    pub(super) fn bound(&self) -> String {
        format!(">= {}MB/s", self.megabytes_per_second)
    }
}

/// Longer ones first.
const ABOVE: &[&str] = &[
    "no less than",
    "not less than",
    "no slower than",
    "not below",
    "never below",
    "more than",
    "faster than",
    "at least",
    "minimum of",
    "minimum",
    "min",
    "above",
    "over",
    ">=",
    ">",
    "≥",
];

/// So many words away it may be said whether data are read or written.
const NEAR: usize = 6;

/// Bounds of throughputs. Where the sentence speaks of reading alone, they are of that.
pub(super) fn hear_throughputs(sentence: &mut Sentence) -> Vec<Said<ThroughputLimit>> {
    let mut limits = Vec::new();
    for at in 0..sentence.len() {
        let Some(above) = sentence.find_phrase(at, ABOVE) else { continue };
        let Some((end, megabytes_per_second)) = hear_throughput(sentence, above.end) else { continue };
        let near = at.saturating_sub(NEAR)..end + NEAR;
        let is_of_reading = is_near(sentence, &near, "read reads reading")
            && !is_near(sentence, &near, "write writes writing written");
        let words = sentence.take(at..end);
        for beside in [at.wrapping_sub(1), end] {
            if sentence.is(beside, "throughput bandwidth speed rate") {
                sentence.pass_over(beside..beside + 1);
            }
        }
        for at in near {
            if sentence.is(at, "read reads reading write writes writing written") {
                sentence.pass_over(at..at + 1);
            }
        }
        limits.push(Said::new(ThroughputLimit { megabytes_per_second, is_of_reading }, words));
    }
    limits
}

fn is_near(sentence: &Sentence, near: &Range<usize>, list: &str) -> bool {
    near.clone().any(|at| sentence.is(at, list))
}

/// A throughput that is written from here on, in one word or two, and where it ends.
fn hear_throughput(sentence: &Sentence, at: usize) -> Option<(usize, f64)> {
    number_with_unit(sentence, at, rate_unit).filter(|(_, megabytes)| (1e-3..1e6).contains(megabytes))
}

/// Megabytes a second.
fn rate_unit(word: &str) -> Option<f64> {
    match word {
        "kb/s" => Some(1e-3),
        "mb/s" | "mbyte/s" | "mbytes/s" => Some(1.0),
        "mib/s" => Some(1.048_576),
        "gb/s" => Some(1000.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::hear_throughputs;
    use crate::cli::ask::sentence::Sentence;

    #[test]
    fn throughputs_are_bounded_from_below_of_reading_or_of_writing() {
        for (said, bound, is_of_reading) in [
            ("vm images at least 200 MB/s", ">= 200MB/s", false),
            ("photos on nvme, reading at least 1.5 GB/s", ">= 1500MB/s", true),
            ("backup that writes no less than 90MB/s", ">= 90MB/s", false),
            ("read and write at least 50 MB/s", ">= 50MB/s", false),
        ] {
            let heard = hear_throughputs(&mut Sentence::new(&[said.to_owned()]));
            let heard: Vec<_> =
                heard.iter().map(|one| (one.value.bound(), one.value.is_of_reading)).collect();
            assert_eq!(heard, [(bound.to_owned(), is_of_reading)], "{said}");
        }
        for said in ["at least 200 MB", "below 200 MB/s", "at least 10 ms"] {
            assert!(hear_throughputs(&mut Sentence::new(&[said.to_owned()])).is_empty(), "{said}");
        }
    }
}
