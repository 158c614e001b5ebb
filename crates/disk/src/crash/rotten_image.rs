//! The content of a device as a log left it, with one block of it rotten after the other.

use crate::device::{Action, Store};

use super::image::{ImageStateError, StateImage};
use super::log::{LogError, LoggedRequest, WriteLog};
use super::loss::LossRule;
use super::rot::{Decay, ROT_BLOCK, RottenBlock};
use super::state::{CrashState, Survivors};

const SECTOR: u64 = 512;
/// Sectors of a block.
const SECTORS: u64 = ROT_BLOCK / SECTOR;

/// Gives a store everything that was written, and then rotten blocks, one at a time.
#[derive(Debug)]
pub struct RottenImage {
    image: StateImage,
    is_whole: bool,
}

impl RottenImage {
    /// For a store that holds nothing yet. What a volatile cache may have held at the end of the log is taken as written.
    pub fn new(log: WriteLog) -> RottenImage {
        let rule = LossRule { volatile: false, any_order: false, flushes: true, unit_sectors: 1 };
        RottenImage { image: StateImage::new(log, rule), is_whole: false }
    }

    pub fn log(&self) -> &WriteLog {
        self.image.log()
    }

    /// Makes the store hold what was written, but for this block, and forgets what was written over it since.
    pub fn enter(&mut self, store: &mut Store, rotten: Option<RottenBlock>) -> Result<(), ImageStateError> {
        store.drop_overlay();
        if !self.is_whole {
            let cut = self.log().requests().len();
            self.image.enter(store, CrashState { cut, survivors: Survivors::All })?;
            store.drop_overlay();
            self.is_whole = true;
        }
        store.lay_over();
        match rotten {
            Some(rotten) => self.rot(store, rotten),
            None => Ok(()),
        }
    }

    /// The same for good, as an image that is looked at by hand: what cannot be read or written is as it was.
    pub fn write(mut self, store: &mut Store, rotten: RottenBlock) -> Result<(), ImageStateError> {
        let cut = self.log().requests().len();
        self.image.enter(store, CrashState { cut, survivors: Survivors::All })?;
        store.drop_overlay();
        self.rot(store, rotten)
    }

    fn rot(&mut self, store: &mut Store, rotten: RottenBlock) -> Result<(), ImageStateError> {
        if let Some(bytes) = self.decayed(store, rotten)? {
            store.write_at(&bytes, rotten.block * ROT_BLOCK)?;
        }
        Ok(())
    }

    /// What the block holds once it is rotten, in a store that holds what was written; none where that is the same.
    pub fn decayed(&self, store: &Store, rotten: RottenBlock) -> Result<Option<Vec<u8>>, ImageStateError> {
        let mut was = vec![0; ROT_BLOCK as usize];
        store.read_at(&mut was, rotten.block.saturating_mul(ROT_BLOCK))?;
        let mut is = was.clone();
        match rotten.decay {
            Decay::Unreadable | Decay::Unwritable => {}
            Decay::Flipped(bit) => {
                if let Some(byte) = is.get_mut(usize::from(bit / 8)) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Decay::Zeroed => is.fill(0),
            Decay::Misdirected(other) => store.read_at(&mut is, other.saturating_mul(ROT_BLOCK))?,
            Decay::Shorn(_) | Decay::Lost => {
                let arrived = match rotten.decay {
                    Decay::Shorn(eighths) => usize::from(eighths) * ROT_BLOCK as usize / 8,
                    _ => 0,
                };
                let before = self.before_last_write(rotten.block)?;
                if let (Some(slot), Some(old)) = (is.get_mut(arrived..), before.get(arrived..)) {
                    slot.copy_from_slice(old);
                }
            }
        }
        Ok((is != was).then_some(is))
    }

    /// What the block held before it was last written to.
    fn before_last_write(&self, block: u64) -> Result<Vec<u8>, LogError> {
        let requests = self.log().requests();
        let last = requests.iter().rposition(|logged| touches(logged, block)).unwrap_or(0);
        let mut bytes = vec![0; ROT_BLOCK as usize];
        let mut open: Vec<bool> = vec![true; SECTORS as usize];
        let mut content = Vec::new();
        for logged in requests.iter().take(last).rev().filter(|logged| touches(logged, block)) {
            self.log().content(logged, &mut content)?;
            for (number, (slot, open)) in (0..).zip(bytes.chunks_mut(SECTOR as usize).zip(&mut open)) {
                let sector = block * SECTORS + number;
                let within = sector.checked_sub(logged.request.sector);
                let Some(within) = within.filter(|one| *one < u64::from(logged.request.sectors) && *open)
                else {
                    continue;
                };
                *open = false;
                let from = (within * SECTOR) as usize;
                // What discards and makes zeroes carries nothing.
                if let (Action::Write, Some(piece)) =
                    (logged.request.operation, content.get(from..from + SECTOR as usize))
                {
                    slot.copy_from_slice(piece);
                }
            }
            if open.iter().all(|open| !open) {
                break;
            }
        }
        Ok(bytes)
    }
}

fn touches(logged: &LoggedRequest, block: u64) -> bool {
    let (first, end) = (logged.request.sector, logged.request.sector + u64::from(logged.request.sectors));
    logged.changes() && first < (block + 1) * SECTORS && block * SECTORS < end
}

impl WriteLog {
    /// The blocks of [`ROT_BLOCK`] bytes that were written to, wholly or in part, and not discarded since, in the order of the last
    /// write to each, where that was submitted at this time or later, in nanoseconds of the device's clock.
    pub fn written_blocks(&self, since_ns: u64) -> Vec<u64> {
        let mut last: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
        for (number, logged) in self.requests().iter().enumerate().filter(|(_, logged)| logged.changes()) {
            let (first, end) =
                (logged.request.sector, logged.request.sector + u64::from(logged.request.sectors));
            if logged.request.operation == Action::Write {
                last.extend((first / SECTORS..end.div_ceil(SECTORS)).map(|block| (block, number)));
            } else {
                let whole: Vec<u64> = last
                    .range(first.div_ceil(SECTORS)..(end / SECTORS).max(first.div_ceil(SECTORS)))
                    .map(|(block, _)| *block)
                    .collect();
                for block in whole {
                    last.remove(&block);
                }
            }
        }
        let mut order: Vec<(usize, u64)> = last.into_iter().map(|(block, number)| (number, block)).collect();
        order.sort_unstable();
        let is_late =
            |number: usize| self.requests().get(number).is_some_and(|logged| logged.submitted_ns >= since_ns);
        order.into_iter().filter(|(number, _)| is_late(*number)).map(|(_, block)| block).collect()
    }
}
