//! Modelled devices: computes how long a disk, a stick or an SSD takes over each request.
//!
//! Pure calculation: no clock, no system call, no guest. The owner of the clock submits requests and asks for the
//! time of the next event. Times are whole nanoseconds; the same requests at the same times with the same seed give
//! the same answers on every machine. The data of requests is in the store, which knows nothing of time.
//!
//! docs/reference/device-models.md describes the models, their sources, and the claims that they support.

mod access_kind;
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
pub(crate) mod random;
mod request;
mod store;
pub mod trace;
mod wear;

#[cfg(test)]
mod tests;

use engine::DeviceEngine;
use medium::DriveInstance;

pub use access_kind::{AccessKind, ModelErrors};
pub use fastest::fastest_rate;
pub use limits::{Discard, Limits};
pub use model::{BuiltIn, DeviceWords, Draw, Model, ModelError, built_in, can_be_had, split};
pub use request::{Action, Completion, Request};
pub use store::{Store, StoreError};
pub use wear::Wear;

/// A modelled device.
#[derive(Debug)]
pub struct Device {
    limits: Limits,
    engine: DeviceEngine,
}

impl Device {
    /// A device of this model and size, in the state that the model's name gives.
    pub fn new(model: &Model, size_bytes: u64, seed: u64) -> Result<Device, ModelError> {
        model.check_size(size_bytes)?;
        let parameters = &model.parameters;
        let drive = DriveInstance { capacity_sectors: parameters.capacity_bytes / 512, size_bytes, seed };
        let medium = parameters.medium.parameters.build_medium(&drive);
        Ok(Device {
            limits: model.limits(size_bytes),
            engine: DeviceEngine::new(parameters, size_bytes / 512, medium),
        })
    }

    /// The limits that the guest must be given.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Accepts a request at `now_ns`, which is never before an earlier call's. Requests beyond the queue's depth
    /// wait. The part of a request beyond the device's end takes no time; the store refuses it.
    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.engine.submit(now_ns, request);
    }

    /// The time at which `advance` must be called next, if nothing is submitted before: a completion is due then, or
    /// the next completion is decided then. `None` if no request is pending; background work of a device needs no
    /// call.
    pub fn next_event(&self) -> Option<u64> {
        self.engine.next_event()
    }

    /// Advances to `now_ns`, and appends the requests that are completed by then, in order of completion. There may
    /// be none.
    pub fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.engine.advance(now_ns, completions);
    }

    /// Requests that are not completed, with the times of their submission: after a power loss each may have been
    /// carried out or not.
    pub fn pending_requests(&self) -> impl Iterator<Item = (u64, &Request)> {
        self.engine.pending_requests()
    }

    pub fn wear(&self) -> Wear {
        self.engine.medium().wear()
    }
}
