//! Runs of one plan with more and more data: from which size on the answer no longer moves, and what each candidate costs whatever
//! there is to do, and by the byte.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Estimate, Judgement, Verdict};
use crate::journal::{Run, Trial};
use crate::plan::{Plan, least_space, once_each};

/// A run with so many times the data of the first.
#[derive(Debug)]
pub struct SizeRun {
    pub times: f64,
    pub plan: Plan,
    pub run: Run,
}

/// What was found with so much data.
#[derive(Debug, Serialize)]
pub struct AtSize {
    /// How many times the data of the first run.
    pub times: f64,
    /// Bytes of all datasets; 0 where only the disk knows.
    pub bytes: u64,
    pub blocks: usize,
    #[serde(skip)]
    pub verdict: Verdict,
    /// How many times the best of this size, by candidate.
    #[serde(skip)]
    pub behind: Vec<(String, Estimate)>,
    /// Seconds of the phases of the goal, all together, by candidate; nothing where the goal is about none.
    #[serde(skip)]
    seconds: BTreeMap<String, f64>,
    /// Seconds to mount and unmount.
    #[serde(skip)]
    mounting: BTreeMap<String, f64>,
}

/// A candidate whose ratio moved from one size to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedRatio {
    pub candidate: String,
    pub before: f64,
    pub after: f64,
}

/// From one size to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeStep {
    /// Whether whom to take is the same, or was tied.
    pub same_leader: bool,
    /// Ratios that changed by more than δ, and by more than their intervals leave open.
    pub moved: Vec<MovedRatio>,
    /// The largest change that the intervals would have hidden, as a share.
    pub hidden: f64,
    /// Who was measured at one of the two alone, or whom too few trials tell of.
    pub unknown: Vec<String>,
}

impl SizeStep {
    /// Order and ratios are the same, as far as both runs can tell.
    pub fn agrees(&self) -> bool {
        self.same_leader && self.moved.is_empty() && self.unknown.is_empty()
    }
}

/// What a candidate costs whatever there is to do, and by the byte: a line through the two largest sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostBySize {
    pub candidate: String,
    /// Seconds that the goal's phases take without any data.
    pub fixed: f64,
    /// Seconds for each GiB.
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
    /// Each against the one before it.
    pub steps: Vec<SizeStep>,
    pub costs: Vec<CostBySize>,
}

impl SizeTable {
    /// Of these runs, the smallest first; nothing of none.
    pub fn of(runs: &[SizeRun]) -> Option<Self> {
        let first = &runs.first()?.plan;
        let sizes: Vec<AtSize> = runs.iter().map(at_size).collect();
        let tie = first.protocol.tie;
        let candidates = once_each(
            runs.iter().flat_map(|one| &one.plan.candidates).map(|candidate| candidate.name.clone()),
        );
        let steps = sizes.windows(2).map(|pair| step(&pair[0], &pair[1], tie)).collect();
        let costs = costs(&sizes, &candidates);
        Some(SizeTable { title: first.title.clone(), tie, candidates, sizes, steps, costs })
    }

    /// From which size on the answer holds: the first from which on all steps agree; nothing where the last does not.
    pub fn settled_from(&self) -> Option<&AtSize> {
        let agreeing = self.steps.iter().rev().take_while(|step| step.agrees()).count();
        (agreeing > 0).then(|| self.sizes.get(self.steps.len() - agreeing)).flatten()
    }
}

fn at_size(one: &SizeRun) -> AtSize {
    let judged = Judgement::of(&one.plan, &one.run);
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
        times: one.times,
        bytes: one.plan.datasets.values().map(least_space).fold(0, u64::saturating_add),
        blocks: one.run.complete_blocks(),
        behind: judged
            .candidates
            .iter()
            .filter_map(|entry| Some((entry.name.to_owned(), entry.behind?)))
            .collect(),
        seconds: mean_of(&whole),
        mounting: mean_of(&mounts),
        verdict: judged.verdict,
    }
}

fn step(one: &AtSize, other: &AtSize, tie: f64) -> SizeStep {
    let of = |size: &AtSize, name: &str| {
        size.behind.iter().find(|(known, _)| known == name).map(|(_, found)| *found)
    };
    let names = once_each(one.behind.iter().chain(&other.behind).map(|(name, _)| name.clone()));
    let (mut moved, mut unknown, mut hidden) = (Vec::new(), Vec::new(), 0_f64);
    for name in names {
        let (Some(before), Some(after)) = (of(one, &name), of(other, &name)) else {
            unknown.push(name);
            continue;
        };
        let change = libm::log(after.point / before.point).abs();
        if change <= libm::log1p(tie) {
            continue;
        }
        // The best of a size has no interval of its own, nor do too few trials.
        let ends = |found: Estimate| (found.low.unwrap_or(found.point), found.high.unwrap_or(found.point));
        let ((low, high), (below, above)) = (ends(before), ends(after));
        if low <= above && below <= high {
            hidden = hidden.max(libm::expm1(change));
        } else {
            moved.push(MovedRatio { candidate: name, before: before.point, after: after.point });
        }
    }
    SizeStep { same_leader: same_leader(&one.verdict, &other.verdict), moved, hidden, unknown }
}

/// Whom to take is decided in both, and is the same or tied with that one.
fn same_leader(one: &Verdict, other: &Verdict) -> bool {
    let (Some(before), Some(after)) = (&one.recommended, &other.recommended) else { return false };
    before == after || one.tied.contains(after) || other.tied.contains(before)
}

fn costs(sizes: &[AtSize], candidates: &[String]) -> Vec<CostBySize> {
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
