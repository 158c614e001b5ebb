//! A pseudorandom permutation of the numbers below a limit without a table: a Feistel network, applied until the
//! result is below the limit.
//!
//! It places the pages of a randomly written disk at random, without memory for each of them.

use super::super::super::random::mix_bits;

/// A permutation of the numbers below `limit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permutation {
    seed: u64,
    half_bits: u32,
    limit: u64,
}

const ROUNDS: u64 = 4;

impl Permutation {
    pub(super) fn new(limit: u64, seed: u64) -> Permutation {
        let bits = 64 - limit.max(2).leading_zeros();
        Permutation { seed, half_bits: bits.div_ceil(2), limit }
    }

    fn round_value(&self, half: u64, round: u64) -> u64 {
        mix_bits(half ^ self.seed.rotate_left(round as u32 * 16) ^ (round << 60))
            & ((1 << self.half_bits) - 1)
    }

    fn permute_once(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> self.half_bits, number & ((1 << self.half_bits) - 1));
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round_value(right, round));
        }
        left << self.half_bits | right
    }

    fn invert_once(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> self.half_bits, number & ((1 << self.half_bits) - 1));
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round_value(left, round), left);
        }
        left << self.half_bits | right
    }

    /// The number to which a number below the limit is mapped.
    pub(super) fn forth(&self, mut number: u64) -> u64 {
        loop {
            number = self.permute_once(number);
            if number < self.limit {
                return number;
            }
        }
    }

    /// The number that is mapped to this number.
    pub(super) fn back(&self, mut number: u64) -> u64 {
        loop {
            number = self.invert_once(number);
            if number < self.limit {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn every_number_has_one_place_and_comes_back() {
        for limit in [1, 2, 3, 100, 1000, 4097] {
            let permutation = Permutation::new(limit, 7);
            let mut places: Vec<u64> = (0..limit).map(|number| permutation.forth(number)).collect();
            assert!((0..limit).all(|number| permutation.back(places[number as usize]) == number));
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..limit), "{limit}");
        }
    }
}
