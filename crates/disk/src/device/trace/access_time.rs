//! Divides the time in which a device was busy among the kinds of access that it was busy with.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::access_kind::AccessKind;
use super::super::request::Action;
use super::queue_steps::{QueueStep, queue_steps};
use super::record::Traced;

/// The number of recent ends at which a request may go on: that many readers or writers can take turns.
const STREAMS: usize = 16;

/// Nanoseconds in which a device was busy, by kind of access. A moment with several requests inside the device is divided
/// evenly among them, so that the sum is the time in which there were any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AccessTimes([f64; AccessKind::ALL.len()]);

impl AccessTimes {
    /// The times of the requests that `records` hold, in the order of their submission, within `span` (nanoseconds of
    /// the simulation clock). A request that was not completed lasts until the end.
    pub fn from_trace(records: &[Traced], span: Range<u64>) -> AccessTimes {
        let steps = queue_steps(records.iter().map(|record| {
            let began_ns = record.submitted_ns.clamp(span.start, span.end);
            (began_ns, record.completed_ns.unwrap_or(span.end).clamp(began_ns, span.end))
        }));
        let mut times = AccessTimes::default();
        let mut kinds = vec![AccessKind::Discard; records.len()];
        let mut streams = Streams::default();
        let (mut inside, mut of_kind, mut at_ns) = (0_usize, [0_usize; AccessKind::ALL.len()], span.start);
        for QueueStep { at_ns: step_ns, enters, request } in steps {
            if inside > 0 {
                let each = (step_ns - at_ns) as f64 / inside as f64;
                times.0.iter_mut().zip(of_kind).for_each(|(time, requests)| *time += each * requests as f64);
            }
            at_ns = step_ns;
            if enters {
                inside += 1;
                let record = &records[request];
                kinds[request] = AccessKind::of_request(record.operation, streams.goes_on(record), inside);
                of_kind[kinds[request] as usize] += 1;
            } else {
                inside -= 1;
                of_kind[kinds[request] as usize] -= 1;
            }
        }
        times
    }

    pub fn nanoseconds(&self, kind: AccessKind) -> f64 {
        self.0[kind as usize]
    }

    pub fn add(&mut self, other: &AccessTimes) {
        self.0.iter_mut().zip(other.0).for_each(|(time, more)| *time += more);
    }
}

/// The sectors behind recent reads, and behind recent writes.
#[derive(Debug, Default)]
struct Streams {
    reads: VecDeque<u64>,
    writes: VecDeque<u64>,
}

impl Streams {
    /// Remembers where a request ends; returns whether it begins where a recent one of its operation ended.
    fn goes_on(&mut self, record: &Traced) -> bool {
        let ends = match record.operation {
            Action::Read => &mut self.reads,
            Action::Write => &mut self.writes,
            _ => return false,
        };
        let place = ends.iter().position(|end| *end == record.sector);
        match place {
            Some(place) => drop(ends.remove(place)),
            None if ends.len() == STREAMS => drop(ends.pop_front()),
            None => {}
        }
        ends.push_back(record.end());
        place.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flags;
    use super::{AccessKind, AccessTimes, Action, Traced};

    fn traced(operation: Action, sector: u64, span_ns: (u64, u64)) -> Traced {
        Traced {
            submitted_ns: span_ns.0,
            completed_ns: Some(span_ns.1),
            operation,
            sector,
            sectors: 8,
            flags: Flags::default(),
            by: None,
        }
    }

    fn seconds(times: &AccessTimes) -> Vec<(&'static str, f64)> {
        let all = AccessKind::ALL.into_iter().map(|kind| (kind.name(), times.nanoseconds(kind)));
        all.filter(|(_, time)| *time > 0.0).collect()
    }

    #[test]
    fn a_moment_is_divided_among_the_requests_inside() {
        let records = [
            traced(Action::Read, 0, (0, 10)),
            traced(Action::Read, 8, (10, 20)),
            // Two at once, of which one takes twice as long.
            traced(Action::Write, 800, (30, 40)),
            traced(Action::Flush, 0, (30, 50)),
            // What lies outside of the span does not count.
            traced(Action::Discard, 0, (90, 200)),
        ];
        let expected = [
            ("read_onwards", 10.0),
            ("read_elsewhere", 10.0),
            ("write_elsewhere", 5.0),
            ("flush", 15.0),
            ("discard", 10.0),
        ];
        assert_eq!(seconds(&AccessTimes::from_trace(&records, 0..100)), expected);
    }

    #[test]
    fn readers_that_take_turns_all_read_onwards_and_many_reads_at_once_are_queued() {
        let turns: Vec<Traced> = (0..20)
            .map(|number| traced(Action::Read, number % 2 * 10_000 + number / 2 * 8, (number, number + 1)))
            .collect();
        let times = AccessTimes::from_trace(&turns, 0..100);
        assert_eq!(seconds(&times), [("read_onwards", 18.0), ("read_elsewhere", 2.0)]);
        let deep: Vec<Traced> = (0..10).map(|number| traced(Action::Read, 1000 * number, (0, 10))).collect();
        let found = seconds(&AccessTimes::from_trace(&deep, 0..100));
        assert!(
            matches!(found[..], [("read_elsewhere", few), ("read_queued", more)]
            if (few - 7.0).abs() < 1e-9 && (more - 3.0).abs() < 1e-9),
            "{found:?}"
        );
    }
}
