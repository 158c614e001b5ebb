//! Examines states in batches, in as many guests at a time as the lab has room for, and describes how a guest died.

use std::sync::Mutex;
use std::thread::scope;

use fsverdict_lab::lab::TrialEnd;

use crate::error::FaultError;

/// The longest description of a guest's death, in characters.
const LONGEST_DESCRIPTION: usize = 600;

/// Calls `examine` for each batch of `states`, with the number of the guest that is to examine it, from up to `guests` threads.
///
/// # Errors
/// The first error of each thread ends that thread; one of them is returned.
pub(crate) fn examine_in_batches<State: Sync>(
    states: &[State],
    guests: usize,
    largest_batch: usize,
    examine: impl Fn(&[State], usize) -> Result<(), FaultError> + Sync,
) -> Result<(), FaultError> {
    let guests = guests.max(1);
    let batch_size = states.len().div_ceil(guests).clamp(1, largest_batch);
    let waiting = Mutex::new(states.chunks(batch_size));
    let next_batch = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    let work = |guest: usize| -> Result<(), FaultError> {
        while let Some(batch) = next_batch() {
            examine(batch, guest)?;
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

    use super::examine_in_batches;
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
        examine_in_batches(&states, 3, 7, note).unwrap();
        let examined = examined.into_inner().unwrap();
        assert_eq!((examined.len(), examined.into_iter().collect::<BTreeSet<u32>>().len()), (100, 100));
        let fail = |_: &[u32], _: usize| Err(to_fault_error("no guest"));
        assert!(examine_in_batches(&states, 2, 10, fail).is_err());
        examine_in_batches(&[] as &[u32], 0, 10, fail).unwrap();
    }
}
