//! Examines states in batches, in as many guests at a time as the lab has room for, and describes how a guest died.

use std::sync::Mutex;
use std::thread::scope;
use std::time::Instant;

use fsverdict_lab::lab::TrialEnd;

use crate::error::FaultError;

/// The longest description of a guest's death, in characters.
const LONGEST_DESCRIPTION: usize = 600;

/// The largest batch where the time is limited: the limit may come within a batch.
const LARGEST_LIMITED_BATCH: usize = 30;

/// The fewest states that say something of a candidate where the time does not suffice for all: without a loss in so many,
/// less than one state of nine loses something (Wilson's interval at 95 %).
pub(crate) const FEWEST_STATES: usize = 30;

/// Calls `examine` for each batch of `states`, with the number of the guest that is to examine it, from up to `guests` threads.
/// After `deadline` no batch begins. Each batch holds every n-th state, so that those before the deadline are a sample of all.
///
/// # Errors
/// The first error of each thread ends that thread; one of them is returned.
pub(crate) fn examine_in_batches<State: Sync + Copy>(
    states: &[State],
    guests: usize,
    largest_batch: usize,
    deadline: Option<Instant>,
    examine: impl Fn(&[State], usize) -> Result<(), FaultError> + Sync,
) -> Result<(), FaultError> {
    let guests = guests.max(1);
    let largest_batch =
        if deadline.is_some() { largest_batch.min(LARGEST_LIMITED_BATCH) } else { largest_batch };
    let batch_size = states.len().div_ceil(guests).clamp(1, largest_batch);
    let batches = states.len().div_ceil(batch_size);
    let waiting = Mutex::new(0..batches);
    let is_time_up = || deadline.is_some_and(|deadline| deadline <= Instant::now());
    let next_batch = || -> Option<Vec<State>> {
        let first = waiting.lock().ok()?.next().filter(|_| !is_time_up())?;
        Some(states.iter().skip(first).step_by(batches.max(1)).copied().collect())
    };
    let work = |guest: usize| -> Result<(), FaultError> {
        while let Some(batch) = next_batch() {
            examine(&batch, guest)?;
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

    use super::{LARGEST_LIMITED_BATCH, examine_in_batches};
    use crate::power_cuts::to_fault_error;

    #[test]
    fn every_state_is_examined_once_and_an_error_is_returned() {
        let states: Vec<u32> = (0..100).collect();
        let examined = Mutex::new(Vec::new());
        let note = |batch: &[u32], guest: usize| {
            assert!(batch.len() <= 7 && guest < 3);
            examined.lock().unwrap().extend_from_slice(batch);
            Ok(())
        };
        examine_in_batches(&states, 3, 7, None, note).unwrap();
        let examined = examined.into_inner().unwrap();
        assert_eq!((examined.len(), examined.into_iter().collect::<BTreeSet<u32>>().len()), (100, 100));
        let fail = |_: &[u32], _: usize| Err(to_fault_error("no guest"));
        assert!(examine_in_batches(&states, 2, 10, None, fail).is_err());
        examine_in_batches(&[] as &[u32], 0, 10, None, fail).unwrap();
    }

    #[test]
    fn no_batch_begins_after_the_deadline_and_those_before_it_are_a_sample_of_all_states() {
        let states: Vec<u32> = (0..300).collect();
        let examined = Mutex::new(Vec::new());
        let deadline = Instant::now() + Duration::from_secs(3600);
        let note = |batch: &[u32], _: usize| {
            examined.lock().unwrap().push(batch.to_vec());
            Ok(())
        };
        examine_in_batches(&states, 1, 250, Some(deadline), note).unwrap();
        let batches = std::mem::take(&mut *examined.lock().unwrap());
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 300);
        assert!(batches.iter().all(|batch| batch.len() <= LARGEST_LIMITED_BATCH));
        assert!(batches[0][0] < 30 && *batches[0].last().unwrap() >= 270, "{:?}", batches[0]);
        examine_in_batches(&states, 2, 250, Some(Instant::now()), note).unwrap();
        assert!(examined.lock().unwrap().is_empty());
    }
}
