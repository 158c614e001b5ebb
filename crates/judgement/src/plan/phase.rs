//! A phase of the resolved plan: its work, the data it works on, and the services that run beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::choice_words::choice_words;
use super::limits;
use super::model::is_default;
use super::{Operation, OwnMetric, Syncs};
use fsverdict_text::{Bytes, bounded_map};

/// One timed step of the workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Unique within the plan.
    pub name: String,
    pub work: PhaseWork,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The folder below the mount point in which the phase works; if absent, the dataset's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Start with a cold cache: unmount, sync the device, drop its cached pages, mount.
    #[serde(default)]
    pub cold: bool,
    /// How often the phase is repeated within a trial; the result is the mean. If absent, the rule decides (see
    /// docs/background/methodology.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// For `rotation.next` and `rotation.clone`: the share of files that changed since the previous generation, 0 to 1.
    /// For `age.pull`: the share that changes with each pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<f64>,
    /// For `age.pull`: the number of pulls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulls: Option<u32>,
    /// For `age.churn`: how many times the data that fill the filesystem are rewritten after it is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Run on a fresh filesystem with a copy of the data to read; if absent, on the filesystem as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remake: Option<Remake>,
    /// The state of the candidate's devices during the phase; if absent, all are present and in sync.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ArrayState>,
    /// For `space.fill`, `space.free` and `age.churn`: the target share of the filesystem in use, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// For operations that work in chunks: the chunk size in bytes; if absent, the operation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Bytes>,
    /// For operations that sync: the number of calls of a thread between syncs, 0 for only at the end; if absent, the
    /// operation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_every: Option<u32>,
    /// For `directory.save` and `directory.replace`: the idle time after each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
    /// The number of threads that share the work; if absent, one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The queue depth of each thread, with io_uring; if absent, one call at a time with ordinary system calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// For `trace.replay` and `device.replay`: whether the replay keeps the recorded pauses between calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// For `sequences`: the number of calls in each sequence, 1 to 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// For `sequences`: how many sequences are drawn by the seed; if absent, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequences: Option<u32>,
    /// For a command or adapter: whether it uses this machine's network. Otherwise it has a private, isolated network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// For a command or adapter: the processor time that its programs take themselves between two calls of the kernel,
    /// on the processor of [`DEFAULT_CPU`](super::DEFAULT_CPU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computing: Option<Duration>,
    /// A shell command that runs before the phase and is not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// A shell command that runs after the phase, once the phase's result has been verified, and is not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// A shell command that runs in the background during the phase and is stopped when the phase ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// A shell command that exits with 0 if everything that the phase's command reported as promised is there after a
    /// power cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<String>,
    /// After a command or adapter, not timed: this folder must contain exactly this dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// Numbers that the phase's program prints, by the names of their metrics.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "metric",
        deserialize_with = "bounded_map::<_, _, { limits::OWN_METRICS }>"
    )]
    pub metrics: BTreeMap<String, OwnMetric>,
}

/// A program that keeps running from one phase to another, for example a database server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Unique among services.
    pub name: String,
    /// A shell command that stays in the foreground as long as the service runs.
    pub start: String,
    /// A shell command that exits with 0 once the service is ready, retried until then; if absent, the service is ready
    /// at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// A shell command that stops the service, with its process ID in `$SERVICE`; if absent, SIGTERM stops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// The service starts before this phase.
    pub from: String,
    /// The service stops after this phase.
    pub to: String,
    /// The time limit for the service to become ready.
    pub within: Duration,
}

impl Phase {
    /// Whether the phase's own work calls fsync repeatedly before it ends. The syncs of commands and other programs are
    /// unknown.
    pub fn is_syncing(&self) -> bool {
        match self.work {
            PhaseWork::Operation(operation) => match operation.syncs() {
                Syncs::EachFile => true,
                Syncs::Calls(_) | Syncs::Files(_) => self.syncs_every(operation) > 0,
                Syncs::AtEnd => false,
            },
            PhaseWork::Command(_) | PhaseWork::Adapter { .. } => false,
        }
    }

    /// The number of calls of a thread between syncs in this operation; 0: only at the end.
    pub fn syncs_every(&self, operation: Operation) -> u32 {
        self.sync_every.unwrap_or(match operation.syncs() {
            Syncs::Calls(usual) | Syncs::Files(usual) => usual,
            Syncs::AtEnd | Syncs::EachFile => 0,
        })
    }

    /// The shell commands of the phase besides its work.
    pub fn lines_around(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(&self.beside).chain(&self.after).chain(&self.recheck)
    }
}

impl Service {
    /// The shell commands of the service.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        [&self.start].into_iter().chain(&self.ready).chain(&self.stop)
    }
}

/// The data that are copied onto a fresh filesystem before a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Remake {
    /// The present content of the filesystem, if true.
    Now(bool),
    /// The content of the filesystem after the phase of this name.
    After(String),
}

choice_words! {
    /// When the replay of a trace issues each call.
    #[derive(Default)]
    pub enum Pace {
        /// As soon as the previous call has returned.
        #[default]
        Unpaced = "unpaced",
        /// After the pause that the recorded program made.
        Recorded = "recorded",
    }

    /// The state of an array of devices with mirrored data or parity.
    pub enum ArrayState, unknown "there is no state" {
        /// One device is missing.
        Degraded = "degraded",
        /// The array is rebuilt onto an empty device that replaces the missing one.
        Rebuilding = "rebuilding",
        /// All data on the devices are read and compared.
        Scrubbing = "scrubbing",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseWork {
    Operation(Operation),
    /// A shell command, run with `/bin/sh -c`.
    Command(String),
    /// A benchmark program. An adapter parses its output.
    Adapter {
        /// Name in the registry (`bonnie++`, `fio`).
        name: String,
        options: String,
    },
}

impl Default for PhaseWork {
    /// The shell command that does nothing.
    fn default() -> Self {
        PhaseWork::Command(String::new())
    }
}

/// A check of the filesystem after a phase that runs an external program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// The dataset that must be present.
    pub dataset: String,
    /// The folder below the mount point that must contain the dataset.
    pub at: String,
}
