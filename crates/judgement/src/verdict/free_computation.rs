//! Conclusions that depend on computation where computation took no time, and which therefore cannot be drawn.
//!
//! In simulated time computation has a price (a processor model) or is free. Where it is free, times leave out the work
//! of encryption, compression, checksums and parity. The time between two candidates that compute differently is then no
//! cost of theirs, large or small. Every comparison of two candidates asks [`FreeComputation`]; [`UntoldCost`] names the
//! work of which no cost can be told. Bytes and requests of the device are told in any case.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::journal::{Run, Unit, adapter_metric, is_of_cpu, metric};
use crate::plan::{Candidate, Plan, split_layer};

/// Work that takes a processor's time rather than the device's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputedWork {
    Encryption,
    Compression,
    Checksums,
    Deduplication,
    Parity,
    /// Finding a name in a directory.
    DirectorySearch,
    /// A layer that computes something else for each request.
    Layer,
    /// The time of processors as a cost of its own.
    CpuTime,
}

impl ComputedWork {
    /// The work of a layer; `None` for an array that only copies.
    pub fn of_layer(layer: &str) -> Option<ComputedWork> {
        let (name, options) = split_layer(layer);
        match name {
            "md" => {
                let level = options.split(',').next().unwrap_or_default();
                (!COPYING_ARRAYS.contains(&level)).then_some(Self::Parity)
            }
            "luks1" | "luks2" => Some(Self::Encryption),
            "integrity" | "verity" => Some(Self::Checksums),
            _ => Some(Self::Layer),
        }
    }

    /// The work that a word among the options of mkfs or mount decides on.
    pub fn of_option(option: &str) -> Option<ComputedWork> {
        let found = COMPUTING_OPTIONS.iter().find(|(part, _)| option.contains(part)).map(|(_, work)| *work);
        found.or_else(|| option.starts_with(DISTRIBUTED_PARITY).then_some(Self::Parity))
    }

    /// The word for it in "the cost of …".
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Encryption => "encryption",
            Self::Compression => "compression",
            Self::Checksums => "checksums",
            Self::Deduplication => "deduplication",
            Self::Parity => "parity",
            Self::DirectorySearch => "searching directories",
            Self::Layer => "layers",
            Self::CpuTime => "CPU time",
        }
    }
}

/// Parts of options of mkfs and mount that turn computation of a filesystem on or off, or choose its algorithm.
const COMPUTING_OPTIONS: [(&str, ComputedWork); 14] = [
    ("encrypt", ComputedWork::Encryption),
    ("inlinecrypt", ComputedWork::Encryption),
    ("chksum", ComputedWork::Checksums),
    ("checksum", ComputedWork::Checksums),
    ("csum", ComputedWork::Checksums),
    ("datasum", ComputedWork::Checksums),
    ("crc=", ComputedWork::Checksums),
    ("compress", ComputedWork::Compression),
    ("dedup=", ComputedWork::Deduplication),
    ("raid5", ComputedWork::Parity),
    ("raid6", ComputedWork::Parity),
    ("raidz", ComputedWork::Parity),
    ("erasure_code", ComputedWork::Parity),
    ("dir_index", ComputedWork::DirectorySearch),
];
/// A layout of ZFS with distributed parity begins so; it is a part of btrfs' `-draid1`, too, which only copies.
const DISTRIBUTED_PARITY: &str = "draid";

/// Levels of an array of md that copy or distribute requests, and compute nothing of their content.
const COPYING_ARRAYS: [&str; 3] = ["raid0", "raid1", "raid10"];

/// The work that layers and options of a candidate compute, each with the words of the plan.
fn list_work(candidate: &Candidate) -> Vec<(ComputedWork, String)> {
    let layers =
        candidate.layers.names().filter_map(|layer| Some((ComputedWork::of_layer(layer)?, layer.to_owned())));
    let values = candidate.mkfs.iter().skip(1).map(Some).chain([None]);
    let of_mkfs = candidate.mkfs.iter().zip(values).map(|(word, value)| match value {
        // The value of an option such as `--csum` is the next word.
        Some(value) if word.starts_with("--") && !word.contains('=') => (word, format!("{word} {value}")),
        _ => (word, word.clone()),
    });
    let of_mount = candidate.mount.iter().map(|word| (word, word.clone()));
    let options = of_mkfs.chain(of_mount).flat_map(|(word, whole)| {
        let parts: Vec<&str> = word.split(',').collect();
        let alone = parts.len() == 1;
        let work = parts.into_iter().filter_map(|part| {
            Some((ComputedWork::of_option(part)?, if alone { whole.clone() } else { part.to_owned() }))
        });
        work.collect::<Vec<_>>()
    });
    let mut work: Vec<(ComputedWork, String)> = layers.chain(options).collect();
    work.sort();
    work
}

/// Whether layers of the candidate compute, or its options ask for compression.
pub(super) fn has_computing(candidate: &Candidate) -> bool {
    candidate.layers.names().any(|layer| ComputedWork::of_layer(layer).is_some())
        || candidate.asks_for_compression()
}

/// Work of which no cost can be told, since it took no time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UntoldCost {
    pub work: ComputedWork,
    /// The candidates that do it, or do it otherwise than the others.
    pub candidates: Vec<String>,
}

/// The computation of a candidate, and whether it took no time.
#[derive(Debug, Clone)]
struct Computation {
    filesystem: String,
    is_free: bool,
    work: Vec<(ComputedWork, String)>,
}

/// The candidates of a run with free computation, and the comparisons that this hides.
#[derive(Debug, Clone, Default)]
pub struct FreeComputation {
    /// Empty where computation took time in every trial.
    candidates: HashMap<String, Computation>,
    /// Whether the goal is a time or a rate.
    is_goal_timed: bool,
}

impl FreeComputation {
    pub fn from_run(plan: &Plan, run: &Run) -> Self {
        Self::new(plan, run.trials.iter().any(|trial| trial.learnt.device_seconds.is_some()))
    }

    /// `is_simulated`: whether the trials were in simulated time; in real time computation takes time.
    pub(super) fn new(plan: &Plan, is_simulated: bool) -> Self {
        let is_free = |candidate: &Candidate| is_simulated && plan.cpu_of(candidate).is_none();
        if !plan.candidates.iter().any(is_free) {
            return Self::default();
        }
        let computation = |candidate: &Candidate| Computation {
            filesystem: candidate.filesystem.clone(),
            is_free: is_free(candidate),
            work: list_work(candidate),
        };
        let candidates = plan.candidates.iter().map(|one| (one.name.clone(), computation(one))).collect();
        let goal = plan.goal.metric.as_str();
        let goal = metric(goal).or_else(|| adapter_metric(goal));
        Self { candidates, is_goal_timed: goal.is_none_or(|known| known.unit.is_timed()) }
    }

    /// Whether the candidate's computation took no time.
    pub fn applies_to(&self, candidate: &str) -> bool {
        self.candidates.get(candidate).is_some_and(|one| one.is_free)
    }

    /// Whether this number of a candidate is a cost of computation that took no time.
    pub(super) fn hides_metric(&self, candidate: &str, metric: &str) -> bool {
        is_of_cpu(metric) && self.applies_to(candidate)
    }

    /// Whether the difference of two candidates in the goal leaves out computation that one does and the other does not.
    pub(super) fn hides_difference(&self, one: &str, other: &str) -> bool {
        self.is_goal_timed && self.find_pair(one, other).is_some()
    }

    /// Whether the order of two candidates by the goal is that of computation that took no time: they have the same
    /// filesystem and compute differently.
    pub fn hides_order(&self, one: &str, other: &str) -> bool {
        self.is_goal_timed && self.hides_timed_order(one, other)
    }

    /// The same in a metric of this unit.
    pub(super) fn hides_order_in(&self, unit: Unit, one: &str, other: &str) -> bool {
        unit.is_timed() && self.hides_timed_order(one, other)
    }

    fn hides_timed_order(&self, one: &str, other: &str) -> bool {
        self.find_pair(one, other).is_some_and(|[one, other]| one.filesystem == other.filesystem)
    }

    /// The two candidates, if they compute differently and one of them at no price.
    fn find_pair(&self, one: &str, other: &str) -> Option<[&Computation; 2]> {
        let pair = [self.candidates.get(one)?, self.candidates.get(other)?];
        (pair.iter().any(|one| one.is_free) && pair[0].work != pair[1].work).then_some(pair)
    }

    /// The work by which these candidates differ within an environment, and the CPU times that were recorded.
    pub(super) fn list_untold(&self, plan: &Plan, run: &Run, measured: &[&str]) -> Vec<UntoldCost> {
        let mut untold: BTreeMap<ComputedWork, Vec<String>> = BTreeMap::new();
        let is_free = |candidate: &&Candidate| {
            measured.contains(&candidate.name.as_str()) && self.applies_to(&candidate.name)
        };
        let free: Vec<&Candidate> = plan.candidates.iter().filter(is_free).collect();
        for candidate in free.iter().filter(|_| self.is_goal_timed) {
            let beside = || free.iter().filter(|other| other.under == candidate.under);
            let Some(own) = self.candidates.get(&candidate.name) else { continue };
            for item in &own.work {
                let all_have_it = beside().all(|other| {
                    self.candidates.get(&other.name).is_some_and(|other| other.work.contains(item))
                });
                let named = untold.entry(item.0).or_default();
                if !all_have_it && !named.contains(&candidate.name) {
                    named.push(candidate.name.clone());
                }
            }
        }
        let has_cpu_time = |candidate: &&&Candidate| {
            let own = run.trials.iter().filter(|trial| trial.id.candidate == candidate.name);
            let mut numbers = own.flat_map(|trial| &trial.observations).flat_map(|found| &found.measurements);
            numbers.any(|found| is_of_cpu(&found.metric) && found.value > 0.0)
        };
        let with_cpu_time = free.iter().filter(has_cpu_time).map(|candidate| candidate.name.clone());
        untold.insert(ComputedWork::CpuTime, with_cpu_time.collect());
        untold.retain(|_, candidates| !candidates.is_empty());
        untold.into_iter().map(|(work, candidates)| UntoldCost { work, candidates }).collect()
    }
}

#[cfg(test)]
mod tests;
