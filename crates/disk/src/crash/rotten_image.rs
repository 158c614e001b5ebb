//! Builds the content of a device at the end of a log, with one rotten block at a time.

use crate::device::{Action, Store};

use super::image::{ImageStateError, StateImage};
use super::log::{LogError, LoggedRequest, WriteLog};
use super::loss::LossRule;
use super::rot::{Decay, ROT_BLOCK, RottenBlock};
use super::state::{CrashState, Survivors};

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Sectors of a block.
const SECTORS_OF_BLOCK: u64 = ROT_BLOCK / SECTOR;

/// Fills a store with everything that was written, and then makes blocks rot, one at a time.
#[derive(Debug)]
pub struct RottenImage {
    image: StateImage,
    is_whole: bool,
}

impl RottenImage {
    /// Creates an image over a store that is still empty. Data that a volatile cache may have held at the end of the
    /// log count as written.
    pub fn new(log: WriteLog) -> RottenImage {
        let rule = LossRule { volatile: false, any_order: false, flushes: true, unit_sectors: 1 };
        RottenImage { image: StateImage::new(log, rule), is_whole: false }
    }

    pub fn log(&self) -> &WriteLog {
        self.image.log()
    }

    /// Makes the store hold the logged data, with this block rotten, and drops later writes to the store.
    pub fn enter_block(
        &mut self,
        store: &mut Store,
        rotten: Option<RottenBlock>,
    ) -> Result<(), ImageStateError> {
        store.drop_overlay();
        if !self.is_whole {
            let cut = self.log().requests().len();
            self.image.enter_state(store, CrashState { cut, survivors: Survivors::All })?;
            store.drop_overlay();
            self.is_whole = true;
        }
        store.lay_over();
        match rotten {
            Some(rotten) => self.apply_decay(store, rotten),
            None => Ok(()),
        }
    }

    /// As `enter_block`, but permanently, for an image that a user examines: an unreadable or unwritable block keeps
    /// its content.
    pub fn write_block(mut self, store: &mut Store, rotten: RottenBlock) -> Result<(), ImageStateError> {
        let cut = self.log().requests().len();
        self.image.enter_state(store, CrashState { cut, survivors: Survivors::All })?;
        store.drop_overlay();
        self.apply_decay(store, rotten)
    }

    fn apply_decay(&mut self, store: &mut Store, rotten: RottenBlock) -> Result<(), ImageStateError> {
        if let Some(bytes) = self.decayed_content(store, rotten)? {
            store.write_at(&bytes, rotten.block * ROT_BLOCK)?;
        }
        Ok(())
    }

    /// The content of a block once it is rotten, in a store that holds the logged data; `None` if the decay does not
    /// change it.
    pub fn decayed_content(
        &self,
        store: &Store,
        rotten: RottenBlock,
    ) -> Result<Option<Vec<u8>>, ImageStateError> {
        let mut original = vec![0; ROT_BLOCK as usize];
        store.read_at(&mut original, rotten.block.saturating_mul(ROT_BLOCK))?;
        let mut content = original.clone();
        match rotten.decay {
            Decay::Unreadable | Decay::Unwritable => {}
            Decay::Flipped(bit) => {
                if let Some(byte) = content.get_mut(usize::from(bit / 8)) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Decay::Zeroed => content.fill(0),
            Decay::Misdirected(other) => store.read_at(&mut content, other.saturating_mul(ROT_BLOCK))?,
            Decay::Shorn(_) | Decay::Lost => {
                let arrived = match rotten.decay {
                    Decay::Shorn(eighths) => usize::from(eighths) * ROT_BLOCK as usize / 8,
                    _ => 0,
                };
                let before = self.read_before_last_write(rotten.block)?;
                if let (Some(slot), Some(old)) = (content.get_mut(arrived..), before.get(arrived..)) {
                    slot.copy_from_slice(old);
                }
            }
        }
        Ok((content != original).then_some(content))
    }

    /// Reads the content of a block before the last write to it.
    fn read_before_last_write(&self, block: u64) -> Result<Vec<u8>, LogError> {
        let requests = self.log().requests();
        let last = requests.iter().rposition(|logged| touches_block(logged, block)).unwrap_or(0);
        let mut bytes = vec![0; ROT_BLOCK as usize];
        let mut missing: Vec<bool> = vec![true; SECTORS_OF_BLOCK as usize];
        let mut content = Vec::new();
        for logged in requests.iter().take(last).rev().filter(|logged| touches_block(logged, block)) {
            self.log().read_content(logged, &mut content)?;
            for (number, (slot, missing)) in (0..).zip(bytes.chunks_mut(SECTOR as usize).zip(&mut missing)) {
                let sector = block * SECTORS_OF_BLOCK + number;
                let within = sector.checked_sub(logged.request.sector);
                let Some(within) =
                    within.filter(|offset| *offset < u64::from(logged.request.sectors) && *missing)
                else {
                    continue;
                };
                *missing = false;
                let from = (within * SECTOR) as usize;
                // Discards and writes of zeroes carry no data.
                if let (Action::Write, Some(piece)) =
                    (logged.request.operation, content.get(from..from + SECTOR as usize))
                {
                    slot.copy_from_slice(piece);
                }
            }
            if missing.iter().all(|missing| !missing) {
                break;
            }
        }
        Ok(bytes)
    }
}

fn touches_block(logged: &LoggedRequest, block: u64) -> bool {
    let (first, end) = (logged.request.sector, logged.request.sector + u64::from(logged.request.sectors));
    logged.changes_content() && first < (block + 1) * SECTORS_OF_BLOCK && block * SECTORS_OF_BLOCK < end
}

impl WriteLog {
    /// The blocks of `ROT_BLOCK_BYTES` that were written, wholly or in part, and not discarded since, in the order of
    /// the last write to each. A block counts if its last write was submitted at `since_ns` or later, in nanoseconds
    /// of the device's clock.
    pub fn written_blocks(&self, since_ns: u64) -> Vec<u64> {
        let mut last_writes: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
        for (number, logged) in
            self.requests().iter().enumerate().filter(|(_, logged)| logged.changes_content())
        {
            let (first, end) =
                (logged.request.sector, logged.request.sector + u64::from(logged.request.sectors));
            if logged.request.operation == Action::Write {
                last_writes.extend(
                    (first / SECTORS_OF_BLOCK..end.div_ceil(SECTORS_OF_BLOCK)).map(|block| (block, number)),
                );
            } else {
                let discarded: Vec<u64> = last_writes
                    .range(
                        first.div_ceil(SECTORS_OF_BLOCK)
                            ..(end / SECTORS_OF_BLOCK).max(first.div_ceil(SECTORS_OF_BLOCK)),
                    )
                    .map(|(block, _)| *block)
                    .collect();
                for block in discarded {
                    last_writes.remove(&block);
                }
            }
        }
        let mut order: Vec<(usize, u64)> =
            last_writes.into_iter().map(|(block, number)| (number, block)).collect();
        order.sort_unstable();
        let is_late =
            |number: usize| self.requests().get(number).is_some_and(|logged| logged.submitted_ns >= since_ns);
        order.into_iter().filter(|(number, _)| is_late(*number)).map(|(_, block)| block).collect()
    }
}
