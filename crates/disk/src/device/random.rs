//! Pseudorandom numbers that are the same on every machine: computed from a seed and a count, without a state.

/// Mixes 64 bits one-to-one (the finaliser of `SplitMix64`; Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn mix_bits(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns a uniform number from 0 to 1, excluding 1.
pub(super) fn uniform_unit(seed: u64, count: u64) -> f64 {
    (mix_bits(mix_bits(seed) ^ count) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a uniform whole number from 0 to `limit`, excluding `limit`.
pub(crate) fn uniform_below(seed: u64, count: u64, limit: u64) -> u64 {
    ((u128::from(mix_bits(mix_bits(seed) ^ count)) * u128::from(limit)) >> 64) as u64
}
