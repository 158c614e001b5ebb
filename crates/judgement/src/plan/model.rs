//! The resolved plan: all defaults are filled in, all names are checked, and all candidates of the matrix are listed.
//!
//! The rest of the program uses these types. They are stored as JSON in the run folder, so a field may be added here
//! but not renamed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice_words::choice_words;
use super::environment::read_memory;
use super::limits;
use super::stored_table::stored_table;
use super::tree_form::TreeShape;
use super::value::{read_kernel, read_word};
use super::work_source::WorkSource;
use super::{
    Candidate, FREE_CPU, Faults, LabChoice, Phase, PlannedDevice, Protection, Protocol, Published,
    Requirements, Safeguards, Service, Unit,
};
use fsverdict_calls::CallTrace;
use fsverdict_text::value::{filled_text, paths};
use fsverdict_text::{Bytes, Reason, bounded_list, bounded_map};

stored_table! {
    /// A resolved plan: everything a run needs to know, but not how the run is carried out.
    ///
    /// Deserialization always validates it: see `plan/recorded.rs`.
    #[derive(Debug, Clone, Default, PartialEq)]
    #[serde(remote = "Self")]
    pub struct Plan, keys TOP {
        /// The question that the run is to answer, in one line.
        title: String => ("string", filled_text, needed "title = \"Backup to a USB disk\""),
        lab: LabChoice => ("`\"auto\"` `\"native\"` `\"uml\"` `\"vm\"`", read_word::<LabChoice>),
        /// The kernel for `uml` or `vm`; if absent, the lab's own default.
        kernel?: PathBuf => ("path, or name", read_kernel),
        /// The memory of a guest in addition to its datasets; if absent, the lab's own default.
        memory?: Bytes => ("size", read_memory),
        /// The clock for trials on a modelled device.
        clock!: ClockChoice => ("word", read_word::<ClockChoice>),
        /// The processor model that prices computation in simulated time; if absent, computation takes no simulated time.
        cpu?: String,
        key("cpu", "name or path", write |plan: &Plan| {
            json!(plan.cpu.as_deref().or(plan.may_simulate().then_some(FREE_CPU)))
        }),
        /// Paths that trials can read although the lab hides them by default.
        reads in "bounded_list::<_, _, { limits::READS }>": Vec<PathBuf> => ("list of paths", paths),
        device: PlannedDevice,
        /// The number and order of blocks, and when to stop.
        protocol: Protocol,
        /// Faults that are injected into devices in addition to the trials.
        faults?: Faults,
        /// The origin of the work.
        work?: WorkSource,
        goal: Goal,
        #[serde(default, deserialize_with = "bounded_map::<_, _, { limits::DATASETS }>")]
        datasets: BTreeMap<String, Dataset>,
        /// The configurations under test, with unique names.
        #[serde(deserialize_with = "bounded_list::<_, _, { limits::ENTERED }>")]
        candidates: Vec<Candidate>,
        /// The workload: timed steps in order.
        #[serde(deserialize_with = "bounded_list::<_, _, { limits::PHASES }>")]
        phases: Vec<Phase>,
        /// Work that runs at the same time as phases.
        services in "bounded_list::<_, _, { limits::SERVICES }>": Vec<Service>,
        /// Published findings of a study that this plan repeats.
        published in "bounded_list::<_, _, { limits::PUBLISHED }>": Vec<Published>,
        /// The scale factor of the data, if the command line sets one.
        scale?: f64,
        key("device", "table", write |_| Value::Null),
        key("protocol", "table", write |_| Value::Null),
        key("faults", "table", write |_| Value::Null),
        key("work", "table", write |_| Value::Null),
        key("goal", "table", write |_| Value::Null),
        key("dataset", "tables", write |_| Value::Null),
        key("candidate", "list of tables", write |_| Value::Null),
        key("matrix", "table", write |_| Value::Null),
        key("phase", "list of tables", write |_| Value::Null),
        key("service", "list of tables", write |_| Value::Null),
        key("published", "list of tables", write |_| Value::Null),
        key("ask", "table", write |_| Value::Null),
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
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

stored_table! {
    /// The subject of the verdict: a metric, how the phases' numbers are combined, and the weight of each phase.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Goal {
        /// Name of the metric, e.g. `durable`.
        metric: String,
        by!: Aggregation,
        /// By phase: how often it occurs each time the job is done (for a total), or its weight (for ratios). Phases that
        /// are not named do not count. If empty in a plan, each work phase has weight 1.
        #[serde(deserialize_with = "bounded_map::<_, _, { limits::PHASES }>")]
        weights: BTreeMap<String, f64>,
        /// Conditions that the recommended candidate must meet.
        require!: Requirements,
        /// Whether all candidates are ranked against each other, even if their protection differs.
        one_ranking!: bool,
        /// The protection levels of candidates that have another than the usual one. Each level gets a separate verdict. Empty
        /// where all candidates have the same level, where the plan asks for one ranking, and in plans of versions that
        /// made no groups.
        protection in "bounded_map::<_, _, { limits::ENTERED }>": BTreeMap<String, Protection>,
        /// The protection of each candidate's data: of those that are equal by the goal, the better protected is
        /// recommended. Empty where no option changes any of it, and in plans of versions that did not store it.
        safeguards in "bounded_map::<_, _, { limits::ENTERED }>": BTreeMap<String, Safeguards>,
    }
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
