//! The resolved plan: all defaults are filled in, all names are checked, and all candidates of the matrix are listed.
//!
//! The rest of the program uses these types. They are stored as JSON in the run folder, so a field may be added here
//! but not renamed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits;
use super::tree_form::TreeForm;
use super::{
    CallTrace, Candidate, Disturbance, Faults, LabChoice, Operation, OwnMetric, PlannedDevice, Protection,
    Published, Requirements, Unit,
};
use fsverdict_text::{Bytes, Reason, bounded_list, bounded_map};

/// A resolved plan: everything a run needs to know, but not how the run is carried out.
///
/// Deserialization always validates it: see `plan/recorded.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Plan {
    /// The question that the run is to answer, in one line.
    pub title: String,
    pub lab: LabChoice,
    /// The kernel for `uml` or `vm`; if absent, the lab's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// The memory of a guest in addition to its datasets; if absent, the lab's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The clock for trials on a modelled device.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock: ClockChoice,
    /// The processor model that prices computation in simulated time; if absent, computation takes no simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Paths that trials can read although the lab hides them by default.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::READS }>"
    )]
    pub reads: Vec<PathBuf>,
    pub device: PlannedDevice,
    /// The number and order of blocks, and when to stop.
    pub protocol: Protocol,
    /// Faults that are injected into devices in addition to the trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    pub goal: Goal,
    #[serde(default, deserialize_with = "bounded_map::<_, _, { limits::DATASETS }>")]
    pub datasets: BTreeMap<String, Dataset>,
    /// The configurations under test, with unique names.
    #[serde(deserialize_with = "bounded_list::<_, _, { limits::ENTERED }>")]
    pub candidates: Vec<Candidate>,
    /// The workload: timed steps in order.
    #[serde(deserialize_with = "bounded_list::<_, _, { limits::PHASES }>")]
    pub phases: Vec<Phase>,
    /// Work that runs at the same time as phases.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SERVICES }>"
    )]
    pub services: Vec<Service>,
    /// Published findings of a study that this plan repeats.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::PUBLISHED }>"
    )]
    pub published: Vec<Published>,
    /// The scale factor of the data, if the command line sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The clock for trials on a modelled device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockChoice {
    /// Simulated if the device is modelled and the kernel supports it, otherwise real.
    #[default]
    Auto,
    /// The guest's virtual clock: the device takes as long as its model says; computation takes no time, or as long as
    /// `cpu` says.
    Simulated,
    /// This machine's clock.
    Real,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    pub blocks: Blocks,
    /// The seed of generated data, and of all random draws in simulated time.
    pub seed: u64,
    /// The seed of the random order; if absent, the run draws it and records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// The state of knowledge at which the run ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub until: Until,
    /// δ, as a fraction: relative differences smaller than this do not matter to this user.
    pub tie: f64,
    /// A trial that takes longer than this is stopped and counts as failed.
    pub timeout: Duration,
    /// The run starts no new block after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// The rules by which a block does not count; `None`: every block counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbance>,
    /// How the study that the plan repeats combined its runs. Reports show this number beside the medians; the verdict
    /// never uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<Legacy>,
    /// Whether, in simulated time, the circumstances vary between blocks to represent similar machines, or stay fixed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub circumstances: NuisancesChoice,
    /// Whether a model that describes a class of devices represents the whole class or one device.
    #[serde(default, skip_serializing_if = "is_default")]
    pub devices: DevicesChoice,
}

/// Nuisance factors of a trial in simulated time: memory, device size, start time, file names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NuisancesChoice {
    /// Varied a little in every block, around the plan's values.
    #[default]
    Drawn,
    /// The plan's values in every block.
    Fixed,
}

/// The devices that a model with ranges of numbers represents in simulated time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DevicesChoice {
    /// The class: each block uses another device of it, if circumstances are drawn at all.
    #[default]
    Class,
    /// One typical device.
    One,
}

/// The state of knowledge at which a run ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// A candidate that no other beats by more than δ.
    #[default]
    Recommended,
    /// In addition, for each other candidate, whether it is behind the recommended one or tied with it.
    Ranked,
}

/// A way in which studies combine the results of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Legacy {
    BestOf,
    /// The mean without the best and the worst run.
    TrimmedMean,
    Mean,
}

/// A fixed number of blocks (`min == max`) or an adaptive range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    pub min: u32,
    pub max: u32,
}

/// How the numbers of the phases are combined into one number for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregation {
    /// The sum over the phases of frequency × number: the time of the whole job, in seconds.
    Total,
    /// The weighted geometric mean of the phases' ratios: a score without a unit. Plans of versions that offered no
    /// choice mean this.
    #[default]
    Ratios,
}

impl Aggregation {
    /// The keyword in a plan.
    pub fn word(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Ratios => "ratios",
        }
    }

    fn is_ratios(&self) -> bool {
        *self == Self::Ratios
    }
}

/// The subject of the verdict: a metric, how the phases' numbers are combined, and the weight of each phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Name of the metric, e.g. `durable`.
    pub metric: String,
    #[serde(default, skip_serializing_if = "Aggregation::is_ratios")]
    pub by: Aggregation,
    /// By phase: how often it occurs each time the job is done (for a total), or its weight (for ratios). Phases that
    /// are not named do not count. If empty in a plan, each work phase has weight 1.
    #[serde(deserialize_with = "bounded_map::<_, _, { limits::PHASES }>")]
    pub weights: BTreeMap<String, f64>,
    /// Conditions that the recommended candidate must meet.
    #[serde(default, skip_serializing_if = "Requirements::is_empty")]
    pub require: Requirements,
    /// Whether all candidates are ranked against each other, even if their protection differs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_ranking: bool,
    /// The protection levels of candidates that do not have the usual one: each level has a verdict of its own. Empty
    /// where all candidates have the same level, where the plan asks for one ranking, and in plans of versions that
    /// made no groups.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "bounded_map::<_, _, { limits::ENTERED }>"
    )]
    pub protection: BTreeMap<String, Protection>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Dataset {
    Tree(TreeShape),
    /// One directory with this many small files.
    Flat {
        files: u64,
        file_size: Bytes,
    },
    File {
        size: Bytes,
        /// The share of the file's bytes that a compressor can remove: 0 is incompressible, 1 is all zeros.
        compressible: f64,
    },
    /// Files, and the system calls that are replayed on them.
    Trace {
        calls: CallTrace,
    },
    /// One of the user's directories, staged in memory.
    Folder {
        path: PathBuf,
        /// How much to take: whole subdirectories in a fixed pseudo-random order until about this size is reached, or
        /// single files of a subdirectory that is larger; if absent, everything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
    },
}

/// The shape of a generated tree (METHOD: Impressions, Agrawal et al., FAST'09).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeShape {
    /// Name of the profile that gives the size distribution.
    pub profile: String,
    pub files: u64,
    /// Directories in total, the root included.
    pub directories: u64,
    /// Bytes in all files together.
    pub size: Bytes,
    /// The share of bytes that a compressor can remove, 0 to 1; if absent, the profile's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressible: Option<f64>,
    /// The share of files that are byte-for-byte copies of another file, 0 to 1; if absent, the profile's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<f64>,
    /// The share of files that are further hard links to another file, 0 to 1; if absent, the profile's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard_links: Option<f64>,
    /// File sizes in bytes at equally spaced quantiles, the smallest first; if empty, the profile's own.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SHAPE }>"
    )]
    pub sizes: Vec<u64>,
    #[serde(default, skip_serializing_if = "TreeForm::is_empty")]
    pub form: TreeForm,
}

impl TreeShape {
    /// The share of files that are further hard links, from the form's link counts or else from `hard_links`; if
    /// absent, the profile's own.
    pub fn linked(&self) -> Option<f64> {
        self.form.hard_links().or(self.hard_links)
    }
}

/// One timed step of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn syncs(&self) -> bool {
        match self.work {
            PhaseWork::Operation(Operation::DirectorySave) => true,
            PhaseWork::Operation(operation) => operation.takes_sync() && self.syncs_every(operation) > 0,
            PhaseWork::Command(_) | PhaseWork::Adapter { .. } => false,
        }
    }

    /// The number of calls of a thread between syncs in this operation; 0: only at the end.
    pub fn syncs_every(&self, operation: Operation) -> u32 {
        self.sync_every.unwrap_or_else(|| operation.usual_sync())
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

/// When the replay of a trace issues each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// As soon as the previous call has returned.
    #[default]
    Unpaced,
    /// After the pause that the recorded program made.
    Recorded,
}

/// The state of an array of devices with mirrored data or parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrayState {
    /// One device is missing.
    Degraded,
    /// The array is rebuilt onto an empty device that replaces the missing one.
    Rebuilding,
    /// All data on the devices are read and compared.
    Scrubbing,
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

/// A check of the filesystem after a phase that runs an external program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// The dataset that must be present.
    pub dataset: String,
    /// The folder below the mount point that must contain the dataset.
    pub at: String,
}

/// The names that a plan may use, collected from the registries that define them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    pub filesystems: &'a [&'a str],
    pub layers: &'a [&'a str],
    /// The minimum number of devices that the layer of this name combines with these options, 1 if it combines none; or
    /// the reason why it rejects the options.
    pub layer: fn(name: &str, options: &str) -> Result<usize, Reason>,
    pub adapters: &'a [&'a str],
    pub profiles: &'a [&'a str],
    /// Metrics that a goal may name.
    pub metrics: &'a [&'a str],
    /// The unit of a metric.
    pub unit_of: fn(&str) -> Option<Unit>,
    /// Whether the values of a metric may be added up over phases: times may, percentiles may not.
    pub adds_up: fn(&str) -> bool,
    /// The smallest device in bytes that a candidate needs, however little is written to it.
    pub least_device: fn(&Candidate) -> u64,
    /// Checks that a device model of this name exists and, if a size is given, supports this size. The check opens none
    /// of the user's files.
    pub model: fn(&str, Option<Bytes>) -> Result<(), Reason>,
    /// Checks that a processor model of this name exists. The check opens none of the user's files.
    pub cpu: fn(&str) -> Result<(), Reason>,
    /// The protection level of a candidate by its filesystem, layers and options.
    pub protection: fn(&Candidate) -> Protection,
}
