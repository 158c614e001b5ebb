//! Compares runs of one plan at growing data sizes: from which size on the ranking is stable, and the fixed and
//! per-byte cost of each candidate.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::journal::Trial;
use crate::plan::{least_space, once_each};
use crate::verdict::{Estimate, Slice, SliceVerdict, Verdict};

/// The results at one data size.
#[derive(Debug, Serialize)]
pub struct AtSize {
    /// The data size as a multiple of the first run's.
    pub times: f64,
    /// Bytes of all datasets together; 0 where the plan alone does not tell their size.
    pub bytes: u64,
    #[serde(flatten)]
    pub result: SliceVerdict,
    /// Mean seconds in the phases of the goal together, by candidate; empty where the goal is not a time.
    #[serde(skip)]
    seconds: BTreeMap<String, f64>,
    /// Mean seconds to mount and unmount, by candidate.
    #[serde(skip)]
    mounting: BTreeMap<String, f64>,
}

/// A candidate with a ratio that moved from one size to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedRatio {
    pub candidate: String,
    pub before: f64,
    pub after: f64,
}

/// The changes from one size to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeStep {
    /// Whether both sizes recommend the same candidate, or one that is tied with it.
    pub same_leader: bool,
    /// Ratios that changed by more than δ, to an interval that does not overlap the former one.
    pub moved: Vec<MovedRatio>,
    /// The largest change above δ that was ignored because the intervals overlap, as a share.
    pub hidden: f64,
    /// Candidates that have a ratio at only one of the two sizes.
    pub unknown: Vec<String>,
}

impl SizeStep {
    /// Whether the recommendation and the ratios are the same, as far as both runs can tell.
    pub fn is_settled(&self) -> bool {
        self.same_leader && self.moved.is_empty() && self.unknown.is_empty()
    }
}

/// The fixed cost and the cost per GiB of a candidate: a straight line through the two largest sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostBySize {
    pub candidate: String,
    /// Seconds that the phases of the goal take with no data, extrapolated.
    pub fixed: f64,
    /// Seconds per GiB of data.
    pub per_gib: f64,
    /// Seconds to mount and unmount at the largest size.
    pub mounting: f64,
}

/// All sizes side by side, the smallest first.
#[derive(Debug, Serialize)]
pub struct SizeTable {
    pub title: String,
    pub tie: f64,
    pub candidates: Vec<String>,
    pub sizes: Vec<AtSize>,
    /// Each size compared with the one before it.
    pub steps: Vec<SizeStep>,
    pub costs: Vec<CostBySize>,
}

impl SizeTable {
    /// Compares these runs, the smallest first, each with its size as a multiple of the first; `None` where there are
    /// none.
    pub fn from_runs(runs: &[Slice<f64>]) -> Option<Self> {
        let first = &runs.first()?.plan;
        let sizes: Vec<AtSize> = runs.iter().map(at_size).collect();
        let tie = first.protocol.tie;
        let candidates = once_each(
            runs.iter().flat_map(|slice| &slice.plan.candidates).map(|candidate| candidate.name.clone()),
        );
        let steps = sizes.windows(2).map(|pair| compare_sizes(&pair[0], &pair[1], tie)).collect();
        let costs = costs_by_size(&sizes, &candidates);
        Some(SizeTable { title: first.title.clone(), tie, candidates, sizes, steps, costs })
    }

    /// The smallest size from which on all steps agree; `None` where the last step does not.
    pub fn settled_from(&self) -> Option<&AtSize> {
        let agreeing = self.steps.iter().rev().take_while(|step| step.is_settled()).count();
        (agreeing > 0).then(|| self.sizes.get(self.steps.len() - agreeing)).flatten()
    }
}

fn at_size(one: &Slice<f64>) -> AtSize {
    let judged = one.judge();
    let of_time = judged.plan.goal.metric == "durable" || judged.plan.goal.metric == "returned";
    let phases = judged.objective.phases();
    let whole = |trial: &Trial| {
        if judged.objective.is_total() {
            return judged.objective.log_score(trial).map(libm::exp).filter(|_| of_time);
        }
        let each: Option<Vec<f64>> =
            phases.iter().map(|phase| trial.value(phase, &judged.objective.metric)).collect();
        each.map(|each| each.iter().sum::<f64>()).filter(|_| of_time && !phases.is_empty())
    };
    let mounts = |trial: &Trial| Some(trial.value("mount", "durable")? + trial.value("umount", "durable")?);
    let mean_of = |value: &dyn Fn(&Trial) -> Option<f64>| {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for trial in &judged.trials {
            if let Some(value) = value(trial) {
                let sum = sums.entry(trial.id.candidate.clone()).or_default();
                *sum = (sum.0 + value, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(name, (sum, count))| (name, sum / count)).collect::<BTreeMap<_, _>>()
    };
    AtSize {
        times: one.key,
        bytes: one.plan.datasets.values().map(least_space).fold(0, u64::saturating_add),
        result: SliceVerdict::from_judgement(&judged),
        seconds: mean_of(&whole),
        mounting: mean_of(&mounts),
    }
}

fn compare_sizes(one: &AtSize, other: &AtSize, tie: f64) -> SizeStep {
    let (one, other) = (&one.result, &other.result);
    let names = once_each(one.behind.iter().chain(&other.behind).map(|(name, _)| name.clone()));
    let (mut moved, mut unknown, mut hidden) = (Vec::new(), Vec::new(), 0_f64);
    for name in names {
        let (Some(before), Some(after)) = (one.find_ratio(&name), other.find_ratio(&name)) else {
            unknown.push(name);
            continue;
        };
        let change = libm::log(after.point / before.point).abs();
        if change <= libm::log1p(tie) {
            continue;
        }
        // The best candidate of a size has a ratio of 1 without an interval, and so has a sample of too few trials.
        let ends = |found: &Estimate| (found.low.unwrap_or(found.point), found.high.unwrap_or(found.point));
        let ((low, high), (below, above)) = (ends(before), ends(after));
        if low <= above && below <= high {
            hidden = hidden.max(libm::expm1(change));
        } else {
            moved.push(MovedRatio { candidate: name, before: before.point, after: after.point });
        }
    }
    SizeStep { same_leader: same_leader(&one.verdict, &other.verdict), moved, hidden, unknown }
}

/// Whether both sizes recommend a candidate, and the two are the same or tied; where there are several protection levels,
/// in each that has several candidates.
fn same_leader(one: &Verdict, other: &Verdict) -> bool {
    if !one.groups.is_empty() {
        let mut pairs = one.groups.iter().filter(|group| group.sole_candidate().is_none());
        return pairs.all(|group| {
            let same = other.groups.iter().find(|known| known.protection == group.protection);
            same.is_some_and(|same| same_leader(&group.verdict, &same.verdict))
        });
    }
    let (Some(before), Some(after)) = (&one.recommended, &other.recommended) else { return false };
    before == after || one.tied.contains(after) || other.tied.contains(before)
}

fn costs_by_size(sizes: &[AtSize], candidates: &[String]) -> Vec<CostBySize> {
    let [.., one, other] = sizes else { return Vec::new() };
    if other.bytes <= one.bytes {
        return Vec::new();
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1_u32 << 30);
    let of = |name: &String| {
        let (small, large) = (one.seconds.get(name)?, other.seconds.get(name)?);
        let per_gib = (large - small) / (gib(other.bytes) - gib(one.bytes));
        let mounting = other.mounting.get(name).copied().unwrap_or(0.0);
        Some(CostBySize {
            candidate: name.clone(),
            fixed: small - per_gib * gib(one.bytes),
            per_gib,
            mounting,
        })
    };
    candidates.iter().filter_map(of).collect()
}
