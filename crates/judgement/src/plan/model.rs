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
    CallTrace, Candidate, Disturbance, Faults, LabChoice, Operation, OwnMetric, PlannedDevice, Published,
    Requirements, Unit,
};
use fsverdict_text::{Bytes, Reason, bounded_list, bounded_map};

/// A resolved plan: everything a run needs to know, but not how the run is carried out.
///
/// Deserialization always validates it: see `plan/recorded.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Plan {
    /// One line that says what the run is to find out.
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
    /// What must be known before the run ends.
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

/// What a model with ranges of numbers represents in simulated time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DevicesChoice {
    /// The class: each block uses another device of it, if circumstances are drawn at all.
    #[default]
    Class,
    /// One typical device.
    One,
}

/// What must be known before a run ends.
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

/// What the verdict is about: a metric, how the phases' numbers are combined, and the weight of each phase.
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
    /// For operations that sync: after how many calls of a thread, 0 for not before the end; the operation's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_every: Option<u32>,
    /// For `directory.save` and `directory.replace`: how long nothing is done after each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
    /// How many threads share the work; one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// How many calls of a thread are under way at once, by io_uring; one, by plain calls, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// For `trace.replay` and `device.replay`: whether the pauses between calls are kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// For `sequences`: how many calls each has, 1 to 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// For `sequences`: so many, drawn by the seed; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequences: Option<u32>,
    /// A command or adapter that needs this machine's network; it has one of its own otherwise, with itself alone in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// A line for the shell that is done before the phase, off the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The same after it, once what it did has been verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// A line for the shell that goes on in the background of the phase, and is stopped when that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// A line for the shell that ends with 0 where what its command says it was promised is there after a cut of power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<String>,
    /// After a command or adapter, outside the clock: this folder must hold exactly this dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// Numbers that its program prints, by the names of their metrics.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "metric",
        deserialize_with = "bounded_map::<_, _, { limits::OWN_METRICS }>"
    )]
    pub metrics: BTreeMap<String, OwnMetric>,
}

/// A program that goes on from one phase to another: a database that is worked with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Unique among services.
    pub name: String,
    /// A line for the shell that stays in the foreground as long as the service is there.
    pub start: String,
    /// A line that ends with 0 once it is ready, tried until it does; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// A line that stops it, which finds its process in `$SERVICE`; SIGTERM when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Started before this phase …
    pub from: String,
    /// … and stopped after this one.
    pub to: String,
    /// How long it may take until it is ready.
    pub within: Duration,
}

impl Phase {
    /// Whether its own work asks for fsyncs before it ends, again and again; what commands and other programs ask for is not known.
    pub fn syncs(&self) -> bool {
        match self.work {
            PhaseWork::Operation(Operation::DirectorySave) => true,
            PhaseWork::Operation(operation) => operation.takes_sync() && self.syncs_every(operation) > 0,
            PhaseWork::Command(_) | PhaseWork::Adapter { .. } => false,
        }
    }

    /// After how many calls of a thread it syncs, doing this; 0: not before it ends.
    pub fn syncs_every(&self, operation: Operation) -> u32 {
        self.sync_every.unwrap_or_else(|| operation.usual_sync())
    }

    /// The lines for the shell that it has besides its work.
    pub fn lines_around(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(&self.beside).chain(&self.after).chain(&self.recheck)
    }
}

impl Service {
    /// Its lines for the shell.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        [&self.start].into_iter().chain(&self.ready).chain(&self.stop)
    }
}

/// What is copied onto a fresh filesystem before a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Remake {
    /// What lies there, if it is true.
    Now(bool),
    /// What lay there when the phase of this name was over.
    After(String),
}

/// When the calls of a trace are made again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// Each as soon as the one before has returned.
    #[default]
    Unpaced,
    /// Each after the pause that its program made.
    Recorded,
}

/// A state of devices that keep the same data several times, or with parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrayState {
    /// One of them is missing.
    Degraded,
    /// An empty one takes the place of the missing one.
    Rebuilding,
    /// All that is on them is read and compared.
    Scrubbing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseWork {
    Operation(Operation),
    /// A line for `/bin/sh -c`.
    Command(String),
    /// A benchmark program whose output is understood.
    Adapter {
        /// Name in the registry (`bonnie++`, `fio`).
        name: String,
        options: String,
    },
}

/// What must be true of the filesystem after a phase whose work fsverdict did not do itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// The dataset that must be found …
    pub dataset: String,
    /// … in this folder below the mount point.
    pub at: String,
}

/// The words a plan may use, gathered from the registries of the rooms that own them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    pub filesystems: &'a [&'a str],
    pub layers: &'a [&'a str],
    /// How many devices the layer of this name puts together at least with these options, 1 where it puts none together; or
    /// why it does not take them.
    pub layer: fn(name: &str, options: &str) -> Result<usize, Reason>,
    pub adapters: &'a [&'a str],
    pub profiles: &'a [&'a str],
    /// Metrics a goal may name.
    pub metrics: &'a [&'a str],
    /// What the metric of this name is in.
    pub unit_of: fn(&str) -> Option<Unit>,
    /// Whether the numbers of a metric may be added up over phases, as times can and percentiles cannot.
    pub adds_up: fn(&str) -> bool,
    /// Bytes that a candidate needs of any device, however little is written to it.
    pub least_device: fn(&Candidate) -> u64,
    /// Whether there is a modelled device of this name and, where one is given, this size; only what is known without opening a
    /// file of the user's.
    pub model: fn(&str, Option<Bytes>) -> Result<(), Reason>,
    /// Whether there is a processor model of this name; only what is known without opening a file of the user's.
    pub cpu: fn(&str) -> Result<(), Reason>,
}
