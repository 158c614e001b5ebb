//! After which blocks the rule looks, and what each look may spend of the probability to be wrong.

/// One-sided error of one interval at a look, for each block so far, of at least and at most so many.
const PER_BLOCK: f64 = 0.000_33;
const LEAST: u32 = 6;
pub(super) const MOST: u32 = 60;

/// After so many blocks looks become rarer: another after every quarter more.
const EVERY_BLOCK: u32 = 8;

/// One-sided error of one interval at the look after a block that so many candidates took part in. It grows with the blocks:
/// of little noise little is needed to decide early, and much of what may go wrong is left for where noise makes it hard.
pub fn level(block: u32, candidates: usize) -> f64 {
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
