//! The events of a run's journal. The agent sends events as JSON lines; the conductor adds timestamps and appends them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Beginning, Better, CountedComputation, CpuPrices, Learnt, PowerCuts, ProgramPromise, RotFinding,
    RottenBlocks, Save, SequenceBatch, StateFinding, Unit, WorkCourse,
};

/// Facts by dotted name, e.g. `kernel.release`, `device.queue.scheduler`, for display and to detect changes.
pub type Facts = BTreeMap<String, String>;

/// The prefix of facts about the content of a user's folder when it was staged; the dataset's name follows.
pub const DATASET_FACT: &str = "dataset.";

/// The prefix of a digest that replaces the real one in a bundle, because the content of the user's folders is private.
pub const HIDDEN_DIGEST: &str = "hidden-";

/// The fact that only a journal merged from several sites has: the names of the sites.
pub const MERGED_FACT: &str = "merged.sites";

/// Names of the steps of a trial other than its workload; no phase may have one of these names. The names of staging
/// steps begin with `STAGE`, and the dataset's name follows.
pub const CLAIM: &str = "claim";
pub const STAGE: &str = "stage ";
pub const TEAR_DOWN: &str = "tear down";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// Block number, from 1.
    pub block: u32,
    pub candidate: String,
    /// 1 for the first attempt, more if the block had to be repeated.
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub at: jiff::Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialId>,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First line of a journal.
    RunStarted {
        schema: u32,
        /// Identity of the run (its folder's name).
        id: String,
        title: String,
        plan_digest: String,
        lab: String,
        lab_reason: String,
        /// The basis of the results, in a sentence.
        fidelity: String,
        /// Facts about the host, the kernel, the device and the tools.
        environment: Facts,
        /// Facts about the start of the run that the program itself uses.
        #[serde(default, skip_serializing_if = "Beginning::is_unknown")]
        beginning: Beginning,
    },
    RunResumed {
        /// The number of additional blocks for a run that had already ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<u32>,
    },
    CandidateSkipped {
        candidate: String,
        reason: String,
        hint: String,
    },
    BlockStarted {
        /// The block number, from 1.
        block: u32,
        /// 1 for the first attempt, more for a repetition.
        attempt: u32,
        /// Candidates in the order in which the block tests them.
        order: Vec<String>,
        /// In a journal that was merged from several sites: the site that ran the block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<BlockSite>,
    },
    /// A block ended; if it does not count, `invalid` names the rule, fixed in advance, that it broke.
    BlockFinished {
        /// The block number, from 1.
        block: u32,
        /// 1 for the first attempt, more for a repetition.
        attempt: u32,
        /// The rule that the block broke.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid: Option<String>,
    },
    TrialStarted {},
    /// The agent started a step, for progress displays: a phase, `mkfs`, `mount` …
    StepStarted {
        step: String,
    },
    Command(CommandRecord),
    Observation(Observation),
    /// Facts about this trial: mount options as the kernel resolved them, queue settings …
    Facts {
        facts: Facts,
        /// Facts about the trial that the program itself uses.
        #[serde(default, skip_serializing_if = "Learnt::is_nothing")]
        learnt: Learnt,
    },
    /// A warning that a reader of the numbers must know.
    Caution(Caution),
    /// Other activity of the machine during a trial; recorded right before the trial's end.
    Surroundings(Surroundings),
    TrialFinished {
        status: Status,
        /// Why the trial failed; empty if it succeeded.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// Advice to the user; empty if none is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        hint: String,
        /// Seconds of wall time from start to end, as the conductor measured it.
        #[serde(default)]
        wall: f64,
    },
    /// The stopping rule dropped a candidate.
    CandidateDropped {
        candidate: String,
        /// The evidence, in a sentence.
        reason: String,
    },
    /// Files that were saved, in a trial that records writes. Journals do not contain this event.
    Saved {
        phase: String,
        saves: Vec<Save>,
    },
    /// Sequences that were completed, in a trial that records writes. Journals do not contain this event.
    Sequences {
        phase: String,
        batches: Vec<SequenceBatch>,
    },
    /// Promises that a command reported, in a trial that records writes. Journals do not contain this event.
    Promised {
        phase: String,
        promises: Vec<ProgramPromise>,
    },
    /// A finding in a state after a power cut. Journals do not contain this event.
    AfterCut(StateFinding),
    /// An event on a trial's device that says nothing about the candidate.
    Device(DeviceEvent),
    /// The results of power cuts, examined after the trials; of several events for a candidate, the last counts.
    PowerCut(PowerCuts),
    /// The result of one corrupted block. Journals do not contain this event.
    AfterRot(RotFinding),
    /// The results of corrupted blocks, examined after the trials; of several events for a candidate, the last counts.
    Rotten(RottenBlocks),
    /// The prices of computation, measured after the trials; of several events, the last counts.
    Priced(CpuPrices),
    /// The last event of a complete journal, except that prices may follow.
    RunFinished {
        /// Why the run started no more blocks.
        reason: String,
        /// The kind of that reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
    },
}

/// An event on a device of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "device_event", rename_all = "snake_case")]
pub enum DeviceEvent {
    /// All devices are unchanged since they were last used, and the first write follows. Journals do not contain this
    /// event.
    FirstWrite,
    /// Another program wrote to a device: the run ends, and can only be resumed if the user names the device again.
    ForeignWrite {
        /// The device's number, from 1.
        device: usize,
        /// The evidence; journals record nothing else about the event.
        found: String,
    },
    /// The kernel reported errors of a device, or the device disappeared. Journals do not contain this event.
    Failed {
        /// The device's number, from 1.
        device: usize,
        /// The kernel's message.
        found: String,
    },
}

/// Other activity of the machine during a trial. Values that could not be read are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Available CPU time in seconds: wall time times the number of processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<f64>,
    /// Seconds of CPU time that other programs used in user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// Seconds of CPU time that a hypervisor gave to other guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Bytes of I/O on the underlying disk by other programs, or that cannot be attributed to the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
    /// The largest number of bytes that the trial can have moved on that disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// The trial was paused (SIGSTOP) and continued: its times include the pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// A signal, from outside or by a crash, ended the trial at every attempt: a resumed run tries it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// Something outside ended the trial at every attempt, or its guest ran out of memory: this says nothing about the
    /// candidate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
    /// Seconds for which the machine was suspended during the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept: Option<f64>,
    /// Seconds by which the wall clock was stepped during the trial, negative if it was set back. Slewing does not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<f64>,
    /// The time of a fixed workload before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Sentinel>,
}

/// The times of fixed workloads, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// A workload that uses only the processor.
    pub cpu: f64,
    pub memory: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The stopping rule ended the run: decided, tied, or hopeless.
    Rule,
    /// The run did as many blocks as the plan allows.
    Blocks,
    /// The run used the time that the plan allows.
    Budget,
    /// Too many blocks were disturbed, so the candidates cannot be ranked.
    Disturbed,
    /// No candidate was left.
    Nobody,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every phase was measured and verified.
    Ok,
    /// The trial could not be completed, or data were wrong.
    Failed,
}

/// A program that was run, with enough detail to repeat it by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    pub step: String,
    pub argv: Vec<String>,
    /// The exit status; `None` if a signal or the time limit ended the program.
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Wall time in seconds.
    pub seconds: f64,
    /// The end of standard output (bounded).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The end of standard error (bounded).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Name of the phase (`mkfs`, `mount`, `umount` included).
    pub phase: String,
    pub measurements: Vec<Measurement>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Histogram>,
    /// `cold`, `warm`, or `fresh` (first phase after mkfs).
    pub cache: String,
    /// How many times the phase ran before in the same trial.
    #[serde(default, skip_serializing_if = "is_first")]
    pub repetition: u32,
    /// Unwritten data: (milliseconds since the phase began, bytes of Dirty + Writeback).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<(u64, u64)>,
    /// Progress over time, if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<WorkCourse>,
    /// The computation that the kernel counted and charged, if it has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computation: Option<CountedComputation>,
}

/// The site that ran a block of a merged journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSite {
    /// Name of the site: one machine and one device.
    pub site: String,
    /// The block's number at that site, from 1. Blocks with the same number at all sites form one round.
    pub round: u32,
}

impl Observation {
    /// The value of a metric, if it was measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measurements.iter().find(|found| found.metric == metric).map(Measurement::resolved)
    }

    /// Merges a further observation of the same phase: of the same time (the report of a modelled device comes after
    /// the trial), or of a repetition, where each measurement becomes the mean. `began` keeps the first start time.
    pub(super) fn add(&mut self, other: Observation) {
        self.repetition = self.repetition.max(other.repetition);
        let times = f64::from(other.repetition) + 1.0;
        for found in other.measurements {
            match self.measurements.iter_mut().find(|known| known.metric == found.metric) {
                Some(known) if known.metric != "began" => known.value += (found.value - known.value) / times,
                Some(_) => {}
                None => self.measurements.push(found),
            }
        }
        self.histograms.extend(other.histograms);
        if self.unwritten.is_empty() {
            self.unwritten = other.unwritten;
        }
        self.course = self.course.take().or(other.course);
        self.computation = self.computation.take().or(other.computation);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_first(repetition: &u32) -> bool {
    *repetition == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the metric: a built-in one (see [`METRICS`](super::METRICS)), which is never copied, or an adapter's
    /// own.
    #[serde(deserialize_with = "super::metric::name")]
    pub metric: Cow<'static, str>,
    pub unit: Unit,
    pub value: f64,
    /// Which direction is better, for the plan's own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// The resolution of time, in seconds: a smaller difference between two times is a rounding error.
pub const FINEST_TIME: f64 = 1e-9;

impl Measurement {
    /// The value, and 0 for a time below the resolution of any clock.
    pub(crate) fn resolved(&self) -> f64 {
        match self.unit {
            Unit::Seconds if self.value.abs() < FINEST_TIME => 0.0,
            _ => self.value,
        }
    }

    /// Creates a measurement of a metric that has a known direction by its name.
    pub fn new(metric: impl Into<Cow<'static, str>>, unit: Unit, value: f64) -> Self {
        Self { metric: metric.into(), unit, value, better: None }
    }
}

/// A latency histogram, as the non-empty buckets of an HDR histogram with two significant digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The timed call: `create`, `open`, `unlink` …
    pub call: String,
    /// (highest value of the bucket in nanoseconds, count).
    pub buckets: Vec<(u64, u64)>,
}

/// A warning that a reader of the numbers must know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caution {
    /// The phase it concerns; empty for the whole trial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    pub text: String,
}
