//! Draws the circumstances of each block in simulated time, so that a verdict holds on machines like the plan's and not only on
//! one of them.
//!
//! Memory and device size vary within 5 % of the plan's values, a pause precedes the first phase, and if the device's
//! model is a class, each block has another device of it. The second block of a pair mirrors the first, like the
//! order of candidates, so that the mean over an even number of blocks is the plan's own value.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Drawn, seeds};
use fsverdict_disk::device::Draw;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{DevicesChoice, NuisancesChoice, Plan};

/// Name of the fact that shows whether circumstances are drawn.
pub const CIRCUMSTANCES_FACT: &str = "circumstances";
/// Largest deviation of memory and size from the plan's values, as a share of them.
const REACH: f64 = 0.05;
/// The longest pause. Journals commit and dirty pages are written back every five seconds, so a longer pause adds no
/// new phase relation.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether a new run draws its circumstances.
pub fn are_drawn(plan: &Plan, simulated: bool) -> bool {
    simulated && plan.protocol.circumstances == NuisancesChoice::Drawn
}

/// Returns the circumstances of a block; `None` if they are the plan's own, as in every run of earlier versions.
pub fn circumstances_of_block(plan: &Plan, run: &Run, block: u32) -> Option<Drawn> {
    run.header.beginning.drawn.unwrap_or(false).then(|| draw_circumstances(plan, block))
}

/// Draws the circumstances of the block with this number.
pub fn draw_circumstances(plan: &Plan, block: u32) -> Drawn {
    let drawn = draw_from_seed(plan.protocol.seed, block);
    let device = drawn.device.filter(|_| plan.protocol.devices == DevicesChoice::Class);
    Drawn { device, ..drawn }
}

/// Returns the smallest size in bytes that the device of a run may have.
pub fn smallest_size(plan: &Plan, simulated: bool, size: u64) -> u64 {
    match plan.protocol.circumstances {
        // Rounded down: one byte more or less makes no difference.
        NuisancesChoice::Drawn if simulated => (size as f64 * (1.0 - REACH)) as u64,
        _ => size,
    }
}

fn draw_from_seed(seed: u64, block: u32) -> Drawn {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seeds::of_nuisances(seed, block));
    let mirrored = block.is_multiple_of(2);
    let mut share = || {
        let drawn = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if mirrored { 1.0 - drawn } else { drawn }
    };
    let [memory, size, pause] = [share(), share(), share()];
    let factor = |share: f64| 1.0 + REACH * (2.0 * share - 1.0);
    Drawn {
        memory: factor(memory),
        size: factor(size),
        pause: PAUSE.mul_f64(pause),
        names: seeds::of_names(seed, block),
        device: Some(Draw { seed: seeds::of_member(seed, block), mirrored }),
    }
}

#[cfg(test)]
mod tests {
    use super::{PAUSE, REACH, draw_from_seed};

    #[test]
    fn a_block_has_the_same_circumstances_each_time_and_the_next_one_the_opposite() {
        for block in (1..40).step_by(2) {
            let (one, other) = (draw_from_seed(7, block), draw_from_seed(7, block + 1));
            assert_eq!(one, draw_from_seed(7, block));
            assert_ne!(one.names, other.names);
            assert!((one.memory - 1.0).abs() <= REACH && (one.size - 1.0).abs() <= REACH);
            assert!((one.memory + other.memory - 2.0).abs() < 1e-9);
            assert!((one.size + other.size - 2.0).abs() < 1e-9);
            assert!((one.pause + other.pause).abs_diff(PAUSE).as_nanos() < 10);
        }
        assert_ne!(draw_from_seed(7, 1), draw_from_seed(8, 1));
        assert_ne!(draw_from_seed(7, 1), draw_from_seed(7, 3));
    }

    #[test]
    fn what_is_drawn_takes_up_its_whole_range() {
        let all: Vec<f64> = (0..200).map(|pair| draw_from_seed(1, 2 * pair + 1).memory).collect();
        let reaches = |low: f64, high: f64| all.iter().any(|found| (low..high).contains(found));
        assert!(reaches(0.95, 0.96) && reaches(0.995, 1.005) && reaches(1.04, 1.05), "{all:?}");
    }
}
