//! Serves a disk on which one block after the other is rotten: its contents change, or it cannot be read or written.

use std::fs::File;
use std::ops::Range;

use super::BackendError;
use crate::crash::{Decay, ROT_BLOCK, RottenBlock, RottenImage, WriteLog};
use crate::device::{Action, Request, Store};

const SECTORS_OF_BLOCK: u64 = ROT_BLOCK / 512;

/// The image, and the blocks that are still to rot.
#[derive(Debug)]
pub(super) struct ServedRot {
    image: RottenImage,
    remaining: std::iter::Enumerate<std::vec::IntoIter<Option<RottenBlock>>>,
    current: Option<RottenBlock>,
}

impl ServedRot {
    pub(super) fn new(log: File, blocks: Vec<Option<RottenBlock>>) -> Result<Self, BackendError> {
        let image = RottenImage::new(WriteLog::read_log(log)?);
        Ok(ServedRot { image, remaining: blocks.into_iter().enumerate(), current: None })
    }

    /// Restores the block before and makes the next one rot; returns its number, or `None` when there are no more.
    pub(super) fn next(&mut self, store: &mut Store) -> Result<Option<usize>, BackendError> {
        let Some((number, rotten)) = self.remaining.next() else { return Ok(None) };
        self.image.enter_block(store, rotten)?;
        self.current = rotten;
        Ok(Some(number))
    }

    /// Whether the medium cannot carry out a request. An unreadable block can be read again once it is completely
    /// overwritten or discarded, because drives remap the sector then.
    pub(super) fn does_fail(&mut self, request: &Request) -> bool {
        let Some(RottenBlock { block, decay }) = self.current else { return false };
        let rotten_sectors =
            block.saturating_mul(SECTORS_OF_BLOCK)..block.saturating_add(1).saturating_mul(SECTORS_OF_BLOCK);
        let request_sectors = request.sector..request.end_sector();
        if !ranges_overlap(&rotten_sectors, &request_sectors) {
            return false;
        }
        match (decay, request.operation) {
            (Decay::Unreadable, Action::Read) | (Decay::Unwritable, Action::Write | Action::WriteZeroes) => {
                true
            }
            (Decay::Unreadable, Action::Write | Action::WriteZeroes | Action::Discard)
                if request_sectors.start <= rotten_sectors.start
                    && rotten_sectors.end <= request_sectors.end =>
            {
                self.current = None;
                false
            }
            _ => false,
        }
    }
}

fn ranges_overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::{RottenBlock, RottenImage, ServedRot};
    use crate::crash::{LogWriter, WriteLog};
    use crate::device::{Action, Request, Store};

    #[test]
    fn a_medium_refuses_what_it_cannot_do_and_no_more() {
        let file = tempfile::tempfile().unwrap();
        LogWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap().flush_buffer().unwrap();
        let file = {
            use std::io::Seek;
            let mut file = file;
            file.rewind().unwrap();
            file
        };
        let blocks = ["rot-2-unreadable", "rot-2-unwritable", "rot-2-zero"];
        let blocks: Vec<Option<RottenBlock>> = blocks.iter().map(|name| name.parse().ok()).collect();
        let image = RottenImage::new(WriteLog::read_log(file).unwrap());
        let mut rot = ServedRot { image, remaining: blocks.into_iter().enumerate(), current: None };
        let mut store = Store::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
        let ask = |rot: &mut ServedRot, operation, sector, sectors| {
            rot.does_fail(&Request { id: 0, operation, sector, sectors })
        };
        assert!(!ask(&mut rot, Action::Read, 16, 8), "nothing is rotten yet");
        assert_eq!(rot.next(&mut store).unwrap(), Some(0));
        assert!(ask(&mut rot, Action::Read, 0, 17) && ask(&mut rot, Action::Read, 23, 1));
        assert!(!ask(&mut rot, Action::Read, 8, 8) && !ask(&mut rot, Action::Read, 24, 8));
        // A write to a part of the block leaves the rest unreadable; a write to all of it remaps its sectors.
        assert!(!ask(&mut rot, Action::Write, 16, 4) && ask(&mut rot, Action::Read, 16, 8));
        assert!(!ask(&mut rot, Action::Write, 8, 16) && !ask(&mut rot, Action::Read, 16, 8));
        assert_eq!(rot.next(&mut store).unwrap(), Some(1));
        assert!(ask(&mut rot, Action::Write, 16, 1) && ask(&mut rot, Action::WriteZeroes, 0, 64));
        assert!(!ask(&mut rot, Action::Read, 16, 8) && !ask(&mut rot, Action::Flush, 0, 0));
        assert_eq!((rot.next(&mut store).unwrap(), rot.next(&mut store).unwrap()), (Some(2), None));
        assert!(!ask(&mut rot, Action::Read, 16, 8));
    }
}
