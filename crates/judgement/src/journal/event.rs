//! The events of a run's journal. The agent sends events as JSON lines; the conductor adds timestamps and appends them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Beginning, Learnt, Observation, PowerCuts, ProgramPromise, RotFinding, RottenBlocks, Save, SequenceBatch,
    StateFinding, Surroundings,
};
use crate::plan::{is_default, stored_table};

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
        #[serde(default, skip_serializing_if = "is_default")]
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
        #[serde(default, skip_serializing_if = "is_default")]
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
    /// The time of day was set, or the machine slept, since the record before: the time between the two records is no time
    /// of work.
    ClockJumped {
        /// By how many milliseconds the time of day went ahead of the time in which the machine was awake, negative if it
        /// was set back.
        milliseconds: i64,
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
    /// The last event of a complete journal.
    RunFinished {
        /// Why the run started no more blocks.
        reason: String,
        /// The kind of that reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
    },
}

impl Event {
    /// The name in a journal of an event that only the conductor of a run may record; `None` if a trial may report it. A
    /// trial reports its own steps, programs, measurements and findings, and nothing about other candidates, blocks or
    /// the run.
    pub fn conductor_only(&self) -> Option<&'static str> {
        Some(match self {
            Event::RunStarted { .. } => "run_started",
            Event::RunResumed { .. } => "run_resumed",
            Event::CandidateSkipped { .. } => "candidate_skipped",
            Event::BlockStarted { .. } => "block_started",
            Event::BlockFinished { .. } => "block_finished",
            Event::TrialStarted {} => "trial_started",
            Event::Surroundings(_) => "surroundings",
            Event::ClockJumped { .. } => "clock_jumped",
            Event::CandidateDropped { .. } => "candidate_dropped",
            Event::PowerCut(_) => "power_cut",
            Event::Rotten(_) => "rotten",
            Event::RunFinished { .. } => "run_finished",
            Event::StepStarted { .. }
            | Event::Command(_)
            | Event::Observation(_)
            | Event::Facts { .. }
            | Event::Caution(_)
            | Event::TrialFinished { .. }
            | Event::Saved { .. }
            | Event::Sequences { .. }
            | Event::Promised { .. }
            | Event::AfterCut(_)
            | Event::AfterRot(_)
            | Event::Device(_) => return None,
        })
    }
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

stored_table! {
    /// A program that was run, with enough detail to repeat it by hand.
    #[derive(Debug, Clone, PartialEq)]
    pub struct CommandRecord {
        step: String,
        argv: Vec<String>,
        /// The exit status; `None` if a signal or the time limit ended the program.
        exit: Option<i32>,
        signal?: i32,
        /// Wall time in seconds.
        seconds: f64,
        /// The end of standard output (bounded).
        stdout!: String,
        /// The end of standard error (bounded).
        stderr!: String,
    }
}

/// The site that ran a block of a merged journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSite {
    /// Name of the site: one machine and one device.
    pub site: String,
    /// The block's number at that site, from 1. Blocks with the same number at all sites form one round.
    pub round: u32,
}

/// A warning that a reader of the numbers must know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caution {
    /// The phase it concerns; empty for the whole trial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: CautionKind,
    /// A sentence without a full stop; of free work, the part that its times leave out.
    pub text: String,
}

/// The subject of a caution, where a report goes by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CautionKind {
    #[default]
    Other,
    /// Computation took no simulated time, so that the times leave out a part of the work.
    FreeWork,
}

impl CautionKind {
    /// A caution's text in full.
    pub fn write_sentence(self, text: &str) -> String {
        match self {
            CautionKind::Other => text.to_owned(),
            CautionKind::FreeWork => format!("CPU is taken as free: {text}"),
        }
    }
}

impl Caution {
    /// A caution about a whole trial, or a run.
    pub fn new(text: impl Into<String>) -> Self {
        Self::in_phase("", text)
    }

    /// A caution about a phase.
    pub fn in_phase(phase: &str, text: impl Into<String>) -> Self {
        Caution { phase: phase.to_owned(), kind: CautionKind::Other, text: text.into() }
    }

    /// A caution about a trial: its times leave this part of the work out, since computation took none.
    pub fn of_free_work(left_out: &str) -> Self {
        Caution { kind: CautionKind::FreeWork, ..Self::new(left_out) }
    }
}
