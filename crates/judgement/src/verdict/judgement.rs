//! Everything that a report of one run shows, computed once from its plan and journal: estimates, the verdict and
//! supplementary tables. This module words nothing and lays nothing out.

use super::candidates::list_candidates;
use super::protection::protection_costs;
use super::{
    ByBlock, CandidateEntry, Combined, Contrast, CostColumn, FreeComputation, GroupVerdict, Harness,
    LevelTrade, LossChoice, Objective, OptionEffect, PhaseEstimate, Rank, RawShare, RequirementRelation,
    SiteRatios, ThenAndNow, Verdict, VerdictEvidence, combine_as_study, control_pairs, cost_columns,
    estimate_all, judge, option_effects, price_of_safety, raw_shares, slice_by_protection, then_and_now,
};
use crate::journal::{CandidateStatus, Run, Status, Trial, TrialStanding};
use crate::plan::{Phase, Plan, is_twin, ranked_candidates};
use crate::statistics::{Estimate, Evidence};

#[derive(Debug, Clone)]
pub struct Judgement<'a> {
    pub plan: &'a Plan,
    pub run: &'a Run,
    pub basis: TrialBasis,
    /// The candidates: measured ones by rank, then those without a score; failed and skipped ones come last.
    pub candidates: Vec<CandidateEntry<'a>>,
    /// The phases that were measured: the plan's in its order, then the steps around them.
    pub phases: Vec<PhaseEntry>,
    /// The trials that the numbers come from; `blocks` groups the same trials by block.
    pub trials: Vec<&'a Trial>,
    pub blocks: ByBlock<'a>,
    pub objective: Objective,
    /// Every metric of the measured candidates, side by side.
    pub estimates: Vec<PhaseEstimate>,
    pub verdict: Verdict,
    /// The comparisons that may not be drawn because computation took no time.
    pub free: FreeComputation,
    pub twins: Vec<Contrast>,
    /// The results of each site, where several sites shared the blocks of the run.
    pub sites: Option<SiteRatios>,
    /// The costs of all phases of the goal together.
    pub costs: Vec<CostColumn>,
    /// The effects of single options in the phases of the first table.
    pub effects: Vec<OptionEffect>,
    /// The findings of the plan's study, each compared with this run.
    pub findings: Vec<ThenAndNow>,
    /// The runs combined in the way the study did; `None` where the plan names no such way.
    pub combined: Option<Combined>,
    /// Rates as shares of the bare device's.
    pub raw_shares: Vec<RawShare>,
    pub harness: Option<Harness>,
}

/// Which trials the numbers of a run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialBasis {
    /// The trials of complete and valid blocks.
    Blocks(usize),
    /// The trials of the open block, which may still be discarded; no block is complete yet.
    OpenBlock(u32),
    /// The trials of this many discarded blocks, in a run that ended because of disturbances; no block counts.
    Disturbed(usize),
    /// No trial has succeeded yet.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseEntry {
    pub name: String,
    /// Whether the plan names it; otherwise it is a step of every trial, such as mkfs.
    pub planned: bool,
}

impl<'a> Judgement<'a> {
    pub fn from_run(plan: &'a Plan, run: &'a Run) -> Self {
        let basis = find_basis(run);
        let disturbed = matches!(basis, TrialBasis::Disturbed(_));
        let ok = |name: &str| {
            let fits =
                |status| status == CandidateStatus::Ok || disturbed && status == CandidateStatus::Untried;
            run.candidates.iter().any(|state| state.name == name && fits(state.status))
        };
        let trials: Vec<&Trial> =
            run.trials.iter().filter(|trial| is_used(trial, basis) && ok(&trial.id.candidate)).collect();
        let has_trials = |name: &&str| trials.iter().any(|trial| trial.id.candidate == **name);
        let measured: Vec<&str> =
            run.candidates.iter().map(|state| state.name.as_str()).filter(has_trials).collect();
        let contesting = |name: &&str| ranked_candidates(plan).any(|candidate| candidate.name == **name);
        let rivals: Vec<&str> = measured.iter().copied().filter(contesting).collect();
        let blocks = ByBlock::of_run(run, trials.iter().copied());
        let objective = Objective::from_run(plan, run);
        let free = FreeComputation::from_run(plan, run);
        let evidence = VerdictEvidence { plan, run, objective: &objective, trials: &blocks, free: &free };
        let mut verdict = judge(&evidence, &rivals);
        let ratio = |one: &str, other: &str| {
            let is_told = !free.hides_difference(one, other);
            is_told.then(|| blocks.ratio(one, other, |trial| objective.log_score(trial)))?
        };
        let groups = slice_by_protection(plan, run);
        if !groups.is_empty() {
            let costs = protection_costs(&evidence);
            let groups: Vec<GroupVerdict> = groups.iter().map(GroupVerdict::from_slice).collect();
            let trades = LevelTrade::from_levels(&groups, plan.protocol.tie, ratio);
            verdict.split_by_group(groups, costs, trades);
        }
        let points = price_of_safety(plan, run, &objective);
        let by_losses = LossChoice::from_verdict(plan, run, &verdict, &points, ratio);
        verdict.choose_by_losses(by_losses);
        if plan.environments().len() > 1 {
            verdict = verdict.refuse(
                "what is tried on one device, kernel or memory is not ranked against what is on another",
            );
        }
        if rivals.iter().any(|name| free.hides_metric(name, &plan.goal.metric)) {
            verdict = verdict.refuse("the goal is CPU time, and computation took no time here");
        }
        let leader = verdict.ranking.first().map(|rank| rank.candidate.as_str());
        let mut estimates = estimate_all(run, &trials, leader);
        estimates.retain(|found| !free.hides_metric(&found.candidate, &found.metric));
        let candidates = list_candidates(plan, run, &verdict, &measured, ratio);
        let phases = phases(plan, &estimates);
        let ok = candidates.iter().filter(|entry| entry.status == CandidateStatus::Ok);
        let ok: Vec<&str> = ok.map(|entry| entry.name).collect();
        let headline = phases.iter().filter(|phase| is_headline(plan, phase));
        let headline: Vec<&str> = headline.map(|phase| phase.name.as_str()).collect();
        Self {
            plan,
            run,
            basis,
            twins: control_pairs(&objective, run),
            sites: SiteRatios::from_run(&evidence, &told_ranking(&verdict, &free)),
            costs: cost_columns(&evidence, &ok),
            effects: option_effects(&evidence, &headline),
            findings: if estimates.is_empty() {
                Vec::new()
            } else {
                then_and_now(plan, &run.header.beginning, &estimates, &blocks, &free)
            },
            combined: combine_runs(plan, run, basis, &candidates),
            raw_shares: raw_shares(plan, &estimates),
            harness: Harness::from_run(run),
            candidates,
            phases,
            trials,
            blocks,
            objective,
            estimates,
            verdict,
            free,
        }
    }

    /// The recommended candidate, or the only one that has a result, if it is not shown to miss anything and no other was yet
    /// to be tried.
    pub fn candidate_to_take(&self) -> Option<&str> {
        let verdict = &self.verdict;
        let is_met =
            || verdict.required.iter().all(|standing| standing.relation == RequirementRelation::Kept);
        let only = match verdict.ranking.as_slice() {
            [only] if verdict.refused.is_none() && is_met() && self.is_tried() => Some(&only.candidate),
            _ => None,
        };
        verdict.recommended.as_ref().or(only).map(String::as_str)
    }

    /// Whether each candidate has a result or a reason for having none.
    pub fn is_tried(&self) -> bool {
        self.with_status(CandidateStatus::Untried).next().is_none()
    }

    /// The candidates of which it is not told whether they are behind the first of the ranking, since computation took no
    /// time.
    pub fn untold_rivals(&self) -> Vec<&str> {
        let Some((first, rest)) = self.verdict.ranking.split_first() else { return Vec::new() };
        let names = rest.iter().map(|rank| rank.candidate.as_str());
        names.filter(|name| self.free.hides_order(name, &first.candidate)).collect()
    }

    /// The goal of a candidate over its own trials, with the interval of that mean: how far its number may be from that of
    /// other devices and trials of the kind, whatever its rivals do.
    pub fn total_over_trials(&self, candidate: &str) -> Option<Estimate> {
        let logs: Vec<f64> =
            self.blocks.trials_of(candidate).filter_map(|trial| self.objective.log_score(trial)).collect();
        Some(Evidence::from_sample(&logs)?.ratio_after_stopping_rule())
    }

    pub fn find_entry(&self, candidate: &str) -> Option<&CandidateEntry<'a>> {
        self.candidates.iter().find(|entry| entry.name == candidate)
    }

    /// The phases that the goal counts, in the order in which they are measured.
    pub fn goal_phases(&self) -> Vec<&str> {
        let names = self.phases.iter().map(|phase| phase.name.as_str());
        names.filter(|name| self.objective.weights.contains_key(*name)).collect()
    }

    /// The phases of the goal with their weights, in the order of the work; phases that were never measured come last.
    pub fn weighed_phases(&self) -> Vec<(&str, f64)> {
        let place = |name: &str| self.phases.iter().position(|phase| phase.name == name);
        let weights = self.objective.weights.iter().map(|(phase, weight)| (phase.as_str(), *weight));
        let mut weighed: Vec<(&str, f64)> = weights.collect();
        weighed.sort_by_key(|(phase, _)| place(phase).unwrap_or(usize::MAX));
        weighed
    }

    pub fn headline(&self) -> impl Iterator<Item = &PhaseEntry> {
        self.phases.iter().filter(|phase| self.is_headline(phase))
    }

    /// Whether a phase belongs in the first table: the plan names it, or its goal weighs it (such as fsck).
    pub fn is_headline(&self, phase: &PhaseEntry) -> bool {
        is_headline(self.plan, phase)
    }

    /// The smallest and the largest number of trials of the measured candidates.
    pub fn sample_sizes(&self) -> Option<(usize, usize)> {
        let headline = || self.estimates.iter().filter(|found| found.metric == self.plan.goal.metric);
        let sizes = headline().map(|found| found.estimate.n);
        Some((sizes.clone().min()?, sizes.max()?))
    }

    pub fn with_status(&self, status: CandidateStatus) -> impl Iterator<Item = &CandidateEntry<'a>> {
        self.candidates.iter().filter(move |entry| entry.status == status)
    }

    /// The candidate and its twin, where a run only compares a candidate with itself.
    pub fn against_itself(&self) -> Option<&Contrast> {
        let is_alone = ranked_candidates(self.plan).any(|candidate| is_twin(&candidate.name));
        match self.twins.as_slice() {
            [pair] if is_alone => Some(pair),
            _ => None,
        }
    }
}

/// The first ranking with rivals, without those whose place beside the first is not told.
fn told_ranking(verdict: &Verdict, free: &FreeComputation) -> Vec<Rank> {
    let ranking = verdict.first_ranking().iter();
    let first = ranking.clone().next();
    let is_told = |rank: &&Rank| first.is_none_or(|one| !free.hides_order(&rank.candidate, &one.candidate));
    ranking.filter(is_told).cloned().collect()
}

fn is_headline(plan: &Plan, phase: &PhaseEntry) -> bool {
    phase.planned || plan.goal.weights.get(&phase.name).is_some_and(|weight| *weight > 0.0)
}

fn find_basis(run: &Run) -> TrialBasis {
    let any = |standing: TrialStanding| {
        run.trials.iter().any(|trial| trial.status == Status::Ok && trial.standing == standing)
    };
    match run.resume_point() {
        _ if any(TrialStanding::Counted) => TrialBasis::Blocks(run.complete_blocks()),
        Some(open) if any(TrialStanding::Open) => TrialBasis::OpenBlock(open.block),
        _ if run.was_too_disturbed() && any(TrialStanding::Discarded) => {
            TrialBasis::Disturbed(run.invalid_blocks().count())
        }
        _ => TrialBasis::Nothing,
    }
}

fn is_used(trial: &Trial, basis: TrialBasis) -> bool {
    match basis {
        TrialBasis::Blocks(_) => trial.is_counted(),
        TrialBasis::OpenBlock(_) => trial.status == Status::Ok && trial.standing == TrialStanding::Open,
        TrialBasis::Disturbed(_) => trial.status == Status::Ok,
        TrialBasis::Nothing => false,
    }
}

fn phases(plan: &Plan, estimates: &[PhaseEstimate]) -> Vec<PhaseEntry> {
    let planned =
        plan.phases.iter().map(|Phase { name, .. }| PhaseEntry { name: name.clone(), planned: true });
    let mut phases: Vec<PhaseEntry> = planned.collect();
    for found in estimates {
        if !phases.iter().any(|phase| phase.name == found.phase) {
            phases.push(PhaseEntry { name: found.phase.clone(), planned: false });
        }
    }
    phases
}

/// Combines the ranked candidates' runs over the plan's phases in the way the study did.
fn combine_runs(
    plan: &Plan,
    run: &Run,
    basis: TrialBasis,
    candidates: &[CandidateEntry<'_>],
) -> Option<Combined> {
    let way = plan.protocol.legacy?;
    let counted = matches!(basis, TrialBasis::Blocks(_));
    let used: Vec<&Trial> = run.counted_trials().filter(|_| counted).collect();
    let scored = candidates.iter().filter(|entry| entry.behind.is_some());
    let names: Vec<&str> = scored.map(|entry| entry.name).collect();
    let planned: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    Some(combine_as_study(way, &names, &planned, &used))
}
