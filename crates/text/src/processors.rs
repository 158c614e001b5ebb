//! One piece of work for each of many, on all processors at once.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// More threads than these are not begun: what they are given is read from one disk.
const MOST: usize = 16;

/// What `work` makes of each, in their order.
pub fn each_of<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(MOST);
    let share = all.len().div_ceil(threads).max(1);
    scope(|scope| {
        let work = &work;
        let begun: Vec<_> = all
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
            .collect();
        begun.into_iter().flat_map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::each_of;

    #[test]
    fn they_come_back_in_their_order() {
        let all: Vec<u32> = (0..1000).collect();
        assert_eq!(each_of(&all, |one| one * 2), all.iter().map(|one| one * 2).collect::<Vec<_>>());
        assert!(each_of(&Vec::<u32>::new(), |one| *one).is_empty());
    }
}
