//! A phase of the resolved plan: its work, the data it works on, and the services that run beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice_words::choice_words;
use super::limits;
use super::stored_table::stored_table;
use super::value::{
    inside_path, name, read_computing, read_piece_bytes, read_sync_interval, read_word, up_to,
};
use super::{Operation, OwnMetric, Syncs};
use fsverdict_text::value::{boolean, filled_text, share, time};
use fsverdict_text::{Bytes, bounded_map, short_time_text};

stored_table! {
    /// One timed step of the workload.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Phase, keys PHASE {
        /// Unique within the plan.
        name: String => ("name", name, needed "name = \"write\""),
        work: PhaseWork,
        key("operation", "name of an operation", write |phase| json!(phase.work.operation())),
        key("command", "string", write |phase| match &phase.work {
            PhaseWork::Command(line) => json!(line),
            _ => Value::Null,
        }),
        key("adapter", "name of an adapter", write |phase| match &phase.work {
            PhaseWork::Adapter { name, .. } => json!(name),
            _ => Value::Null,
        }),
        key("options", "string", write |phase| match &phase.work {
            PhaseWork::Adapter { options, .. } => json!(options),
            _ => Value::Null,
        }),
        dataset?: String => ("name of a dataset", elsewhere),
        /// The folder below the mount point in which the phase works; if absent, the dataset's name.
        into?: String => ("folder", inside_path),
        /// Start with a cold cache: unmount, sync the device, drop its cached pages, mount.
        #[serde(default)]
        cold: bool => ("true or false", boolean),
        /// How often the phase is repeated within a trial; the result is the mean. If absent, the rule decides (see
        /// docs/background/methodology.md).
        repeat?: u32 => ("1 to 1000", up_to::<{ limits::REPETITIONS }>),
        /// For `rotation.next` and `rotation.clone`: the share of files that changed since the previous generation, 0 to 1.
        /// For `age.pull`: the share that changes with each pull.
        changed?: f64 => ("share", share),
        /// For `age.pull`: the number of pulls.
        pulls?: u32 => ("1 to 100 000", up_to::<{ limits::PULLS }>),
        /// For `age.churn`: how many times the data that fill the filesystem are rewritten after it is full.
        rounds?: u32 => ("1 to 100 000", up_to::<{ limits::PULLS }>),
        /// Run on a fresh filesystem with a copy of the data to read; if absent, on the filesystem as it is.
        remake?: Remake => ("`true`, or name of a phase", elsewhere),
        /// The state of the candidate's devices during the phase; if absent, all are present and in sync.
        state?: ArrayState => ("`\"degraded\"` `\"rebuilding\"` `\"scrubbing\"`", read_word::<ArrayState>),
        /// For `space.fill`, `space.free` and `age.churn`: the target share of the filesystem in use, 0 to 1.
        to?: f64 => ("share", share),
        /// For operations that work in chunks: the chunk size in bytes; if absent, the operation's own.
        piece?: Bytes => ("size", read_piece_bytes),
        /// For operations that sync: the number of calls of a thread between syncs, 0 for only at the end; if absent, the
        /// operation's own.
        sync_every?: u32 => ("whole number", read_sync_interval),
        /// For `directory.save` and `directory.replace`: the idle time after each file.
        pause?: Duration => ("time", time),
        /// The number of threads that share the work; if absent, one.
        threads?: u32 => ("1 to 64", up_to::<{ limits::THREADS }>),
        /// The queue depth of each thread, with io_uring; if absent, one call at a time with ordinary system calls.
        depth?: u32 => ("1 to 1024", up_to::<{ limits::DEPTH }>),
        /// For `trace.replay` and `device.replay`: whether the replay keeps the recorded pauses between calls.
        pace!: Pace => ("`\"unpaced\"` `\"recorded\"`", read_word::<Pace>, unless Pace::Unpaced),
        /// For `sequences`: the number of calls in each sequence, 1 to 3.
        steps?: u32 => ("1 to 3", read_sync_interval),
        /// For `sequences`: how many sequences are drawn by the seed; if absent, all.
        sequences?: u32 => ("1 to 200 000", read_sync_interval),
        /// For a command or adapter: whether it uses this machine's network. Otherwise it has a private, isolated network.
        network!: bool => ("true or false", boolean),
        /// For a command or adapter: the processor time that its programs take themselves between two calls of the kernel,
        /// on the processor of [`DEFAULT_CPU`](super::DEFAULT_CPU).
        computing?: Duration => ("time, 4 ms at most", read_computing, write |phase| json!(phase.computing.map(short_time_text))),
        /// A shell command that runs before the phase and is not timed.
        before?: String => ("string", filled_text),
        key("beside", "string", beside, filled_text),
        /// A shell command that runs after the phase, once the phase's result has been verified, and is not timed.
        after?: String => ("string", filled_text),
        /// A shell command that runs in the background during the phase and is stopped when the phase ends.
        beside?: String,
        /// A shell command that exits with 0 if everything that the phase's command reported as promised is there after a
        /// power cut.
        recheck?: String => ("string", filled_text),
        /// After a command or adapter, not timed: this folder must contain exactly this dataset.
        verify?: Verify => ("table", elsewhere),
        /// Numbers that the phase's program prints, by the names of their metrics.
        #[serde(rename = "metric")]
        metrics in "bounded_map::<_, _, { limits::OWN_METRICS }>": BTreeMap<String, OwnMetric>,
        key("metric", "tables", metrics, elsewhere),
    }
}

stored_table! {
    /// A program that keeps running from one phase to another, for example a database server.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Service, keys SERVICE {
        /// Unique among services.
        name: String => ("name", name, needed "name = \"database\""),
        /// A shell command that stays in the foreground as long as the service runs.
        start: String => ("string", filled_text, needed "start = 'exec my-server --folder \"$MOUNT\"'"),
        /// A shell command that exits with 0 once the service is ready, retried until then; if absent, the service is ready
        /// at once.
        ready?: String => ("string", filled_text),
        /// A shell command that stops the service, with its process ID in `$SERVICE`; if absent, SIGTERM stops it.
        stop?: String => ("string", filled_text),
        /// The service starts before this phase.
        from: String => ("name of a phase", elsewhere),
        /// The service stops after this phase.
        to: String => ("name of a phase", elsewhere),
        /// The time limit for the service to become ready.
        within: Duration => ("time", time),
    }
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

impl PhaseWork {
    /// The built-in operation, if the work is one.
    pub fn operation(&self) -> Option<Operation> {
        match self {
            PhaseWork::Operation(operation) => Some(*operation),
            PhaseWork::Command(_) | PhaseWork::Adapter { .. } => None,
        }
    }
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
