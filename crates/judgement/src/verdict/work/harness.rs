//! The overhead of the measurement itself: the part of the wall time that no measured step accounts for.

use crate::journal::{Run, Spent, Status};

/// The overhead over all successful trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harness {
    /// The share of wall time outside phases, mkfs, mount, unmount and fsck, 0 to 1.
    pub share: f64,
    /// The share of wall time that was spent waiting for the device to be quiet, 0 to 1.
    pub settle: f64,
    /// Seconds of wall time that the shares refer to.
    pub wall: f64,
    /// Seconds spent outside measured steps; `work` is verification. `None` where the steps of a trial were not
    /// recorded.
    spent: Option<Spent>,
    /// In simulated time: seconds that the trials took on their devices.
    pub simulated: Option<f64>,
    /// Seconds that the run has been in progress, during which trials may run in parallel.
    pub worked: f64,
}

impl Harness {
    /// Sums over the run's trials; `None` where no wall time is known.
    pub fn from_run(run: &Run) -> Option<Self> {
        let (mut wall, mut measured, mut settle) = (0.0, 0.0, 0.0);
        let mut spent = Some(Spent::default());
        let mut simulated = None;
        for trial in run.trials.iter().filter(|trial| trial.status == Status::Ok && trial.wall > 0.0) {
            wall += trial.wall;
            if let Some(seconds) = trial.learnt.device_seconds {
                simulated = Some(simulated.unwrap_or(0.0) + seconds);
            }
            for observation in &trial.observations {
                let value = |name: &str| observation.value(name);
                let times = f64::from(observation.repetition) + 1.0;
                measured += value("durable").or_else(|| value("returned")).unwrap_or(0.0) * times;
                settle += value("settle").unwrap_or(0.0) * times;
            }
            // The wall clock starts a little after the record of the beginning is stamped.
            let before = |spent: Spent| {
                (spent.boot + spent.staging + spent.work + spent.teardown - trial.wall).max(0.0)
            };
            spent = spent.zip(trial.spent).map(|(all, one)| Spent {
                boot: all.boot + (one.boot - before(one)).max(0.0),
                staging: all.staging + one.staging,
                work: all.work + one.work,
                teardown: all.teardown + one.teardown,
            });
        }
        let verified = |spent: Spent| Spent { work: (spent.work - measured - settle).max(0.0), ..spent };
        // The clocks of guest and host differ a little, so the share is kept from becoming negative.
        (wall > 0.0).then(|| Self {
            share: (1.0 - measured / wall).max(0.0),
            settle: (settle / wall).min(1.0),
            wall,
            spent: spent.map(verified),
            simulated,
            worked: run.worked,
        })
    }

    /// The parts of the overhead, as shares of wall time that add up to it; empty if they were not recorded.
    pub fn overhead_parts(&self) -> Vec<(&'static str, f64)> {
        let Some(Spent { boot, staging, work, teardown }) = self.spent else { return Vec::new() };
        // Steps are stamped when the journal has their records, which is a little after they begin. The stamps give the
        // proportions of the overhead, and the measured times give its total.
        let settle = self.settle.min(self.share);
        let stamped = (boot + staging + work + teardown).max(f64::MIN_POSITIVE);
        let part = |seconds: f64| seconds / stamped * (self.share - settle);
        let (boot, staging, verify, teardown) = (part(boot), part(staging), part(work), part(teardown));
        vec![
            ("boot", boot),
            ("staging", staging),
            ("verify", verify),
            ("settle", settle),
            ("teardown", teardown),
        ]
    }
}
