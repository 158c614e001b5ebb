//! Examines states in batches, in as many guests at a time as the lab has room for, and describes how a guest died.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Instant;

use fsverdict_lab::lab::TrialEnd;

use crate::error::FaultError;

/// The longest description of a guest's death, in characters.
const LONGEST_DESCRIPTION: usize = 600;

/// Into how many batches states are divided, if there are enough of them. It does not depend on the processors of this
/// machine, so that each guest examines the same states on every machine.
const BATCHES: usize = 8;
/// No batch is smaller on account of [`BATCHES`]: starting a guest takes as long as examining some states.
const SMALLEST_BATCH: usize = 16;

/// The largest batch where the time is limited: the limit may come within a batch, and a loss that excludes the candidate
/// ends the examination after its batch.
const LARGEST_LIMITED_BATCH: usize = 6;

/// The fewest states that say something of a candidate where the time does not suffice for all: without a loss in so many,
/// less than one state of nine loses something (Wilson's interval at 95 %).
const FEWEST_STATES: usize = 30;

/// Whether so many of the chosen states say something of a candidate. One loss that excludes it does, however few they
/// are, and ends its examination.
pub(crate) fn is_enough(examined: usize, chosen: usize, is_excluded: bool) -> bool {
    is_excluded || examined >= chosen.min(FEWEST_STATES)
}

/// The time for examining one candidate.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExaminationTime {
    /// When this candidate's share of the time ends. Until enough states were examined, it may take longer: a sample of
    /// some candidates says more than too small a sample of each.
    pub share_ends: Option<Instant>,
    /// Nothing is examined after this moment, and a guest that runs then is stopped.
    pub deadline: Option<Instant>,
}

impl ExaminationTime {
    pub(crate) fn is_up(self) -> bool {
        is_past(self.deadline)
    }

    /// Whether no further batch begins when so many states are examined or under examination.
    fn is_used(self, states: usize) -> bool {
        self.is_up() || states >= FEWEST_STATES && is_past(self.share_ends)
    }
}

fn is_past(moment: Option<Instant>) -> bool {
    moment.is_some_and(|moment| moment <= Instant::now())
}

/// Calls `examine` for each batch of `states`, with the number of the guest that is to examine it, from up to `guests` threads.
/// Which states make up a batch depends on the states and `largest_batch` alone. No batch begins after the `time` is used; nor, where the time is limited, after `examine` returned true: it found a loss that
/// excludes the candidate, and the time is better spent on the others. Each batch holds every n-th state, and each begins as far
/// from those before it as it can, so that those before the deadline are a sample of all.
///
/// # Errors
/// The first error of each thread ends that thread; one of them is returned.
pub(crate) fn examine_in_batches<State: Sync + Copy>(
    states: &[State],
    guests: usize,
    largest_batch: usize,
    time: ExaminationTime,
    examine: impl Fn(&[State], usize) -> Result<bool, FaultError> + Sync,
) -> Result<(), FaultError> {
    let guests = guests.max(1);
    let is_limited = time.deadline.is_some();
    let largest_batch = if is_limited { largest_batch.min(LARGEST_LIMITED_BATCH) } else { largest_batch };
    let batch_size = states.len().div_ceil(BATCHES).max(SMALLEST_BATCH).min(largest_batch.max(1));
    let batches = states.len().div_ceil(batch_size);
    let waiting = Mutex::new(spread_evenly(batches).into_iter());
    let begun = AtomicUsize::new(0);
    let is_excluded = AtomicBool::new(false);
    let next_batch = || -> Option<Vec<State>> {
        let is_used =
            time.is_used(begun.load(Ordering::Relaxed)) || is_limited && is_excluded.load(Ordering::Relaxed);
        let first = waiting.lock().ok()?.next().filter(|_| !is_used)?;
        let batch: Vec<State> = states.iter().skip(first).step_by(batches.max(1)).copied().collect();
        begun.fetch_add(batch.len(), Ordering::Relaxed);
        Some(batch)
    };
    let work = |guest: usize| -> Result<(), FaultError> {
        while let Some(batch) = next_batch() {
            if examine(&batch, guest)? {
                is_excluded.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..guests).map(|guest| scope.spawn(move || work(guest))).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The numbers below `count`, in an order in which any first few of them are spread evenly.
fn spread_evenly(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_by_key(|number| number.reverse_bits());
    numbers
}

/// How a guest died while it examined a state.
pub(crate) struct GuestDeath {
    /// Its kernel panicked; otherwise it did not end in time.
    pub(crate) has_panicked: bool,
    pub(crate) description: String,
}

impl GuestDeath {
    pub(crate) fn from_end(end: &TrialEnd) -> GuestDeath {
        let cause = end.interrupted.map_or(String::new(), |interruption| format!("{interruption}: "));
        GuestDeath {
            has_panicked: end.killed || end.reason.contains("panic"),
            description: format!("{cause}{}", end.reason).chars().take(LONGEST_DESCRIPTION).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::{ExaminationTime, FEWEST_STATES, LARGEST_LIMITED_BATCH, examine_in_batches, is_enough};
    use crate::power_cuts::to_fault_error;

    #[test]
    fn every_state_is_examined_once_and_an_error_is_returned() {
        let states: Vec<u32> = (0..100).collect();
        let examined = Mutex::new(Vec::new());
        let note = |batch: &[u32], guest: usize| {
            assert!(batch.len() <= 7 && guest < 3);
            examined.lock().unwrap().extend_from_slice(batch);
            Ok(true)
        };
        examine_in_batches(&states, 3, 7, ExaminationTime::default(), note).unwrap();
        let examined = examined.into_inner().unwrap();
        assert_eq!((examined.len(), examined.into_iter().collect::<BTreeSet<u32>>().len()), (100, 100));
        let fail = |_: &[u32], _: usize| Err(to_fault_error("no guest"));
        assert!(examine_in_batches(&states, 2, 10, ExaminationTime::default(), fail).is_err());
        examine_in_batches(&[] as &[u32], 0, 10, ExaminationTime::default(), fail).unwrap();
    }

    /// One guest per processor once got an equal share of the states, and its findings depended on those before.
    #[test]
    fn batches_do_not_depend_on_the_processors() {
        let states: Vec<u32> = (0..60).collect();
        let batches_of = |guests: usize, largest_batch: usize| {
            let batches = Mutex::new(BTreeSet::new());
            let note = |batch: &[u32], _: usize| {
                batches.lock().unwrap().insert(batch.to_vec());
                Ok(false)
            };
            examine_in_batches(&states, guests, largest_batch, ExaminationTime::default(), note).unwrap();
            batches.into_inner().unwrap()
        };
        for largest_batch in [1, 5, 60, 250] {
            let alone = batches_of(1, largest_batch);
            for guests in [2, 3, 8, 64] {
                assert_eq!(batches_of(guests, largest_batch), alone, "{guests} guests, {largest_batch}");
            }
        }
        assert_eq!(batches_of(2, 250).len(), 4);
    }

    #[test]
    fn no_batch_begins_after_the_deadline_and_those_before_it_are_a_sample_of_all_states() {
        let states: Vec<u32> = (0..300).collect();
        let examined = Mutex::new(Vec::new());
        let later = Some(Instant::now() + Duration::from_secs(3600));
        let now = Some(Instant::now());
        let time = ExaminationTime { share_ends: later, deadline: later };
        let note = |batch: &[u32], _: usize| {
            examined.lock().unwrap().push(batch.to_vec());
            Ok(false)
        };
        examine_in_batches(&states, 1, 250, time, note).unwrap();
        let batches = std::mem::take(&mut *examined.lock().unwrap());
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 300);
        assert!(batches.iter().all(|batch| batch.len() <= LARGEST_LIMITED_BATCH));
        // The first batches reach into every tenth of the states.
        let tenths: BTreeSet<u32> = batches.iter().take(5).flatten().map(|state| state / 30).collect();
        assert_eq!(tenths.len(), 10, "{:?}", &batches[..5]);
        let up = ExaminationTime { share_ends: now, deadline: now };
        examine_in_batches(&states, 2, 250, up, note).unwrap();
        assert!(examined.lock().unwrap().is_empty());
        // Its share has ended, and the whole time has not: as many as say something.
        let used = ExaminationTime { share_ends: now, deadline: later };
        examine_in_batches(&states, 2, 250, used, note).unwrap();
        let enough: usize = examined.lock().unwrap().drain(..).map(|batch| batch.len()).sum();
        assert!((FEWEST_STATES..FEWEST_STATES + 2 * LARGEST_LIMITED_BATCH).contains(&enough), "{enough}");
        // Fewer say nothing, but for a loss that excludes the candidate, which is then not examined further.
        assert!(is_enough(30, 200, false) && is_enough(4, 4, false) && !is_enough(15, 200, false));
        assert!(is_enough(LARGEST_LIMITED_BATCH, 200, true));
        let lose = |batch: &[u32], guest: usize| note(batch, guest).map(|_| true);
        examine_in_batches(&states, 1, 250, time, lose).unwrap();
        assert_eq!(examined.lock().unwrap().len(), 1);
    }
}
