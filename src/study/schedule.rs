//! Draws the random order of a block from the seed and the block number alone, so that a resumed run continues with
//! the same order.

use std::hash::{BuildHasher, RandomState};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::trial::seeds;

/// The name of the fact that records the seed of a run's order.
pub(super) const ORDER_SEED: &str = "order.seed";

/// The order seed with which a run begins: the plan's, or a random one. In simulated time results must be
/// reproducible, so the plan's general seed is used there.
pub fn draw_order_seed(plan: &Plan) -> u64 {
    // Six digits are enough and easy to type.
    let drawn = || RandomState::new().hash_one(0_u8) % 1_000_000;
    plan.protocol
        .order
        .unwrap_or_else(|| if plan.device.source.is_modelled() { plan.protocol.seed } else { drawn() })
}

/// The recorded seed of a run's order; earlier versions used the plan's seed.
pub(super) fn order_seed(plan: &Plan, run: &Run) -> u64 {
    run.header.beginning.order_seed.unwrap_or(plan.protocol.seed)
}

/// The indices in `candidates` of the candidates that are `still_in`, in the order in which a block tries them. The
/// order is drawn for every odd block and reversed in the following even block, so that a drift within blocks favours
/// no candidate.
///
/// Uses Fisher-Yates with draws that are free of modulo bias (rejection sampling), from a separate random stream for
/// each pair of blocks. The draw includes all candidates, so that the order of the others stays the same when one
/// leaves between two blocks.
pub fn draw_order(seed: u64, block: u32, candidates: usize, still_in: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seeds::of_order(seed, block));
    let mut order: Vec<usize> = (0..candidates).collect();
    for last in (1..candidates).rev() {
        order.swap(last, draw_below(&mut random, last as u64 + 1) as usize);
    }
    if block.is_multiple_of(2) {
        order.reverse();
    }
    order.retain(|candidate| still_in(*candidate));
    order
}

/// A number below `limit`, uniformly distributed.
fn draw_below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % limit;
    loop {
        let draw = random.next_u64();
        if draw < fair {
            return draw % limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::draw_order;

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_pair_of_blocks_another() {
        let all = |_| true;
        assert_eq!(draw_order(1, 1, 8, all), draw_order(1, 1, 8, all));
        assert_ne!(draw_order(1, 1, 8, all), draw_order(1, 3, 8, all));
        assert_ne!(draw_order(1, 1, 8, all), draw_order(2, 1, 8, all));
    }

    #[test]
    fn every_second_block_is_turned_round_whoever_has_left() {
        for seed in 0..20 {
            let mut turned = draw_order(seed, 3, 6, |_| true);
            turned.reverse();
            assert_eq!(draw_order(seed, 4, 6, |_| true), turned);
            turned.retain(|candidate| *candidate != 2);
            assert_eq!(draw_order(seed, 4, 6, |candidate| candidate != 2), turned);
        }
    }

    #[test]
    fn every_candidate_is_first_about_equally_often() {
        let mut firsts: BTreeMap<usize, u32> = BTreeMap::new();
        for pair in 0..4000 {
            let mut order = draw_order(7, 2 * pair + 1, 4, |_| true);
            *firsts.entry(order[0]).or_default() += 1;
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
        // 1000 are expected with a standard deviation of 27; six of those cover every seed that matters.
        assert!(firsts.values().all(|&count| (840..1160).contains(&count)), "{firsts:?}");
    }
}
