//! The resolved plan: all defaults are filled in, all names are checked, and all candidates of the matrix are listed.
//!
//! The rest of the program uses these types. They are stored as JSON in the run folder, so a field may be added here
//! but not renamed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::choice_words::choice_words;
use super::limits;
use super::tree_form::TreeForm;
use super::work_source::WorkSource;
use super::{
    Candidate, Faults, LabChoice, Phase, PlannedDevice, Protection, Protocol, Published, Requirements,
    Safeguards, Service, Unit,
};
use fsverdict_calls::CallTrace;
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
    /// The origin of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkSource>,
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

choice_words! {
    /// The clock for trials on a modelled device.
    #[derive(Default)]
    pub enum ClockChoice, unknown "there is no clock" {
        /// Simulated if the device is modelled and the kernel supports it, otherwise real.
        #[default]
        Auto = "auto",
        /// The guest's virtual clock: the device takes as long as its model says; computation takes no time, or as long as
        /// `cpu` says.
        Simulated = "simulated",
        /// This machine's clock.
        Real = "real",
    }

    /// How the numbers of the phases are combined into one number for a trial.
    #[derive(Default)]
    pub enum Aggregation {
        /// The sum over the phases of frequency × number: the time of the whole job, in seconds.
        Total = "total",
        /// The weighted geometric mean of the phases' ratios: a score without a unit. Plans of versions that offered no
        /// choice mean this.
        #[default]
        Ratios = "ratios",
    }
}

/// The subject of the verdict: a metric, how the phases' numbers are combined, and the weight of each phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Name of the metric, e.g. `durable`.
    pub metric: String,
    #[serde(default, skip_serializing_if = "is_default")]
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
    /// The protection of each candidate's data: of those that are equal by the goal, the better protected is
    /// recommended. Empty where no option changes any of it, and in plans of versions that did not store it.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "bounded_map::<_, _, { limits::ENTERED }>"
    )]
    pub safeguards: BTreeMap<String, Safeguards>,
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

/// The names that a plan may use, collected from the registries that define them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    pub filesystems: &'a [&'a str],
    pub layers: &'a [&'a str],
    /// The minimum number of devices that the layer of this name combines with these options, 1 if it combines none; or
    /// the reason why it rejects the options.
    pub layer: fn(name: &str, options: &str) -> Result<usize, Reason>,
    pub adapters: &'a [&'a str],
    /// Checks that the program of this adapter can be given these options.
    pub adapter_options: fn(name: &str, options: &str) -> Result<(), Reason>,
    pub profiles: &'a [&'a str],
    /// Metrics that a goal may name.
    pub metrics: &'a [&'a str],
    /// The unit of a metric.
    pub unit_of: fn(&str) -> Option<Unit>,
    /// Whether the values of a metric may be added up over phases: times may, percentiles may not.
    pub adds_up: fn(&str) -> bool,
    /// The smallest device in bytes that a candidate needs, however little is written to it.
    pub least_device: fn(&Candidate) -> u64,
    /// Checks that a device model of this name exists and, if a size is given, supports this size; returns that size, or
    /// else that of the class. The check opens none of the user's files, so that the class' size of a file is unknown.
    pub model: fn(&str, Option<Bytes>) -> Result<Option<Bytes>, Reason>,
    /// Checks that a processor model of this name exists. The check opens none of the user's files.
    pub cpu: fn(&str) -> Result<(), Reason>,
    /// The protection level of a candidate by its filesystem, layers and options.
    pub protection: fn(&Candidate) -> Protection,
    /// The protection of its data, in detail.
    pub safeguards: fn(&Candidate) -> Safeguards,
}
