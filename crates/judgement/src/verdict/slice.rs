//! Parts of a run that have a verdict of their own: one environment, protection level or site; also a whole run among
//! others, by its size, its device or its name.

use std::collections::HashMap;

use serde::Serialize;

use super::{Estimate, Judgement, Verdict};
use crate::journal::Run;
use crate::plan::{Candidate, Environment, Plan, ProtectionGroup, is_twin, once_each};

/// A plan and a run as if there were nothing else, and which part of all they are.
#[derive(Debug, Clone)]
pub struct Slice<K = String> {
    pub key: K,
    pub plan: Plan,
    pub run: Run,
}

impl<K> Slice<K> {
    pub fn judge(&self) -> Judgement<'_> {
        Judgement::from_run(&self.plan, &self.run)
    }

    /// Whether it has candidates to choose from; a twin is none.
    pub fn has_choice(&self) -> bool {
        self.plan.candidates.iter().filter(|candidate| !is_twin(&candidate.name)).count() > 1
    }

    /// The same part under another key.
    pub fn map_key<L>(self, change: impl FnOnce(K) -> L) -> Slice<L> {
        Slice { key: change(self.key), plan: self.plan, run: self.run }
    }
}

/// The verdict on a part, and how its candidates compare.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SliceVerdict {
    pub blocks: usize,
    #[serde(skip)]
    pub verdict: Verdict,
    /// How many times worse than the best of the part each candidate is; without candidates that were not measured.
    #[serde(skip)]
    pub behind: Vec<(String, Estimate)>,
}

impl SliceVerdict {
    pub(crate) fn from_judgement(judged: &Judgement<'_>) -> Self {
        let behind = judged.candidates.iter();
        SliceVerdict {
            blocks: judged.run.complete_blocks(),
            verdict: judged.verdict.clone(),
            behind: behind.filter_map(|entry| Some((entry.name.to_owned(), entry.behind?))).collect(),
        }
    }

    pub fn find_ratio(&self, candidate: &str) -> Option<&Estimate> {
        self.behind.iter().find(|(name, _)| name == candidate).map(|(_, behind)| behind)
    }
}

/// The run as if there were only the candidates for which `keeps` holds, ranked among themselves.
pub fn slice_by_candidates(plan: &Plan, run: &Run, keeps: impl Fn(&Candidate) -> bool) -> Slice<()> {
    let (plan, run) = restrict_to(plan, run, keeps);
    Slice { key: (), plan, run }
}

/// The environments of a run (device models, kernels, memory sizes) in the plan's order; empty where there is only one.
/// A filesystem on one device is no alternative to another filesystem on another device.
pub fn slice_by_environment(plan: &Plan, run: &Run) -> Vec<Slice<Environment>> {
    let environments = plan.environments();
    let slice = |under: &&Environment| {
        let (plan, run) = restrict_to(plan, run, |candidate| candidate.under == **under);
        Slice { key: (*under).clone(), plan, run }
    };
    if environments.len() > 1 { environments.iter().map(slice).collect() } else { Vec::new() }
}

/// The protection levels of a run, the fullest protection first; empty where there is only one. A filesystem with less
/// protection is no alternative to one with more.
pub fn slice_by_protection(plan: &Plan, run: &Run) -> Vec<Slice<ProtectionGroup>> {
    let slice = |group: ProtectionGroup| {
        let is_of = |candidate: &Candidate| plan.goal.protection_of(&candidate.name) == group.protection;
        let (mut plan, run) = restrict_to(plan, run, is_of);
        plan.goal.protection.clear();
        Slice { key: group, plan, run }
    };
    plan.protection_groups().into_iter().map(slice).collect()
}

/// The sites of a run by their names; empty where no block records a site.
pub fn slice_by_site(plan: &Plan, run: &Run) -> Vec<Slice> {
    let sites = once_each(run.counted_blocks().filter_map(|block| Some(block.place.as_ref()?.site.as_str())));
    let slice =
        |site: &&str| Slice { key: (*site).to_owned(), plan: plan.clone(), run: restrict_to_site(run, site) };
    sites.iter().map(slice).collect()
}

/// The plan and the run as if there were only the candidates for which `keeps` holds.
fn restrict_to(plan: &Plan, run: &Run, keeps: impl Fn(&Candidate) -> bool) -> (Plan, Run) {
    let mut plan = plan.clone();
    plan.candidates.retain(keeps);
    let own = |name: &str| plan.candidates.iter().any(|candidate| candidate.name == name);
    let all = run.complete_blocks() as u32;
    let mut run = run.clone();
    run.candidates.retain(|state| own(&state.name));
    // Later blocks leave out candidates that are already decided.
    run.blocks.retain(|block| block.order.iter().any(|name| own(name)));
    let left_out = all - run.complete_blocks() as u32;
    run.extended_to = run.extended_to.map(|last| last - left_out);
    run.trials.retain(|trial| own(&trial.id.candidate));
    run.power_cuts.retain(|cuts| own(&cuts.candidate));
    run.rotten.retain(|rotten| own(&rotten.candidate));
    number_blocks(&mut run);
    run.commands.retain(|kept| own(&kept.trial.candidate));
    run.latencies.retain(|known| own(&known.candidate));
    (plan, run)
}

/// Numbers the blocks from 1 without gaps: a run that was extended tries candidates again that had rested in between.
fn number_blocks(run: &mut Run) {
    let mut numbers: Vec<u32> = run.blocks.iter().map(|block| block.block).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |number: u32| numbers.binary_search(&number).map_or(number, |at| at as u32 + 1);
    run.blocks.iter_mut().for_each(|block| block.block = place(block.block));
    run.trials.iter_mut().for_each(|trial| trial.id.block = place(trial.id.block));
}

/// The run as if there were only the blocks of one site that count, with the facts of that site's machine.
fn restrict_to_site(run: &Run, site: &str) -> Run {
    let blocks =
        run.counted_blocks().filter(|block| block.place.as_ref().is_some_and(|place| place.site == site));
    let numbers: HashMap<(u32, u32), u32> =
        blocks.zip(1..).map(|(block, number)| ((block.block, block.attempt), number)).collect();
    let mut run = run.clone();
    run.blocks.retain_mut(|block| match numbers.get(&(block.block, block.attempt)) {
        Some(number) => {
            (block.block, block.place) = (*number, None);
            true
        }
        None => false,
    });
    run.trials.retain_mut(|trial| {
        let number = numbers.get(&(trial.id.block, trial.id.attempt));
        trial.id.block = number.copied().unwrap_or_default();
        number.is_some()
    });
    let facts = &mut run.header.environment;
    let prefix = format!("site.{site}.");
    let own =
        facts.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), value.clone())));
    let own: Vec<(String, String)> = own.collect();
    facts.extend(own);
    run
}
