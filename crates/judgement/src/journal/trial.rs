//! A trial that ended, as the journal records it, the other activity of the machine meanwhile, and the use of
//! both.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Caution, CommandRecord, Facts, Learnt, Observation, Status, TrialId};
use crate::plan::stored_table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStanding {
    /// The trial's block is complete and valid, and so is every block before it.
    Counted,
    /// The trial's block, or a block before it, has not ended yet.
    Open,
    /// The trial's block is invalid or was repeated.
    Discarded,
}

/// A trial that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub id: TrialId,
    pub started: Timestamp,
    pub status: Status,
    pub reason: String,
    /// Advice about a failure; empty if none is known.
    pub hint: String,
    /// Seconds of wall time.
    pub wall: f64,
    /// How the wall time is divided; `None` if the steps were not recorded.
    pub spent: Option<Spent>,
    pub standing: TrialStanding,
    /// The measurements of the phases, in order. Once the block has ended, the histograms are in
    /// [`Run::latencies`](super::Run::latencies) only.
    pub observations: Vec<Observation>,
    pub facts: Facts,
    /// Facts about the trial that the program itself uses.
    pub learnt: Learnt,
    pub cautions: Vec<Caution>,
    pub surroundings: Option<Surroundings>,
}

/// How the wall time of a trial is divided, in seconds, from the times at which its steps began.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Until the trial claimed the device; includes the start of a guest.
    pub boot: f64,
    pub staging: f64,
    /// The steps of the workload: measurement, verification and settling.
    pub work: f64,
    pub teardown: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TrialCommands {
    pub trial: TrialId,
    pub status: Status,
    pub commands: Vec<CommandRecord>,
}

impl Trial {
    /// Whether statistics may use the trial: it succeeded, in a block that is complete and valid.
    pub fn is_counted(&self) -> bool {
        self.status == Status::Ok && self.standing == TrialStanding::Counted
    }

    /// Whether the trial failed because of its candidate.
    pub fn is_failure(&self) -> bool {
        self.status == Status::Failed && !self.is_from_outside()
    }

    /// Whether something outside ended the trial at every attempt, so that the failure says nothing about the
    /// candidate.
    pub fn is_from_outside(&self) -> bool {
        self.status == Status::Failed && self.surroundings.is_some_and(|seen| seen.from_outside)
    }

    /// The content of each of the user's folders when it was staged: the dataset's name, and the number of files, bytes
    /// and digest.
    pub fn datasets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.learnt.held.iter().map(|(name, held)| (name.as_str(), held.as_str()))
    }

    pub fn value(&self, phase: &str, metric: &str) -> Option<f64> {
        self.observations.iter().find(|observation| observation.phase == phase)?.value(metric)
    }
}

stored_table! {
    /// Other activity of the machine during a trial. Values that could not be read are `None`.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct Surroundings {
        /// Available CPU time in seconds: wall time times the number of processors.
        cpu_time?: f64,
        /// Seconds of CPU time that other programs used in user mode.
        foreign_cpu?: f64,
        /// Seconds of CPU time that a hypervisor gave to other guests.
        steal?: f64,
        /// Bytes of I/O on the underlying disk by other programs, or that cannot be attributed to the trial.
        foreign_bytes?: u64,
        /// The largest number of bytes that the trial can have moved on that disk.
        own_bytes?: u64,
        /// The trial was paused (SIGSTOP) and continued: its times include the pause.
        stopped!: bool,
        /// A signal, from outside or by a crash, ended the trial at every attempt: a resumed run tries it again.
        killed!: bool,
        /// Something outside ended the trial at every attempt, or its guest ran out of memory: this says nothing about the
        /// candidate.
        from_outside!: bool,
        /// Seconds for which the machine was suspended during the trial.
        slept?: f64,
        /// Seconds by which the wall clock was stepped during the trial, negative if it was set back. Slewing does not
        /// count.
        clock_step?: f64,
        /// The time of a fixed workload before the trial.
        sentinel?: Sentinel,
    }
}

/// The times of fixed workloads, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// A workload that uses only the processor.
    pub cpu: f64,
    pub memory: f64,
}
