//! Modelled devices: how long a disk, a stick or an SSD takes over each request, and why.
//!
//! Pure calculation: no clock, no system call, no guest. Whoever keeps the clock submits requests and asks when
//! something happens next. Time is in whole nanoseconds; the same requests at the same times under the same seed give the
//! same answers on every machine. What the requests carry lies in the store, which knows nothing of time.
//!
//! docs/device-models.md says what is modelled, from which sources, and what may be claimed.

mod cache;
mod engine;
mod fastest;
mod fields;
mod jobs;
pub(crate) mod knobs;
mod limits;
mod link;
mod medium;
mod model;
mod overlay;
mod parameters;
mod planted;
pub(crate) mod random;
mod request;
mod store;
pub mod trace;
mod wear;

#[cfg(test)]
mod tests;

use engine::DeviceEngine;
use medium::Whole;

pub use fastest::fastest_rate;
pub use limits::{Discard, Limits};
pub use model::{BuiltIn, Draw, Model, ModelError, built_in, can_be_had, split};
pub use request::{Action, Completion, Request};
pub use store::{Store, StoreError};
pub use wear::Wear;

#[derive(Debug)]
pub struct Device {
    limits: Limits,
    engine: DeviceEngine,
}

impl Device {
    /// A device of this model and size, in the state the model's name says.
    pub fn new(model: &Model, size_bytes: u64, seed: u64) -> Result<Device, ModelError> {
        model.check_size(size_bytes)?;
        let parameters = &model.parameters;
        let whole = Whole { capacity_sectors: parameters.capacity_bytes / 512, size_bytes, seed };
        let medium = parameters.medium.parameters.medium(&whole);
        Ok(Device {
            limits: model.limits(size_bytes),
            engine: DeviceEngine::new(parameters, size_bytes / 512, medium),
        })
    }

    /// What the guest must be given.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes a request at `now_ns`, which is never before an earlier call's. Requests beyond the queue's depth wait. What
    /// of a request lies beyond the device's end takes no time; it is the store that refuses it.
    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.engine.submit(now_ns, request);
    }

    /// When `advance` must be called next, if nothing is submitted before: a completion is due then, or it is settled
    /// then what comes first. `None` when nothing is underway; what a device does of its own accord asks for no call.
    pub fn next_event(&self) -> Option<u64> {
        self.engine.next_event()
    }

    /// Lets time pass until `now_ns`, and appends what was completed by then, in order of completion. It may be nothing.
    pub fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.engine.advance(now_ns, completions);
    }

    /// Requests that were submitted and not completed, with when: after a loss of power each may have happened or not.
    pub fn underway(&self) -> impl Iterator<Item = (u64, &Request)> {
        self.engine.underway()
    }

    pub fn wear(&self) -> Wear {
        self.engine.medium().wear()
    }
}
