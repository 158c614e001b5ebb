//! Compares kernels on the same work: time, requests, bytes and flushes of each configuration and phase, as regressions
//! (more) and gains (less), paired within blocks.

mod change;

use std::path::PathBuf;

use serde::Serialize;

use super::{ContrastOutcome, Judgement};
use crate::journal::Trial;
use crate::plan::{Candidate, Environment};

pub use change::{KernelChange, MEASURES, TIME, judged_alone};
use change::{Measure, judge, test_phases};

/// A kernel of a plan compared with the one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelPair {
    pub kernel: PathBuf,
    pub against: PathBuf,
    /// δ: smaller changes count as ties.
    pub tie: f64,
    #[serde(skip)]
    pub blocks: usize,
    pub phases: Vec<KernelPhase>,
}

/// A phase of a configuration that was tried under both kernels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelPhase {
    /// The configuration, named without its environment.
    pub candidate: String,
    /// The environment besides the kernel.
    #[serde(skip_serializing_if = "Environment::is_plain")]
    pub under: Environment,
    pub phase: String,
    pub changes: Vec<KernelChange>,
}

impl KernelPhase {
    pub fn find_change(&self, measure: &str) -> Option<&KernelChange> {
        self.changes.iter().find(|change| change.measure == measure)
    }

    pub fn has_changed(&self) -> bool {
        self.changes.iter().any(|change| change.outcome.is_difference())
    }

    /// The outcome for its time; unchanged where time was not measured.
    pub fn time_outcome(&self) -> ContrastOutcome {
        self.find_change(TIME).map_or(ContrastOutcome::Tied, |time| time.outcome)
    }
}

impl KernelPair {
    /// Compares each kernel of a plan with the one before it, in the plan's order; empty where there are fewer than
    /// two.
    pub fn from_judgement(judged: &Judgement<'_>) -> Vec<Self> {
        let candidates = &judged.plan.candidates;
        let mut named: Vec<&PathBuf> = Vec::new();
        for kernel in candidates.iter().filter_map(|candidate| candidate.under.kernel.as_ref()) {
            if !named.contains(&kernel) {
                named.push(kernel);
            }
        }
        let pairs = named.iter().zip(named.iter().skip(1));
        let compared = pairs.map(|(against, kernel)| {
            let old = candidates.iter().filter(|old| old.under.kernel.as_ref() == Some(against));
            let both = old.filter_map(|old| {
                let same = Environment { kernel: Some(kernel.to_path_buf()), ..old.under.clone() };
                let name = old.under.strip_from_name(&old.name);
                let is_it =
                    |new: &&Candidate| new.under == same && new.under.strip_from_name(&new.name) == name;
                Some([old, candidates.iter().find(is_it)?])
            });
            KernelPair {
                kernel: kernel.to_path_buf(),
                against: against.to_path_buf(),
                tie: judged.plan.protocol.tie,
                blocks: judged.verdict.blocks,
                phases: both.flat_map(|pair| compare_phases(judged, pair)).collect(),
            }
        });
        let mut found: Vec<Self> = compared.filter(|kernels| !kernels.phases.is_empty()).collect();
        for kernels in &mut found {
            for (measure, ..) in MEASURES {
                let all = kernels.phases.iter_mut().flat_map(|phase| &mut phase.changes);
                test_phases(&mut all.filter(|change| change.measure == measure).collect::<Vec<_>>());
            }
        }
        let all = found.iter_mut().flat_map(|kernels| &mut kernels.phases);
        let mut all: Vec<&mut KernelChange> = all.flat_map(|phase| &mut phase.changes).collect();
        judge(&mut all, judged.plan.protocol.tie);
        found
    }
}

/// The plan's phases of a configuration under both kernels.
fn compare_phases(judged: &Judgement<'_>, [old, new]: [&Candidate; 2]) -> Vec<KernelPhase> {
    let planned = judged.phases.iter().filter(|phase| phase.planned);
    let all = planned.map(|phase| {
        let change = |measure: Measure| {
            let sum = |trial: &Trial| {
                measure.2.iter().map(|metric| trial.value(&phase.name, metric)).sum::<Option<f64>>()
            };
            KernelChange::from_blocks(measure, judged.blocks.paired_values(&new.name, &old.name, sum))
        };
        KernelPhase {
            candidate: old.under.strip_from_name(&old.name),
            under: Environment { kernel: None, ..old.under.clone() },
            phase: phase.name.clone(),
            changes: MEASURES.into_iter().filter_map(change).collect(),
        }
    });
    all.filter(|phase| !phase.changes.is_empty()).collect()
}
