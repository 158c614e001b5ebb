//! What the measuring itself cost: the part of the wall time that no measured step accounts for.

use crate::journal::{Run, Status};

/// The cost of the harness over all trials that went well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harness {
    /// Share of wall time outside phases, mkfs, mount, unmount and fsck, 0 to 1.
    pub share: f64,
    /// The part of it that was spent waiting for the device to be quiet, 0 to 1 of wall time.
    pub settle: f64,
    /// Seconds of wall time it was taken from.
    pub wall: f64,
}

impl Harness {
    /// Adds up the run's trials; nothing where no wall time is known.
    pub fn of(run: &Run) -> Option<Self> {
        let (mut wall, mut measured, mut settle) = (0.0, 0.0, 0.0);
        for trial in run.trials.iter().filter(|trial| trial.status == Status::Ok && trial.wall > 0.0) {
            wall += trial.wall;
            for observation in &trial.observations {
                let value = |name: &str| {
                    observation
                        .measurements
                        .iter()
                        .find(|found| found.metric == name)
                        .map(|found| found.value)
                };
                measured += value("durable").or_else(|| value("returned")).unwrap_or(0.0);
                settle += value("settle").unwrap_or(0.0);
            }
        }
        // Clocks of guest and host differ a little: a share is never below nothing.
        (wall > 0.0).then(|| Self {
            share: (1.0 - measured / wall).max(0.0),
            settle: (settle / wall).min(1.0),
            wall,
        })
    }
}
