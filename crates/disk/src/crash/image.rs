//! The content of a device in one state after another: what is durable goes into the store for good, and what may be lost is laid
//! over it, to be taken away again.

use crate::device::{Action, Store, StoreError};

use super::log::{LogError, LoggedRequest, WriteLog};
use super::loss::LossRule;
use super::state::CrashState;

const SECTOR: u64 = 512;

/// Brings a store from state to state. It costs least where each cut is behind the one before.
#[derive(Debug)]
pub struct StateImage {
    log: WriteLog,
    rule: LossRule,
    /// How many requests the store holds for good.
    reached: usize,
    bytes: Vec<u8>,
}

/// A state cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageStateError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StateImage {
    /// For a store that holds nothing yet.
    pub fn new(log: WriteLog, rule: LossRule) -> StateImage {
        StateImage { log, rule, reached: 0, bytes: Vec::new() }
    }

    pub fn log(&self) -> &WriteLog {
        &self.log
    }

    /// Makes the store hold this state, and forgets what was written over the last one.
    pub fn enter(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        self.keep_durable(store, state)?;
        store.lay_over();
        self.lay_survivors(store, state)
    }

    /// The same for good: there is no other state after it.
    pub fn write(mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        self.keep_durable(store, state)?;
        self.lay_survivors(store, state)
    }

    fn keep_durable(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        store.drop_overlay();
        let durable = self.log.durable(state.cut, self.rule.volatile);
        if durable < self.reached {
            store.clear()?;
            self.reached = 0;
        }
        while self.reached < durable {
            if let Some(logged) = self.log.requests().get(self.reached).copied() {
                self.apply(store, &logged, logged.request.sectors)?;
            }
            self.reached += 1;
        }
        Ok(())
    }

    fn lay_survivors(&mut self, store: &mut Store, state: CrashState) -> Result<(), ImageStateError> {
        for (number, request) in (0..).zip(self.log.uncertain(state.cut, self.rule.volatile)) {
            let Some(logged) = self.log.requests().get(request).copied() else { continue };
            if let Some(sectors) = state.survivors.keeps(number, logged.request.sectors) {
                self.apply(store, &logged, sectors)?;
            }
        }
        Ok(())
    }

    /// So many of its first sectors.
    fn apply(
        &mut self,
        store: &mut Store,
        logged: &LoggedRequest,
        sectors: u32,
    ) -> Result<(), ImageStateError> {
        let (offset, length) = (logged.request.sector * SECTOR, u64::from(sectors) * SECTOR);
        match logged.request.operation {
            Action::Read | Action::Flush => {}
            Action::Discard | Action::WriteZeroes => store.discard(offset, length)?,
            Action::Write => {
                self.log.content(logged, &mut self.bytes)?;
                let bytes = self.bytes.get(..usize::try_from(length).unwrap_or(usize::MAX));
                store.write_at(bytes.unwrap_or(&self.bytes), offset)?;
            }
        }
        Ok(())
    }
}
