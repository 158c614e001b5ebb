//! The process that serves a guest's devices beside a trial, and the end of a trial's own process.

use std::process::ExitStatus;
use std::time::Duration;

use fsverdict_disk::backend::Clock;
use fsverdict_linux::host::placement::Placement;
use fsverdict_linux::host::procfs::processor_time;
use fsverdict_linux::host::root::Root;

use super::backend::Backend;

/// The process that serves a guest's devices, as far as the guest's trial depends on it.
pub(super) struct DeviceProcess<'a> {
    /// The processors of guest and device process.
    pub(super) placement: Placement,
    /// The device process. Without it, a guest may wait forever for its clock to advance.
    pub(super) backend: Option<&'a mut Backend>,
    /// In simulated time, the limit of the trial is one of computation.
    pub(super) clock: Clock,
}

impl DeviceProcess<'_> {
    pub(super) fn is_serving(&mut self) -> bool {
        self.backend.as_mut().is_none_or(|backend| backend.is_there())
    }

    /// The processor time of the guest that `supervisor` looks after and of its devices, in simulated time. On a machine without
    /// other load, they compute all the time.
    pub(super) fn computed_time(&self, supervisor: u32) -> Option<Duration> {
        let devices = self.backend.as_ref().map(|backend| backend.process());
        let processes = [supervisor].into_iter().chain(devices);
        let computed = || processes.map(|process| processor_time(&Root::default(), process)).sum();
        (self.clock == Clock::Simulated).then(computed)
    }
}

/// The end of a trial's process.
pub(super) struct ProcessEnd {
    /// `None` if it had to be killed here.
    pub(super) status: Option<ExitStatus>,
    /// Describes the debugger that held it.
    pub(super) held: Option<String>,
    /// The activity of its processes at the timeout.
    pub(super) activity: Option<String>,
    /// Wall time in seconds.
    pub(super) wall: f64,
    /// The number of processes that this machine's kernel had killed for lack of memory before the trial.
    pub(super) oom_kills_before: Option<u64>,
}
