//! The sequential testing schedule: after which blocks the stopping rule looks at the data, and the error level of each
//! look.

/// One-sided error of one interval at a look, for each block so far; the number of blocks is clamped to `LEAST` and
/// `MOST`.
const PER_BLOCK: f64 = 0.000_33;
const LEAST: u32 = 6;
pub(super) const MOST: u32 = 60;

/// The rule looks after each of this many blocks; later looks follow when the number of blocks has grown by a quarter.
const EVERY_BLOCK: u32 = 8;

/// One-sided error of one interval at the look after a block with this many candidates. The level grows with the
/// blocks: with low noise a small level is enough to decide early, and most of the error probability remains for noisy
/// comparisons.
pub fn error_of_look(block: u32, candidates: usize) -> f64 {
    PER_BLOCK * f64::from(block.clamp(LEAST, MOST)) / candidates.saturating_sub(1).max(1) as f64
}

/// Whether the rule looks after this block.
pub(super) fn is_look(block: u32) -> bool {
    let mut look = EVERY_BLOCK;
    while look < block {
        look += look / 4;
    }
    block <= EVERY_BLOCK || block == look
}
