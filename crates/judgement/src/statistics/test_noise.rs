//! Pseudo-random numbers for simulations in tests, the same in every run.

/// A sequence of numbers that its seed determines (`SplitMix64`; Box and Muller).
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    /// A number from 0 to 1, all equally likely.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        let (one, other) = (1.0 - self.uniform(), self.uniform());
        libm::sqrt(-2.0 * libm::log(one)) * libm::cos(2.0 * std::f64::consts::PI * other)
    }
}
