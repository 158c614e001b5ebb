//! Random numbers from a specified generator: the same seed gives the same dataset on every machine.
//!
//! Each purpose draws from its own stream, so that a change in one (say, the names) moves nothing in another.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(purpose.as_bytes(), seed)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number from 0 to `limit`, exclusive (0 when `limit` is 0).
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        scale_to_limit(self.next(), limit)
    }

    /// Draws a number from 0 to 1, exclusive.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Fills `bytes` with noise no compressor can shrink.
    pub(crate) fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// Maps any 64-bit number evenly onto 0 up to, not including, `limit`.
pub(crate) fn scale_to_limit(number: u64, limit: u64) -> u64 {
    ((u128::from(number) * u128::from(limit)) >> 64) as u64
}

/// Scrambles 64 bits reversibly (the finaliser of `SplitMix64`, Steele et al., OOPSLA 2014).
pub(crate) fn mix_bits(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::RandomStream;

    #[test]
    fn streams_of_one_seed_differ_by_purpose_and_repeat() {
        let draw = |seed, purpose| RandomStream::new(seed, purpose).next();
        assert_eq!(draw(1, "names"), draw(1, "names"));
        assert_ne!(draw(1, "names"), draw(1, "sizes"));
        assert_ne!(draw(1, "names"), draw(2, "names"));
    }

    #[test]
    fn shuffling_keeps_every_item_and_moves_some() {
        let mut items: Vec<u32> = (0..1000).collect();
        RandomStream::new(7, "test").shuffle(&mut items);
        let moved = items.iter().enumerate().filter(|(at, item)| *at as u32 != **item).count();
        assert!(moved > 900, "{moved}");
        items.sort_unstable();
        assert!(items.iter().enumerate().all(|(at, item)| at as u32 == *item));
    }
}
