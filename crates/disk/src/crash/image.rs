//! Builds the content of a device in one crash state after another: durable writes go into the store permanently, and
//! the surviving others into an overlay that is dropped for the next state.

use crate::device::{Action, Store, StoreError};

use super::log::{LogError, LoggedRequest, WriteLog};
use super::loss::LossRule;
use super::state::CrashState;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Takes a store from state to state. This is cheapest if the cuts are in ascending order.
#[derive(Debug)]
pub struct StateImage {
    log: WriteLog,
    rule: LossRule,
    /// Number of requests of the log that the store holds permanently.
    applied: usize,
    bytes: Vec<u8>,
}

/// Why a state cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ImageStateError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StateImage {
    /// For a store that is still empty.
    pub fn new(log: WriteLog, rule: LossRule) -> StateImage {
        StateImage { log, rule, applied: 0, bytes: Vec::new() }
    }

    pub fn log(&self) -> &WriteLog {
        &self.log
    }

    /// Makes the store hold this state, and drops the overlay of the state before.
    ///
    /// # Errors
    /// When the log cannot be read, or the store cannot be written.
    pub fn enter_state(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        self.write_durable(store, state)?;
        store.lay_over();
        self.write_survivors(store, state)
    }

    /// As `enter_state`, but permanently: no other state can follow.
    pub fn write_state(mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        self.write_durable(store, state)?;
        self.write_survivors(store, state)
    }

    /// Writes the requests that are durable in this state, from an empty store if it holds too many.
    fn write_durable(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        store.drop_overlay();
        let durable = self.log.durable_count(state.cut, self.rule);
        if durable < self.applied {
            store.clear_content()?;
            self.applied = 0;
        }
        while self.applied < durable {
            if let Some(logged) = self.log.requests().get(self.applied).copied() {
                self.apply_request(store, &logged, logged.request.sectors)?;
            }
            self.applied += 1;
        }
        Ok(())
    }

    /// Writes the requests, or their first sectors, that survive in this state without being durable.
    fn write_survivors(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        for (number, request) in (0..).zip(self.log.uncertain_requests(state.cut, self.rule)) {
            let Some(logged) = self.log.requests().get(request).copied() else { continue };
            if let Some(sectors) = state.survivors.surviving_sectors(number, logged.request.sectors) {
                self.apply_request(store, &logged, sectors)?;
            }
        }
        Ok(())
    }

    /// Applies the first sectors of a logged request to the store.
    fn apply_request(
        &mut self,
        store: &mut Store,
        logged: &LoggedRequest,
        sectors: u32,
    ) -> Result<(), ImageStateError> {
        let (offset, length) = (logged.request.sector * SECTOR, u64::from(sectors) * SECTOR);
        match logged.request.operation {
            Action::Read | Action::Flush => {}
            Action::Discard | Action::WriteZeroes => store.discard_bytes(offset, length)?,
            Action::Write => {
                self.log.read_content(logged, &mut self.bytes)?;
                let bytes = self.bytes.get(..usize::try_from(length).unwrap_or(usize::MAX));
                store.write_at(bytes.unwrap_or(&self.bytes), offset)?;
            }
        }
        Ok(())
    }
}
