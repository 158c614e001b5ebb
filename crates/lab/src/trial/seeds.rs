//! Derives every seed of a run that is written neither in its plan nor in its journal. The derivations must never
//! change, because recorded runs are repeated and resumed with them.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// 2⁶⁴ by the golden ratio, so that neighbours are far apart.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The pair a block belongs to: its second block mirrors the first.
fn block_pair(block: u32) -> u64 {
    u64::from(block.div_ceil(2))
}

/// A seed for a numbered thing: a pair or a block.
fn numbered_seed(seed: u64, number: u64) -> u64 {
    seed ^ number.wrapping_mul(STEP)
}

/// Of the order in which a pair of blocks tries the candidates.
pub fn of_order(seed: u64, block: u32) -> u64 {
    numbered_seed(seed, block_pair(block))
}

/// Of the memory, size and pause that a pair of blocks meets.
pub fn of_nuisances(seed: u64, block: u32) -> u64 {
    numbered_seed(seed.rotate_left(32), block_pair(block))
}

/// Of the member of a class of devices that a pair of blocks has.
pub fn of_member(seed: u64, block: u32) -> u64 {
    numbered_seed(seed, block_pair(block))
}

/// Of the names in a block's datasets.
pub fn of_names(seed: u64, block: u32) -> u64 {
    numbered_seed(seed, u64::from(block))
}

/// The seed of everything random in a modelled device: the same for all candidates of a block.
pub fn of_device(seed: u64, block: u32) -> u64 {
    xxh3_64_with_seed(&block.to_le_bytes(), seed)
}

/// Of the second of several devices and those after it, from the seed of the first.
pub fn of_further_device(first: u64, number: usize) -> u64 {
    if number <= 1 { first } else { xxh3_64_with_seed(&(number as u64).to_le_bytes(), first) }
}

/// The seed of a site, in place of the plan's.
pub fn of_site(seed: u64, site: &str) -> u64 {
    xxh3_64_with_seed(site.as_bytes(), seed) >> 1
}

#[cfg(test)]
mod tests {
    use super::{of_device, of_further_device, of_member, of_names, of_nuisances, of_order, of_site};

    #[test]
    fn seeds_are_what_recorded_runs_were_made_with() {
        assert_eq!(of_order(7, 3), 0x3C6E_F372_FE94_F82D);
        assert_eq!((of_order(7, 4), of_member(7, 3)), (of_order(7, 3), of_order(7, 3)));
        assert_eq!(of_nuisances(7, 3), 0x3C6E_F375_FE94_F82A);
        assert_eq!(of_names(7, 3), 0xDAA6_6D2C_7DDF_7438);
        assert_eq!(of_device(7, 3), 0x8083_3F9B_601F_25AB);
        assert_eq!(of_further_device(7, 1), 7);
        assert!(of_further_device(7, 2) != 7 && of_further_device(7, 2) != of_further_device(7, 3));
        assert_eq!(of_site(7, "one"), 0x2F65_4E49_27CE_FC99);
    }
}
