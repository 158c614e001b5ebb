//! Work shared among threads: each takes every n-th piece of it, and their latencies are added up.
//!
//! One thread is the caller's own: nothing is started, and the loop is as bare as it is without this file.

use super::WorkError;
use super::latency::LatencyRecorder;
use fsverdict_linux::host::syscall::own_table_of_files;

/// One of the threads that share the work.
pub(super) struct Hand {
    /// From 0 …
    pub(super) number: usize,
    /// The number of threads.
    pub(super) of: usize,
    pub(super) latency: LatencyRecorder,
}

impl Hand {
    /// The part of a list that is this one's.
    pub(super) fn items_of_hand<'a, T>(&self, all: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
        all.iter().skip(self.number).step_by(self.of)
    }
}

/// The combined results of all threads.
pub(super) struct SharedDone {
    pub(super) bytes: u64,
    pub(super) latency: LatencyRecorder,
}

/// Runs the work in so many threads; each returns the bytes that it read or wrote; `call` names its latencies.
///
/// # Errors
/// The first that a hand met; the others end their parts before it is told.
pub(super) fn with_hands(
    threads: u32,
    call: &'static str,
    work: impl Fn(&mut Hand) -> Result<u64, WorkError> + Sync,
) -> Result<SharedDone, WorkError> {
    let thread_count = threads.max(1) as usize;
    let hand =
        |number| Ok::<_, WorkError>(Hand { number, of: thread_count, latency: LatencyRecorder::new(call)? });
    let mut first = hand(0)?;
    if thread_count == 1 {
        let bytes = work(&mut first)?;
        return Ok(SharedDone { bytes, latency: first.latency });
    }
    let others = (1..thread_count).map(hand).collect::<Result<Vec<Hand>, _>>()?;
    let work = &work;
    std::thread::scope(|scope| {
        let started: Vec<_> = others
            .into_iter()
            .map(|mut hand| {
                std::thread::Builder::new().spawn_scoped(scope, move || {
                    // Nothing that a hand opens outlives its part.
                    own_table_of_files().map_err(|errno| WorkError::Thread { reason: errno.to_string() })?;
                    let bytes = work(&mut hand)?;
                    Ok::<_, WorkError>(SharedDone { bytes, latency: hand.latency })
                })
            })
            .collect();
        let mut totals = work(&mut first).map(|bytes| SharedDone { bytes, latency: first.latency });
        for thread in started {
            let ended = match thread {
                Ok(thread) => {
                    thread.join().unwrap_or(Err(WorkError::Thread { reason: "it panicked".to_owned() }))
                }
                Err(error) => Err(WorkError::Thread { reason: error.to_string() }),
            };
            totals = totals.and_then(|mut sum| {
                let other = ended?;
                sum.bytes += other.bytes;
                sum.latency.merge_with(&other.latency);
                Ok(sum)
            });
        }
        totals
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::Instant;

    use super::super::WorkError;
    use super::super::latency::to_recorded_calls;
    use super::with_hands;

    #[test]
    fn every_piece_is_done_once_and_every_latency_counted_by_however_many() {
        for threads in [1, 2, 3, 7] {
            let pieces: Vec<u32> = (0..20).collect();
            let (seen, who) = (Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
            let done = with_hands(threads, "piece", |hand| {
                who.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
                let mut bytes = 0;
                for piece in hand.items_of_hand(&pieces) {
                    seen.lock().unwrap().push(*piece);
                    hand.latency.record_since(Instant::now());
                    bytes += 10;
                }
                Ok(bytes)
            })
            .unwrap();
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, pieces);
            assert_eq!(done.bytes, 200);
            assert_eq!(who.into_inner().unwrap().len(), threads as usize);
            let counted: u64 =
                to_recorded_calls(&[&done.latency])[0].latencies.buckets.iter().map(|(_, count)| count).sum();
            assert_eq!(counted, 20);
        }
    }

    #[test]
    fn the_error_of_one_is_that_of_all() {
        let fails = |number: usize| {
            with_hands(3, "piece", move |hand| match hand.number == number {
                true => Err(WorkError::NotInFolder { operation: "x" }),
                false => Ok(1),
            })
        };
        for number in 0..3 {
            assert!(matches!(fails(number), Err(WorkError::NotInFolder { .. })), "{number}");
        }
        assert!(fails(3).is_ok());
    }
}
