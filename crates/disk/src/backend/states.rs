//! Logs the writes to a served disk, or makes the disk present one crash state or rotten block of such a log after
//! another.

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
        /// Data of the write that is being completed.
        data: Vec<u8>,
    },
    Entered(ServedStates),
    Rotten(ServedRot),
}

/// The image, and the crash states that are still to be presented.
#[derive(Debug)]
pub(super) struct ServedStates {
    image: StateImage,
    remaining: std::iter::Enumerate<std::vec::IntoIter<CrashState>>,
}

impl ServedStates {
    pub(super) fn new(log: File, rule: LossRule, states: Vec<CrashState>) -> Result<Self, BackendError> {
        let image = StateImage::new(WriteLog::read_log(log)?, rule);
        Ok(ServedStates { image, remaining: states.into_iter().enumerate() })
    }

    /// Enters the next state; returns its number, or `None` when there are no more.
    fn enter_next(&mut self, store: &mut Store) -> Result<Option<usize>, BackendError> {
        let Some((number, state)) = self.remaining.next() else { return Ok(None) };
        self.image.enter_state(store, state)?;
        Ok(Some(number))
    }
}

impl Contents {
    pub(super) fn new_recorded(log: LogWriter) -> Self {
        Contents::Recorded { log, data: Vec::new() }
    }

    /// Answers a request for the disk's serial: enters the next state or block, and returns its number, or an empty
    /// text when there are no more. `None` stands for the serial that every other disk has.
    pub(super) fn enter_next_state(&mut self, store: &mut Store) -> Result<Option<String>, BackendError> {
        let number = match self {
            Contents::Entered(states) => states.enter_next(store)?,
            Contents::Rotten(rot) => rot.next(store)?,
            Contents::Kept | Contents::Recorded { .. } => return Ok(None),
        };
        Ok(Some(number.map_or_else(String::new, |number| number.to_string())))
    }

    /// Whether the medium cannot carry out a request, which is then answered with an error.
    pub(super) fn does_fail(&mut self, request: &Request) -> bool {
        if let Contents::Rotten(rot) = self { rot.does_fail(request) } else { false }
    }

    /// Collects a piece of the data of a write.
    pub(super) fn take_in(&mut self, piece: &[u8]) {
        if let Contents::Recorded { data, .. } = self {
            data.extend_from_slice(piece);
        }
    }

    /// Records a completed request with its data, which are in the store.
    pub(super) fn record_completion(&mut self, completion: &Completion) -> Result<(), BackendError> {
        let Contents::Recorded { log, data } = self else { return Ok(()) };
        let result = log.append_completion(completion, data).map_err(BackendError::WritingLog);
        data.clear();
        result
    }

    /// Finishes the log; returns whether it holds every write.
    pub(super) fn finish_log(&mut self) -> Result<bool, BackendError> {
        match std::mem::replace(self, Contents::Kept) {
            Contents::Recorded { log, .. } => {
                let is_whole = !log.is_full();
                log.flush_buffer().map_err(BackendError::WritingLog)?;
                Ok(is_whole)
            }
            Contents::Kept | Contents::Entered(_) | Contents::Rotten(_) => Ok(true),
        }
    }
}
