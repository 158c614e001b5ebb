//! What the measuring itself cost: the part of the wall time that no measured step accounts for.

use super::number::percent;
use crate::journal::{Run, Spent, Status};

/// The cost of the harness over all trials that went well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harness {
    /// Share of wall time outside phases, mkfs, mount, unmount and fsck, 0 to 1.
    pub share: f64,
    /// The part of it that was spent waiting for the device to be quiet, 0 to 1 of wall time.
    pub settle: f64,
    /// Seconds of wall time it was taken from.
    pub wall: f64,
    /// Seconds that went elsewhere; `work` is what was verified. Nothing where a trial's steps were not recorded.
    spent: Option<Spent>,
}

impl Harness {
    /// Adds up the run's trials; nothing where no wall time is known.
    pub fn of(run: &Run) -> Option<Self> {
        let (mut wall, mut measured, mut settle) = (0.0, 0.0, 0.0);
        let mut spent = Some(Spent::default());
        for trial in run.trials.iter().filter(|trial| trial.status == Status::Ok && trial.wall > 0.0) {
            wall += trial.wall;
            for observation in &trial.observations {
                let found = |name: &str| observation.measurements.iter().find(|one| one.metric == name);
                let value = |name: &str| found(name).map(|one| one.value);
                measured += value("durable").or_else(|| value("returned")).unwrap_or(0.0);
                settle += value("settle").unwrap_or(0.0);
            }
            // The wall clock starts a little later than the record of the beginning is stamped.
            let before =
                |one: Spent| (one.boot + one.staging + one.work + one.teardown - trial.wall).max(0.0);
            spent = spent.zip(trial.spent).map(|(all, one)| Spent {
                boot: all.boot + (one.boot - before(one)).max(0.0),
                staging: all.staging + one.staging,
                work: all.work + one.work,
                teardown: all.teardown + one.teardown,
            });
        }
        let verified = |spent: Spent| Spent { work: (spent.work - measured - settle).max(0.0), ..spent };
        // Clocks of guest and host differ a little: a share is never below nothing.
        (wall > 0.0).then(|| Self {
            share: (1.0 - measured / wall).max(0.0),
            settle: (settle / wall).min(1.0),
            wall,
            spent: spent.map(verified),
        })
    }

    /// What the rest went to, as shares of wall time; empty where it was not recorded.
    pub fn parts(&self) -> Vec<(&'static str, f64)> {
        let Some(Spent { boot, staging, work, teardown }) = self.spent else { return Vec::new() };
        [
            ("boot", boot),
            ("staging", staging),
            ("verify", work),
            ("settle", self.settle * self.wall),
            ("teardown", teardown),
        ]
        .map(|(part, seconds)| (part, (seconds / self.wall).min(1.0)))
        .into()
    }

    /// In a sentence without its end: `9% of wall time outside the measured steps: boot 3%, settle 2%, …`.
    pub(super) fn sentence(&self) -> String {
        let parts = self.parts().into_iter().map(|(part, share)| format!("{part} {}", percent(share)));
        let rest = match parts.collect::<Vec<_>>().join(", ") {
            empty if empty.is_empty() && self.settle < 0.005 => empty,
            empty if empty.is_empty() => {
                format!(", {} of it waiting for the device to be quiet", percent(self.settle))
            }
            parts => format!(": {parts}"),
        };
        format!("{} of wall time outside the measured steps{rest}", percent(self.share))
    }
}
