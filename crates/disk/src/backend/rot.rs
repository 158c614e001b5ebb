//! A served disk on which one block after the other is rotten: what it holds, and what cannot be read or written of it.

use std::fs::File;
use std::ops::Range;

use super::BackendError;
use crate::crash::{Decay, ROT_BLOCK, RottenBlock, RottenImage, WriteLog};
use crate::device::{Action, Request, Store};

const SECTORS: u64 = ROT_BLOCK / 512;

/// Blocks that are still to rot.
#[derive(Debug)]
pub(super) struct ServedRot {
    image: RottenImage,
    left: std::iter::Enumerate<std::vec::IntoIter<Option<RottenBlock>>>,
    now: Option<RottenBlock>,
}

impl ServedRot {
    pub(super) fn new(log: File, blocks: Vec<Option<RottenBlock>>) -> Result<Self, BackendError> {
        let image = RottenImage::new(WriteLog::read(log)?);
        Ok(ServedRot { image, left: blocks.into_iter().enumerate(), now: None })
    }

    /// The next rots, and the one before is as it was; its number, or none where there are no more.
    pub(super) fn next(&mut self, store: &mut Store) -> Result<Option<usize>, BackendError> {
        let Some((number, rotten)) = self.left.next() else { return Ok(None) };
        self.image.enter(store, rotten)?;
        self.now = rotten;
        Ok(Some(number))
    }

    /// Whether the medium cannot do this. What cannot be read can be once it was written anew, as drives put another sector in its place.
    pub(super) fn fails(&mut self, request: &Request) -> bool {
        let Some(RottenBlock { block, decay }) = self.now else { return false };
        let place = block.saturating_mul(SECTORS)..block.saturating_add(1).saturating_mul(SECTORS);
        let asked = request.sector..request.end();
        if !overlap(&place, &asked) {
            return false;
        }
        match (decay, request.operation) {
            (Decay::Unreadable, Action::Read) | (Decay::Unwritable, Action::Write | Action::WriteZeroes) => {
                true
            }
            (Decay::Unreadable, Action::Write | Action::WriteZeroes | Action::Discard)
                if asked.start <= place.start && place.end <= asked.end =>
            {
                self.now = None;
                false
            }
            _ => false,
        }
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
