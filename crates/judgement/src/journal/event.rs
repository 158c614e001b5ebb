//! The events of a run. The agent sends them as JSON lines; the conductor stamps and appends them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Beginning, Better, CountedComputation, CpuPrices, Learnt, PowerCuts, ProgramPromise, RotFinding,
    RottenBlocks, Save, SequenceBatch, StateFinding, Unit, WorkCourse,
};

/// Plain facts by dotted name, e.g. `kernel.release`, `device.queue.scheduler`: for showing, and for telling what changed.
pub type Facts = BTreeMap<String, String>;

/// How facts begin that say what a user's folder held when it was staged; the dataset's name follows.
pub const DATASET_FACT: &str = "dataset.";

/// How a digest in such a fact begins that stands for another in a bundle: what a folder held is nobody's business.
pub const HIDDEN_DIGEST: &str = "hidden-";

/// The fact that a journal merged from those of several sites has, and no other: their names.
pub const MERGED_FACT: &str = "merged.sites";

/// Names of the steps of a trial that are not its work; no phase may have one. Those of staging begin so, and the dataset's
/// name follows.
pub const CLAIM: &str = "claim";
pub const STAGE: &str = "stage ";
pub const TEAR_DOWN: &str = "tear down";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// Block number, from 1.
    pub block: u32,
    pub candidate: String,
    /// 1, or more where the block had to be repeated.
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
        /// What results stand on, in a sentence.
        fidelity: String,
        /// Host, kernel, device, tools.
        environment: Facts,
        /// What the program itself goes by.
        #[serde(default, skip_serializing_if = "Beginning::is_unknown")]
        beginning: Beginning,
    },
    RunResumed {
        /// A run that had ended goes on for so many blocks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<u32>,
    },
    CandidateSkipped {
        candidate: String,
        reason: String,
        hint: String,
    },
    BlockStarted {
        /// From 1.
        block: u32,
        /// 1, or more where it is repeated.
        attempt: u32,
        /// Candidates in the order they will be tried.
        order: Vec<String>,
        /// In a journal that was merged from those of several sites: where it was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<BlockSite>,
    },
    /// A block ended; `invalid` says by which rule fixed in advance it does not count.
    BlockFinished {
        /// From 1.
        block: u32,
        /// 1, or more where it was repeated.
        attempt: u32,
        /// The rule it broke.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid: Option<String>,
    },
    TrialStarted {},
    /// The agent has begun a step (for progress; a phase, `mkfs`, `mount` …).
    StepStarted {
        step: String,
    },
    Command(CommandRecord),
    Observation(Observation),
    /// Facts about this trial: mount options as the kernel resolved them, queue settings …
    Facts {
        facts: Facts,
        /// What the program itself goes by.
        #[serde(default, skip_serializing_if = "Learnt::is_nothing")]
        learnt: Learnt,
    },
    /// Something a reader of the numbers must know.
    Caution(Caution),
    /// What else the machine did while a trial ran; recorded right before its end.
    Surroundings(Surroundings),
    TrialFinished {
        status: Status,
        /// Why it failed; empty when ok.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// What to do about it; empty where nothing is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        hint: String,
        /// Seconds of wall time from start to end, as the conductor saw it.
        #[serde(default)]
        wall: f64,
    },
    /// A candidate is no longer tried, by the stopping rule.
    CandidateDropped {
        candidate: String,
        /// The evidence, in a sentence.
        reason: String,
    },
    /// Of a trial whose writes are recorded: files that were saved. It is no part of a journal.
    Saved {
        phase: String,
        saves: Vec<Save>,
    },
    /// Of such a trial: sequences that were done. It is no part of a journal.
    Sequences {
        phase: String,
        batches: Vec<SequenceBatch>,
    },
    /// Of such a trial: what a command said that it was promised. It is no part of a journal.
    Promised {
        phase: String,
        promises: Vec<ProgramPromise>,
    },
    /// What was found in a state that a cut of power left. It is no part of a journal.
    AfterCut(StateFinding),
    /// Something happened to a device of a trial that says nothing about the candidate.
    Device(DeviceEvent),
    /// What cuts of power came to, looked at after the trials; of several of a candidate, the last counts.
    PowerCut(PowerCuts),
    /// What came of a rotten block. It is no part of a journal.
    AfterRot(RotFinding),
    /// What rotten blocks came to, looked at after the trials; of several of a candidate, the last counts.
    Rotten(RottenBlocks),
    /// What computing takes, measured after the trials; of several, the last counts.
    Priced(CpuPrices),
    /// Ends a complete journal, but for prices.
    RunFinished {
        /// Why no more blocks were run.
        reason: String,
        /// The kind of that reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
    },
}

/// What happened to a device of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "device_event", rename_all = "snake_case")]
pub enum DeviceEvent {
    /// All devices were found as they were left, and are about to be written to. It is no part of a journal.
    FirstWrite,
    /// Another program has written to a device: the run ends, and goes on only where the device is named again.
    ForeignWrite {
        /// Its number, from 1.
        device: usize,
        /// What shows it; in a journal, all that is told of it.
        found: String,
    },
    /// The kernel reported errors of a device, or it is gone. It is no part of a journal.
    Failed {
        /// Its number, from 1.
        device: usize,
        /// What was reported.
        found: String,
    },
}

/// What the machine did besides while a trial ran. What could not be read is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Seconds of CPU time there were: wall time by the number of processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<f64>,
    /// Seconds of them that other programs used in user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// Seconds of them that a hypervisor gave to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Bytes that were moved on the disk below by others, or that nobody knows to be the trial's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
    /// Bytes that the trial may have moved there at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// The trial was stopped (SIGSTOP) for a while and went on: what it timed holds the pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// It was ended by a signal, from outside or by a crash, each time it was tried: a run that is resumed tries it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// Something outside ended it each time it was tried, or its guest ran out of memory: the candidate is not judged by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
    /// Seconds for which the machine slept meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept: Option<f64>,
    /// Seconds by which the machine's time of day was set meanwhile, negative where it was set back. Slewing is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<f64>,
    /// A fixed piece of work, timed before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Sentinel>,
}

/// Seconds that fixed pieces of work took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// Of the processor alone.
    pub cpu: f64,
    pub memory: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The stopping rule was satisfied: decided, tied, or hopeless.
    Rule,
    /// As many blocks as the plan allows.
    Blocks,
    /// The time that the plan allows.
    Budget,
    /// Too many blocks were disturbed: nothing may be ranked.
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
    /// It could not be completed, or data were wrong.
    Failed,
}

/// A program that was run: enough to repeat it by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    pub step: String,
    pub argv: Vec<String>,
    /// Exit status; `None` when ended by a signal or by the time limit.
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Wall seconds.
    pub seconds: f64,
    /// The end of its standard output (bounded).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The end of its standard error (bounded).
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
    /// How many times the phase had been done before in the same trial.
    #[serde(default, skip_serializing_if = "is_first")]
    pub repetition: u32,
    /// Data that had not reached the device: (milliseconds since the phase began, bytes of Dirty + Writeback).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<(u64, u64)>,
    /// How much was done from moment to moment, where it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<WorkCourse>,
    /// What its kernel counted and charged, where computation has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computation: Option<CountedComputation>,
}

/// Where a block of a merged journal was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSite {
    /// Name of the site: one machine and one device.
    pub site: String,
    /// Its number there, from 1. Blocks of the same number at all sites are one round.
    pub round: u32,
}

impl Observation {
    /// The value of a metric, where it was measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measurements.iter().find(|found| found.metric == metric).map(Measurement::resolved)
    }

    /// Takes in what else is known of the phase: of the same time (what a modelled device has to say is known when the trial is
    /// over), or of a repetition, with which each measurement becomes the mean. The phase began when it first did.
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
    /// Name of the metric; a built-in one (see [`METRICS`](super::METRICS)), which is never copied, or an adapter's own.
    #[serde(deserialize_with = "super::metric::name")]
    pub metric: Cow<'static, str>,
    pub unit: Unit,
    pub value: f64,
    /// Which way it is better, where the plan says so: of metrics of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// Seconds that no clock can tell from none: a difference of two that is smaller is what rounding left.
pub const FINEST_TIME: f64 = 1e-9;

impl Measurement {
    /// The value, and 0 for a time below the resolution of any clock.
    pub(crate) fn resolved(&self) -> f64 {
        match self.unit {
            Unit::Seconds if self.value.abs() < FINEST_TIME => 0.0,
            _ => self.value,
        }
    }

    /// One of a metric that says itself which way it is better.
    pub fn new(metric: impl Into<Cow<'static, str>>, unit: Unit, value: f64) -> Self {
        Self { metric: metric.into(), unit, value, better: None }
    }
}

/// A latency histogram, as the non-empty buckets of an HDR histogram with two significant digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// What was timed: `create`, `open`, `unlink` …
    pub call: String,
    /// (highest value of the bucket in nanoseconds, count).
    pub buckets: Vec<(u64, u64)>,
}

/// Something a reader of the numbers must know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caution {
    /// The phase it concerns; empty for the whole trial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    pub text: String,
}
