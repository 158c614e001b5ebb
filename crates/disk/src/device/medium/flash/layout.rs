//! How much flash there is, how it is divided, and what it holds before the first request.

use super::super::DriveInstance;
use super::mapping::{CHUNK, Initial};
use super::parameters::{FlashParameters, FlashState};
use super::permutation::Permutation;

/// Sectors of a unit of the mapping: 4 KiB.
pub(super) const UNIT_SECTORS: u64 = 8;
/// Smallest number of blocks: a small device gets smaller blocks rather than fewer.
const MIN_BLOCKS: u64 = 256;

/// Sizes of a drive's flash, in units, and the units that it holds.
#[derive(Debug)]
pub(super) struct FlashLayout {
    /// Logical units of the whole drive. The host uses the first of them.
    pub(super) units: u64,
    pub(super) page_units: u64,
    pub(super) block_units: u64,
    /// Cleaning starts when fewer blocks than this are free.
    pub(super) low_watermark: u64,
    /// Logical units that hold data before the first request.
    pub(super) initial_data: std::ops::Range<u64>,
    /// Number of valid units in each block, the block written longest ago first; the other blocks are free.
    pub(super) valid: Vec<u32>,
    pub(super) initial: Initial,
}

impl FlashLayout {
    /// Derives block and page sizes from the parameters, and fills the drive as its state requires.
    pub(super) fn new(parameters: &FlashParameters, drive: &DriveInstance) -> FlashLayout {
        let unit_bytes = UNIT_SECTORS * 512;
        let host_units = drive.size_bytes.div_ceil(unit_bytes);
        let rest_fill_share = parameters.elsewhere;
        let units =
            rest_fill_share.map_or(host_units, |_| (drive.capacity_sectors / UNIT_SECTORS).max(host_units));
        let initial_data = match (parameters.state, rest_fill_share) {
            (FlashState::Fresh, share) => {
                let first = host_units.next_multiple_of(CHUNK);
                let data_units = units.saturating_sub(first) as f64 * share.unwrap_or(0.0);
                first..first + data_units as u64 / CHUNK * CHUNK
            }
            _ => 0..units,
        };
        let page_units = parameters.page_bytes / unit_bytes;
        let physical = units as f64 * (1.0 + parameters.over_provisioning);
        let stripe = (parameters.channels * parameters.dies_per_channel) as u64 * page_units;
        let most_pages = (physical / (stripe * MIN_BLOCKS) as f64) as u64;
        let block_units = stripe * parameters.block_pages.min(most_pages).max(1);
        let block_count = (physical / block_units as f64).round() as u64;
        let low_watermark = ((block_count as f64 * parameters.reserve) as u64).max(2);
        let block_count = block_count.max(units.div_ceil(block_units) + low_watermark + 2);
        let blocks = InitialBlocks { block_units, block_count, spare: low_watermark };
        let valid = blocks.count_valid(parameters.state, initial_data.end - initial_data.start);
        let shuffle = (parameters.state == FlashState::Steady).then(|| Permutation::new(units, drive.seed));
        let initial = Initial::new(initial_data.start, &valid, shuffle);
        FlashLayout { units, page_units, block_units, low_watermark, initial_data, valid, initial }
    }
}

/// Number and size of the blocks.
#[derive(Debug, Clone, Copy)]
struct InitialBlocks {
    block_units: u64,
    block_count: u64,
    /// Number of blocks that stay free.
    spare: u64,
}

impl InitialBlocks {
    /// Number of valid units in each block if they hold so many units.
    fn count_valid(self, state: FlashState, stored_units: u64) -> Vec<u32> {
        let InitialBlocks { block_units, block_count, spare } = self;
        let mut valid = vec![0_u32; block_count as usize];
        let mut remaining = stored_units;
        if state != FlashState::Steady {
            for block in &mut valid {
                *block = remaining.min(block_units) as u32;
                remaining -= u64::from(*block);
            }
            return valid;
        }
        // After uniformly random writes and cleaning in order of age, a block of age x, from 0 to 1, holds e^(−kx) of
        // its original units. All blocks together hold the device: (1 − e^(−k))/k is the share of flash that is valid.
        let used = (block_count - spare).max(1) as usize;
        let share = stored_units as f64 / (used as u64 * block_units) as f64;
        let (mut low, mut high) = (0.0, 100.0);
        for _ in 0..60 {
            let k: f64 = (low + high) / 2.0;
            if (1.0 - libm::exp(-k)) / k > share { low = k } else { high = k }
        }
        for (index, block) in valid.iter_mut().take(used).enumerate() {
            let age = 1.0 - (index as f64 + 0.5) / used as f64;
            let exact = (libm::exp(-low * age) * block_units as f64).round() as u64;
            *block = exact.clamp(1, block_units).min(remaining) as u32;
            remaining -= u64::from(*block);
        }
        // Rounding leaves some units over.
        for block in valid.iter_mut().take(used) {
            let more = remaining.min(block_units - u64::from(*block));
            *block += more as u32;
            remaining -= more;
        }
        valid
    }
}
