//! The random order of a block, a function of seed and block number alone: a resumed run goes on as it would have.

use std::hash::{BuildHasher, RandomState};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::trial::seeds;

/// The fact that shows a run's seed of the order.
pub(super) const ORDER_SEED: &str = "order.seed";

/// The seed with which a run is to begin: the plan's, or one that is drawn. In simulated time everything is to come out
/// the same again, and the order with it.
pub(super) fn draw_order_seed(plan: &Plan) -> u64 {
    // Few digits are enough, and can be typed.
    let drawn = || RandomState::new().hash_one(0_u8) % 1_000_000;
    plan.protocol
        .order
        .unwrap_or_else(|| if plan.device.source.is_modelled() { plan.protocol.seed } else { drawn() })
}

/// The seed of a run's order, as it was recorded; earlier versions had the plan's.
pub(super) fn order_seed(plan: &Plan, run: &Run) -> u64 {
    run.header.beginning.order_seed.unwrap_or(plan.protocol.seed)
}

/// The places in `candidates` of those who are `still_in`, in the order in which a block tries them: drawn anew for
/// every block with an odd number, and turned round in the one after, so that whatever grows or shrinks within blocks
/// favours nobody.
///
/// Fisher-Yates with draws that are free of modulo bias (rejection), from a stream of its own per pair of blocks. All are
/// drawn for, so that somebody's leaving between two blocks leaves the others' order as it was.
pub fn order(seed: u64, block: u32, candidates: usize, still_in: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seeds::of_order(seed, block));
    let mut order: Vec<usize> = (0..candidates).collect();
    for last in (1..candidates).rev() {
        order.swap(last, below(&mut random, last as u64 + 1) as usize);
    }
    if block.is_multiple_of(2) {
        order.reverse();
    }
    order.retain(|candidate| still_in(*candidate));
    order
}

/// A number below `limit`, each equally likely.
fn below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
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

    use super::order;

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_pair_of_blocks_another() {
        let all = |_| true;
        assert_eq!(order(1, 1, 8, all), order(1, 1, 8, all));
        assert_ne!(order(1, 1, 8, all), order(1, 3, 8, all));
        assert_ne!(order(1, 1, 8, all), order(2, 1, 8, all));
    }

    #[test]
    fn every_second_block_is_turned_round_whoever_has_left() {
        for seed in 0..20 {
            let mut turned = order(seed, 3, 6, |_| true);
            turned.reverse();
            assert_eq!(order(seed, 4, 6, |_| true), turned);
            turned.retain(|candidate| *candidate != 2);
            assert_eq!(order(seed, 4, 6, |candidate| candidate != 2), turned);
        }
    }

    #[test]
    fn every_candidate_is_first_about_equally_often() {
        let mut firsts: BTreeMap<usize, u32> = BTreeMap::new();
        for pair in 0..4000 {
            let mut order = order(7, 2 * pair + 1, 4, |_| true);
            *firsts.entry(order[0]).or_default() += 1;
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
        // 1000 expected, standard deviation 27; six of those allow for no seed that matters.
        assert!(firsts.values().all(|&count| (840..1160).contains(&count)), "{firsts:?}");
    }
}
