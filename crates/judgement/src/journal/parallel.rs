//! Applies a function to every item of a slice, in parallel on all processors.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// Upper bound of threads: their input comes from one disk, which more threads do not make faster.
const MAX_THREADS: usize = 16;

/// Applies `work` to each item in parallel; the results are in the order of the items.
pub fn map_in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let share = items.len().div_ceil(threads).max(1);
    scope(|scope| {
        let work = &work;
        let handles: Vec<_> = items
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
            .collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::map_in_parallel;

    #[test]
    fn results_have_the_order_of_the_items() {
        let all: Vec<u32> = (0..1000).collect();
        assert_eq!(
            map_in_parallel(&all, |number| number * 2),
            all.iter().map(|number| number * 2).collect::<Vec<_>>()
        );
        assert!(map_in_parallel(&Vec::<u32>::new(), |number| *number).is_empty());
    }
}
