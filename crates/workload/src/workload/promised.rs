//! Collects the durability promises that a program prints before a power cut, and the checks to make afterwards.
//!
//! A line `promised N` on standard output means that all data up to the program's own number N are durable. The line is
//! stamped when it is read, which is after it was printed: a state is never checked for more than was promised.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use fsverdict_judgement::journal::ProgramPromise;
use fsverdict_linux::sandbox::program::LineHearer;

use super::save::now_ns;

/// The variable in which a recheck finds the last number that was promised.
pub const PROMISED: &str = "FSVERDICT_PROMISED";

/// The prefix of a line with a promise.
const WORD: &str = "promised ";

/// So many promises of a phase are kept at most; those after them are not asked for.
const MOST: usize = 50_000;

/// Reads promises from a program's output, and keeps them with the times at which they were read.
#[derive(Debug, Default)]
pub struct PromiseListener {
    promises: Arc<Mutex<Vec<ProgramPromise>>>,
}

impl PromiseListener {
    /// The callback for the program's lines.
    pub fn line_hearer(&self) -> LineHearer {
        let promises = Arc::clone(&self.promises);
        LineHearer::new(move |line| {
            let at_ns = now_ns();
            let (Some(number), Ok(mut promises_so_far)) = (parse_promise(line), promises.lock()) else {
                return;
            };
            // A number that does not grow promises nothing new.
            if promises_so_far.len() < MOST && promises_so_far.last().is_none_or(|last| last.number < number)
            {
                promises_so_far.push(ProgramPromise { number, at_ns });
            }
        })
    }

    /// Takes the promises recorded since the last call.
    pub fn take_promises(&self) -> Vec<ProgramPromise> {
        self.promises.lock().map(|mut promises| std::mem::take(&mut *promises)).unwrap_or_default()
    }
}

/// The number of a line that tells of a promise.
fn parse_promise(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line).ok()?.strip_prefix(WORD)?.trim_end().parse().ok()
}

/// The promises of a command, and the shell line that checks them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    pub phase: String,
    pub line: String,
    /// In the order in which they were made.
    pub promises: Vec<ProgramPromise>,
}

impl Recheck {
    /// The last number that was promised by this nanosecond; none where nothing was.
    pub fn last_by(&self, now_ns: u64) -> Option<u64> {
        self.promises
            .iter()
            .take_while(|promise| promise.at_ns <= now_ns)
            .last()
            .map(|promise| promise.number)
    }

    /// When the last promise was made from one moment to just before another.
    pub fn last_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let mut moments = self.promises.iter().map(|promise| promise.at_ns);
        moments.rfind(|at_ns| (from_ns..until_ns).contains(at_ns))
    }

    /// How many promises had been made before this nanosecond.
    pub fn made_before(&self, now_ns: u64) -> usize {
        self.promises.partition_point(|promise| promise.at_ns < now_ns)
    }

    /// The time from the first promise to the last.
    pub fn window(&self) -> Option<[u64; 2]> {
        Some([self.promises.first()?.at_ns, self.promises.last()?.at_ns])
    }

    /// Describes the data that must exist when power is cut at this nanosecond.
    pub fn describe_at(&self, cut_ns: u64) -> Option<String> {
        let number = self.last_by(cut_ns)?;
        Some(format!("phase {}: promised {number}, which its recheck asks for", self.phase))
    }
}

#[cfg(test)]
mod tests {
    use super::{ProgramPromise, Recheck, parse_promise};

    #[test]
    fn a_promise_is_a_line_of_its_own_with_a_number() {
        assert_eq!(parse_promise(b"promised 17"), Some(17));
        assert_eq!(parse_promise(b"promised 17\r"), Some(17));
        for other in
            [&b"promised"[..], b"promised x", b"promised -1", b" promised 1", b"promised 1 2", b"\xff"]
        {
            assert_eq!(parse_promise(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_asked_for_was_promised_before() {
        let promises = [(1, 100), (2, 200), (5, 300)];
        let promises = promises.map(|(number, at_ns)| ProgramPromise { number, at_ns });
        let recheck =
            Recheck { phase: "work".to_owned(), line: "true".to_owned(), promises: promises.to_vec() };
        assert_eq!([99, 100, 299, 1000].map(|now| recheck.last_by(now)), [None, Some(1), Some(2), Some(5)]);
        assert_eq!(recheck.last_between(100, 300), Some(200));
        assert_eq!(recheck.last_between(101, 200), None);
        assert_eq!((recheck.made_before(200), recheck.made_before(201)), (1, 2));
        assert_eq!(recheck.window(), Some([100, 300]));
        assert_eq!(recheck.describe_at(99), None);
        assert!(recheck.describe_at(250).unwrap().contains("promised 2"));
    }
}
