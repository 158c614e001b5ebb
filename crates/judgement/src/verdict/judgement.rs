//! Everything that a run shows, computed once from plan and journal: what the numbers are made from, the verdict on them, and
//! what lies beside it. Nothing of it is worded or laid out yet.

use super::candidates::candidates;
use super::{
    ByBlock, CandidateEntry, Combined, ControlPair, CostColumn, Harness, Objective, OptionEffect,
    PhaseEstimate, RawShare, SiteRatios, ThenAndNow, Verdict, combine, control_pairs, cost_columns,
    estimate_all, judge, option_effects, raw_shares, then_and_now,
};
use crate::journal::{CandidateStatus, Run, Status, Trial, TrialStanding};
use crate::plan::{Phase, Plan, contestants, is_twin};

#[derive(Debug, Clone)]
pub struct Judgement<'a> {
    pub plan: &'a Plan,
    pub run: &'a Run,
    pub basis: TrialBasis,
    /// The candidates: measured ones by rank, then those without a score, failed and skipped ones last.
    pub candidates: Vec<CandidateEntry<'a>>,
    /// The phases that were measured: the plan's in its order, then the steps around them.
    pub phases: Vec<PhaseEntry>,
    /// The trials that the numbers are made from, and the same by block.
    pub trials: Vec<&'a Trial>,
    pub blocks: ByBlock<'a>,
    pub objective: Objective,
    /// Every metric of measured candidates, side by side.
    pub estimates: Vec<PhaseEstimate>,
    pub verdict: Verdict,
    pub twins: Vec<ControlPair>,
    /// What each site found, where several did the blocks between them.
    pub sites: Option<SiteRatios>,
    /// What the phases of the goal cost together.
    pub costs: Vec<CostColumn>,
    /// What single options do, in the phases of the first table.
    pub effects: Vec<OptionEffect>,
    /// What the plan's study found, then and now.
    pub findings: Vec<ThenAndNow>,
    /// Runs combined as the study did; `None` where the plan does not say how.
    pub combined: Option<Combined>,
    /// Rates as shares of the bare device's.
    pub raw_shares: Vec<RawShare>,
    pub harness: Option<Harness>,
}

/// Which trials the numbers of a run are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialBasis {
    /// Those of complete and valid blocks.
    Blocks(usize),
    /// No block is complete yet: the trials of the open one, which may still be thrown out.
    OpenBlock(u32),
    /// No block counts: the trials of so many that were thrown out, in a run that ended for that.
    Disturbed(usize),
    /// No trial has gone well yet.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseEntry {
    pub name: String,
    /// Whether the plan names it; otherwise it is a step of every trial, such as mkfs.
    pub planned: bool,
}

impl<'a> Judgement<'a> {
    pub fn of(plan: &'a Plan, run: &'a Run) -> Self {
        let basis = basis(run);
        let disturbed = matches!(basis, TrialBasis::Disturbed(_));
        let ok = |name: &str| {
            let fits =
                |status| status == CandidateStatus::Ok || disturbed && status == CandidateStatus::Untried;
            run.candidates.iter().any(|state| state.name == name && fits(state.status))
        };
        let trials: Vec<&Trial> =
            run.trials.iter().filter(|trial| used(trial, basis) && ok(&trial.id.candidate)).collect();
        let has_trials = |name: &&str| trials.iter().any(|trial| trial.id.candidate == **name);
        let measured: Vec<&str> =
            run.candidates.iter().map(|state| state.name.as_str()).filter(has_trials).collect();
        let contesting = |name: &&str| contestants(plan).any(|candidate| candidate.name == **name);
        let rivals: Vec<&str> = measured.iter().copied().filter(contesting).collect();
        let blocks = ByBlock::of_run(run, trials.iter().copied());
        let objective = Objective::of(plan, run);
        let mut verdict = judge(plan, run, &objective, &blocks, &rivals);
        if plan.environments().len() > 1 {
            verdict.refuse(
                "what is tried on one device, kernel or memory is not ranked against what is on another",
            );
        }
        let leader = verdict.ranking.first().map(|rank| rank.candidate.as_str());
        let estimates = estimate_all(run, &trials, leader);
        let candidates = candidates(plan, run, &verdict, &measured);
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
            sites: SiteRatios::of(run, &objective, &blocks, &verdict.ranking),
            costs: cost_columns(&objective.phases(), &blocks, &ok),
            effects: option_effects(plan, &blocks, &headline),
            findings: if estimates.is_empty() { Vec::new() } else { then_and_now(plan, &estimates, &blocks) },
            combined: combined(plan, run, basis, &candidates),
            raw_shares: raw_shares(plan, &estimates),
            harness: Harness::of(run),
            candidates,
            phases,
            trials,
            blocks,
            objective,
            estimates,
            verdict,
        }
    }

    pub fn headline(&self) -> impl Iterator<Item = &PhaseEntry> {
        self.phases.iter().filter(|phase| self.is_headline(phase))
    }

    /// Whether a phase belongs in the first table: the plan names it, or its goal does (fsck, say).
    pub fn is_headline(&self, phase: &PhaseEntry) -> bool {
        is_headline(self.plan, phase)
    }

    /// How many trials each measured candidate has at least and at most.
    pub fn sample_sizes(&self) -> Option<(usize, usize)> {
        let headline = || self.estimates.iter().filter(|found| found.metric == self.plan.goal.metric);
        let sizes = headline().map(|found| found.estimate.n);
        Some((sizes.clone().min()?, sizes.max()?))
    }

    pub fn with_status(&self, status: CandidateStatus) -> impl Iterator<Item = &CandidateEntry<'a>> {
        self.candidates.iter().filter(move |entry| entry.status == status)
    }

    /// The candidate and its twin, where a run compares one with nothing but itself.
    pub fn against_itself(&self) -> Option<&ControlPair> {
        let is_alone = contestants(self.plan).any(|candidate| is_twin(&candidate.name));
        match self.twins.as_slice() {
            [pair] if is_alone => Some(pair),
            _ => None,
        }
    }
}

fn is_headline(plan: &Plan, phase: &PhaseEntry) -> bool {
    phase.planned || plan.goal.weights.get(&phase.name).is_some_and(|weight| *weight > 0.0)
}

fn basis(run: &Run) -> TrialBasis {
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

fn used(trial: &Trial, basis: TrialBasis) -> bool {
    match basis {
        TrialBasis::Blocks(_) => trial.counts(),
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

/// Runs combined as the study did, of ranked candidates and the plan's phases.
fn combined(
    plan: &Plan,
    run: &Run,
    basis: TrialBasis,
    candidates: &[CandidateEntry<'_>],
) -> Option<Combined> {
    let way = plan.protocol.legacy?;
    let counted = matches!(basis, TrialBasis::Blocks(_));
    let used: Vec<&Trial> = run.trials.iter().filter(|trial| counted && trial.counts()).collect();
    let scored = candidates.iter().filter(|entry| entry.behind.is_some());
    let names: Vec<&str> = scored.map(|entry| entry.name).collect();
    let planned: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    Some(combine(way, &names, &planned, &used))
}
