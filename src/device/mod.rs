//! Modelled devices: how long a disk, a stick or an SSD takes over each request, and why.
//!
//! Pure calculation: no clock, no system call, no guest. Whoever keeps the calendar submits requests and asks when
//! something happens next. Time is in whole nanoseconds; the same requests at the same times under the same seed give the
//! same answers on every machine. What the requests carry lies in the store, which knows nothing of time.

mod limits;
mod model;
mod request;
mod store;

use std::collections::BTreeMap;

pub use limits::{Discard, Limits};
pub use model::{Model, ModelError};
pub use request::{Completion, Operation, Request};
pub use store::{Store, StoreError};

/// A device under a workload.
#[derive(Debug)]
pub struct Device {
    limits: Limits,
    /// By time of completion and order of submission.
    underway: BTreeMap<(u64, u64), Completion>,
    submitted: u64,
}

/// What an `ideal` device takes over any request, in nanoseconds.
const IDEAL_NS: u64 = 20_000;

impl Device {
    /// A device of this model and size, in the state the model's name says.
    ///
    /// # Errors
    /// When the model does not stretch to this size.
    pub fn new(model: &Model, size_bytes: u64, _seed: u64) -> Result<Device, ModelError> {
        Ok(Device { limits: model.limits(size_bytes), underway: BTreeMap::new(), submitted: 0 })
    }

    /// What the guest must be given.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes a request at `now_ns`, which is never before an earlier call's. Requests beyond the queue's depth wait.
    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.submitted += 1;
        let completion = Completion { request, submitted_ns: now_ns, completed_ns: now_ns + IDEAL_NS };
        self.underway.insert((completion.completed_ns, self.submitted), completion);
    }

    /// When `advance` must be called next, if nothing is submitted before: a completion is due then, or it is settled
    /// then what comes first. `None` when nothing is underway; what a device does of its own accord asks for no call.
    pub fn next_event(&self) -> Option<u64> {
        self.underway.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Lets time pass until `now_ns`, and appends what was completed by then, in order of completion. It may be nothing.
    pub fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        while let Some(first) = self.underway.first_entry() {
            if first.key().0 > now_ns {
                break;
            }
            completions.push(first.remove());
        }
    }

    /// Requests that were submitted and not completed, by id: after a loss of power each may have happened or not.
    pub fn underway(&self) -> impl Iterator<Item = &Request> {
        self.underway.values().map(|completion| &completion.request)
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, Model, Operation, Request};

    #[test]
    fn an_ideal_device_answers_in_order() {
        let mut device = Device::new(&Model::named("ideal").unwrap(), 1 << 30, 1).unwrap();
        assert_eq!(device.next_event(), None);
        for id in 0..3 {
            device.submit(id, Request { id, operation: Operation::Read, sector: 8 * id, sectors: 8 });
        }
        let mut done = Vec::new();
        device.advance(device.next_event().unwrap(), &mut done);
        assert_eq!(done.iter().map(|one| one.request.id).collect::<Vec<_>>(), [0]);
        device.advance(1_000_000_000, &mut done);
        assert_eq!((done.len(), device.next_event()), (3, None));
    }
}
