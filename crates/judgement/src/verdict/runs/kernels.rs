//! Compares kernels on the same work: time, requests, bytes, flushes and CPU time of each configuration and phase, as regressions
//! (more) and gains (less), paired within blocks.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::journal::{Trial, Unit};
use crate::plan::{Candidate, Environment, once_each};
use crate::statistics::{Estimate, Evidence, FEWEST, median, sign_test};
use crate::verdict::contrast::{ContrastTest, judge_family};
use crate::verdict::{ContrastOutcome, Judgement};

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

    /// The change that is largest, of those that are differences.
    pub fn largest_change(&self) -> Option<&KernelChange> {
        let changed = self.changes.iter().filter(|change| change.outcome.is_difference());
        changed.max_by(|change, other| change.size().total_cmp(&other.size()))
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
        let named = once_each(candidates.iter().filter_map(|candidate| candidate.under.kernel.as_ref()));
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

/// A number to compare: its title, its unit, and the metrics that it is the sum of.
type Measure = (&'static str, Unit, &'static [&'static str]);

pub const TIME: &str = "time";
pub const MEASURES: [Measure; 5] = [
    (TIME, Unit::Seconds, &["durable"]),
    ("requests", Unit::Count, &["device_reads", "device_writes"]),
    ("bytes", Unit::Bytes, &["device_read", "device_written"]),
    ("flushes", Unit::Count, &["device_flushes"]),
    // In simulated time, where computation has a price.
    ("CPU time", Unit::Seconds, &["charged"]),
];

/// A number under one kernel and under the kernel before it, block by block. The values shown are medians over all
/// blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelChange {
    pub measure: &'static str,
    pub unit: Unit,
    pub before: f64,
    pub after: f64,
    /// The later value divided by the earlier one, within blocks; `None` where one of them is zero.
    pub ratio: Option<Estimate>,
    #[serde(serialize_with = "serialize_outcome")]
    pub outcome: ContrastOutcome,
    /// The values after and before, block by block.
    #[serde(skip)]
    blocks: Vec<(f64, f64)>,
    /// Two-sided p-value of this number alone.
    #[serde(skip)]
    p: f64,
}

/// Writes the outcome with the words of the JSON report for kernels.
fn serialize_outcome<S: Serializer>(outcome: &ContrastOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match outcome {
        ContrastOutcome::Behind => "regression",
        ContrastOutcome::Better => "gain",
        ContrastOutcome::Tied => "unchanged",
        ContrastOutcome::NotBetter | ContrastOutcome::Undecided => "untold",
    })
}

impl KernelChange {
    /// The change between the medians, not judged yet.
    fn from_blocks(measure: Measure, blocks: Vec<(f64, f64)>) -> Option<Self> {
        let (measure, unit, _) = measure;
        let after = median(&blocks.iter().map(|(after, _)| *after).collect::<Vec<_>>())?;
        let before = median(&blocks.iter().map(|(_, before)| *before).collect::<Vec<_>>())?;
        Some(KernelChange {
            measure,
            unit,
            before,
            after,
            ratio: None,
            outcome: ContrastOutcome::Undecided,
            blocks,
            p: 1.0,
        })
    }

    /// Logarithms of the ratios within blocks; `None` where a value is zero.
    fn differences(&self) -> Option<Vec<f64>> {
        let log = |value: f64| (value > 0.0).then(|| libm::log(value));
        self.blocks.iter().map(|(after, before)| Some(log(*after)? - log(*before)?)).collect()
    }

    /// The numbers of blocks in which the value rose and fell.
    fn signs(&self) -> (usize, usize) {
        let count = |is: fn(&(f64, f64)) -> bool| self.blocks.iter().filter(|pair| is(pair)).count();
        (count(|(after, before)| after > before), count(|(after, before)| after < before))
    }

    /// The change as a test beside others. Where a value is zero there is no ratio, and the direction is that of most
    /// blocks.
    fn to_test(&self) -> ContrastTest {
        let n = self.blocks.len();
        let ratio = self.ratio.unwrap_or_else(|| match self.signs() {
            (0, 0) if n >= FEWEST as usize => Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), n },
            (0, 0) => Estimate::without_interval(1.0, n),
            (up, down) if up > down => Estimate::without_interval(f64::INFINITY, n),
            _ => Estimate::without_interval(0.0, n),
        });
        ContrastTest { ratio, p: self.p }
    }

    /// The size of the change in either direction, as a logarithm.
    pub fn size(&self) -> f64 {
        libm::fabs(libm::log(self.times()))
    }

    /// The later value divided by the earlier one.
    pub fn times(&self) -> f64 {
        self.ratio.map_or(self.after / self.before, |ratio| ratio.point)
    }
}

/// Tests one number over the phases that were measured in the same blocks; each variance takes the others into account.
fn test_phases(changes: &mut [&mut KernelChange]) {
    let samples: Vec<Option<Vec<f64>>> = changes.iter().map(|change| change.differences()).collect();
    let known: Vec<Vec<f64>> = samples.iter().flatten().cloned().collect();
    let mut evidences = Evidence::of_quantities(&known).into_iter();
    for (change, sample) in changes.iter_mut().zip(samples) {
        let evidence = sample.as_ref().and_then(|sample| Some((evidences.next()?, sample)));
        change.ratio = evidence.map(|(evidence, _)| evidence.ratio());
        let (up, down) = change.signs();
        change.p = match evidence {
            _ if change.blocks.len() < FEWEST as usize => 1.0,
            None => sign_test(up, down),
            // Where blocks were set aside as outliers, the signs of all blocks must be significant, too.
            Some((evidence, sample)) if evidence.count < sample.len() => {
                evidence.p_different().max(sign_test(up, down))
            }
            Some((evidence, _)) => evidence.p_different(),
        };
    }
}

fn judge(changes: &mut [&mut KernelChange], tie: f64) {
    let tests: Vec<ContrastTest> = changes.iter().map(|change| change.to_test()).collect();
    for (change, judged) in changes.iter_mut().zip(judge_family(&tests, tie)) {
        change.outcome = judged.outcome;
    }
}

/// Judges one change by itself, from a measure's values after and before in each block.
pub fn judged_alone(measure: Measure, blocks: Vec<(f64, f64)>, tie: f64) -> Option<KernelChange> {
    let mut change = KernelChange::from_blocks(measure, blocks)?;
    test_phases(&mut [&mut change]);
    judge(&mut [&mut change], tie);
    Some(change)
}
