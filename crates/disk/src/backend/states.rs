//! What is done with the contents of a served disk beside keeping them: a log of them is written, or the disk takes on one state of
//! such a log after the other.

use std::fs::File;

use super::BackendError;
use super::rot::ServedRot;
use crate::crash::{CrashState, LogWriter, LossRule, StateImage, WriteLog};
use crate::device::{Completion, Request, Store};

#[derive(Debug)]
pub(super) enum Contents {
    Kept,
    Recorded {
        log: LogWriter,
        /// What the write that is being completed carried.
        data: Vec<u8>,
    },
    Entered(ServedStates),
    Rotten(ServedRot),
}

/// States that are still to be taken on.
#[derive(Debug)]
pub(super) struct ServedStates {
    image: StateImage,
    left: std::iter::Enumerate<std::vec::IntoIter<CrashState>>,
}

impl ServedStates {
    pub(super) fn new(log: File, rule: LossRule, states: Vec<CrashState>) -> Result<Self, BackendError> {
        let image = StateImage::new(WriteLog::read(log)?, rule);
        Ok(ServedStates { image, left: states.into_iter().enumerate() })
    }

    /// Takes on the next; its number, or none where there are no more.
    fn next(&mut self, store: &mut Store) -> Result<Option<usize>, BackendError> {
        let Some((number, state)) = self.left.next() else { return Ok(None) };
        self.image.enter(store, state)?;
        Ok(Some(number))
    }
}

impl Contents {
    pub(super) fn recorded(log: LogWriter) -> Self {
        Contents::Recorded { log, data: Vec::new() }
    }

    /// The disk is asked for its name: what it is called besides what every disk here is.
    pub(super) fn named(&mut self, store: &mut Store) -> Result<Option<String>, BackendError> {
        let number = match self {
            Contents::Entered(states) => states.next(store)?,
            Contents::Rotten(rot) => rot.next(store)?,
            Contents::Kept | Contents::Recorded { .. } => return Ok(None),
        };
        Ok(Some(number.map_or_else(String::new, |number| number.to_string())))
    }

    /// Whether the medium cannot do this: the guest is to be told so.
    pub(super) fn fails(&mut self, request: &Request) -> bool {
        if let Contents::Rotten(rot) = self { rot.fails(request) } else { false }
    }

    /// A piece of what a write carries.
    pub(super) fn take_in(&mut self, piece: &[u8]) {
        if let Contents::Recorded { data, .. } = self {
            data.extend_from_slice(piece);
        }
    }

    /// A request is done, and what it carried is in the store.
    pub(super) fn completed(&mut self, completion: &Completion) -> Result<(), BackendError> {
        let Contents::Recorded { log, data } = self else { return Ok(()) };
        let recorded = log.record(completion, data).map_err(BackendError::WritingLog);
        data.clear();
        recorded
    }

    /// Writes what is left of a log; whether it is whole.
    pub(super) fn end(&mut self) -> Result<bool, BackendError> {
        match std::mem::replace(self, Contents::Kept) {
            Contents::Recorded { log, .. } => {
                let is_whole = !log.is_full();
                log.finish().map_err(BackendError::WritingLog)?;
                Ok(is_whole)
            }
            Contents::Kept | Contents::Entered(_) | Contents::Rotten(_) => Ok(true),
        }
    }
}
