//! The sentinel: a fixed piece of work for the processor and one for the memory, timed before each trial. It
//! has nothing to do with filesystems: when it takes longer, the machine has become slower (heat, a clock that was
//! turned down, a neighbour in the caches).
//!
//! It cannot see where the trial itself runs: how a guest's processes share the processors is settled by pinning them
//! (`host/placement.rs`), not found out here.

use std::hint::black_box;
use std::time::Instant;

use fsverdict_judgement::journal::Sentinel;

/// The number of repetitions. The shortest time counts, because it contains the least delay by the scheduler.
const REPETITIONS: u32 = 7;
/// Steps of the processor's work: about two milliseconds.
const STEPS: u64 = 1_000_000;
/// Words of the memory's work: 32 MiB, more than most caches hold.
const WORDS: usize = 4 << 20;
/// Words in a cache line; one word of each line is read.
const LINE: usize = 8;

/// Times both pieces of work, which takes some hundredths of a second in total.
pub(super) fn time_sentinel() -> Sentinel {
    let memory = vec![1_u64; WORDS];
    Sentinel {
        cpu: best_time(|| black_box(spin_processor(STEPS))),
        memory: best_time(|| black_box(walk_memory(&memory))),
    }
}

fn best_time(work: impl Fn() -> u64) -> f64 {
    let time = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..REPETITIONS).map(time).fold(f64::INFINITY, f64::min)
}

/// Computes a chain in which each step needs the previous one.
fn spin_processor(steps: u64) -> u64 {
    (0..steps).fold(black_box(1), |state: u64, step| {
        (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ step
    })
}

fn walk_memory(memory: &[u64]) -> u64 {
    black_box(memory).iter().step_by(LINE).fold(0, |sum, word| sum.wrapping_add(*word))
}

#[cfg(test)]
mod tests {
    use super::{spin_processor, time_sentinel};

    #[test]
    fn the_work_is_done_and_timed() {
        assert_ne!(spin_processor(10), spin_processor(11));
        let found = time_sentinel();
        assert!(found.cpu > 0.0 && found.memory > 0.0, "{found:?}");
    }
}
