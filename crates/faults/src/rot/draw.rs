//! Which blocks rot, of more than anybody can look at: drawn by a seed, alike many of each use, and each once.

use std::collections::{BTreeMap, BTreeSet};

use fsverdict_disk::crash::{Decay, ImageStateError, ROT_BLOCK, RottenBlock, RottenImage};
use fsverdict_disk::device::Store;
use fsverdict_judgement::journal::{BlockUse, ReadingStopped};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One in so many is a control: a block that holds nothing.
const CONTROLS: u64 = 20;
/// Draws for each that is wanted: where a use has few blocks, most are of those that were drawn.
const DRAWS: u64 = 12;

/// Draws up to `wanted` blocks, each with one of these kinds of decay, sorted by position, with the use of each.
pub(super) fn draw_blocks(
    left: &DeviceAfterTrial,
    wanted: usize,
    kinds: &[Decay],
    seed: u64,
) -> Result<Vec<(RottenBlock, BlockUse)>, ImageStateError> {
    let mut by_use: BTreeMap<BlockUse, Vec<u64>> = BTreeMap::new();
    for (block, held) in &left.held {
        by_use.entry(*held).or_default().push(*block);
    }
    let uses: Vec<(BlockUse, Vec<u64>)> = by_use.into_iter().collect();
    let in_use: Vec<u64> = left.held.keys().copied().collect();
    let written: BTreeSet<u64> = left.image.log().written_blocks(0).into_iter().collect();
    let blocks = left.store.size_bytes() / ROT_BLOCK;
    let mut drawn: BTreeMap<RottenBlock, BlockUse> = BTreeMap::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for number in 0..(wanted as u64).saturating_mul(DRAWS) {
        if drawn.len() >= wanted || uses.is_empty() {
            break;
        }
        // As many numbers for each, so that none shifts those after it.
        let numbers: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        let chance = |which: usize, limit: u64| {
            let number = numbers.get(which).copied().unwrap_or(0);
            ((u128::from(number) * u128::from(limit)) >> 64) as u64
        };
        let bit = chance(3, ROT_BLOCK * 8) as u16;
        let (rotten, held) = if number % CONTROLS == CONTROLS - 1 {
            let block = chance(0, blocks);
            let decay = if chance(1, 2) == 0 { Decay::Flipped(bit) } else { Decay::Unreadable };
            if written.contains(&block) || left.held.contains_key(&block) {
                continue;
            }
            (RottenBlock { block, decay }, BlockUse::Unused)
        } else {
            let Some((held, of_use)) = uses.get((number % uses.len() as u64) as usize) else { continue };
            let pick = |blocks: &[u64], which: usize| {
                blocks.get(chance(which, blocks.len() as u64) as usize).copied().unwrap_or(0)
            };
            let kind = kinds.get(chance(1, kinds.len() as u64) as usize);
            let decay = match kind.copied().unwrap_or(Decay::Zeroed) {
                Decay::Flipped(_) => Decay::Flipped(bit),
                Decay::Misdirected(_) => Decay::Misdirected(pick(&in_use, 3)),
                other => other,
            };
            (RottenBlock { block: pick(of_use, 2), decay }, *held)
        };
        // A block that holds the same as before has not rotted.
        let changes = rotten.decay.changes_content();
        if !changes || left.image.decayed_content(&left.store, rotten)?.is_some() {
            drawn.insert(rotten, held);
        }
    }
    Ok(drawn.into_iter().collect())
}

/// A candidate's device when its trial had ended.
pub(super) struct DeviceAfterTrial {
    pub(super) store: Store,
    pub(super) image: RottenImage,
    pub(super) held: BTreeMap<u64, BlockUse>,
    /// Where the reading of its layout stopped, if it did not come to its end.
    pub(super) stopped: Option<ReadingStopped>,
}
